//! The signature of a message: its receiver can tell who sent it, and when.

use domain::secret::Secret;
use sha2::{Digest as _, Sha256};

/// A block of SHA-256.
const BLOCK: usize = 64;

/// `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`
pub fn sign(secret: &Secret, seconds: i64, body: &str) -> String {
    let code = hmac(secret.reveal().as_bytes(), &[seconds.to_string().as_bytes(), b".", body.as_bytes()]);
    let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

/// RFC 2104.
fn hmac(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    message.iter().for_each(|part| inner.update(part));
    let outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &[u8], message: &[u8], expected: &str) {
        let hex: String = hmac(key, &[message]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }

    /// The test vectors of RFC 4231.
    #[test]
    fn codes_are_the_standards() {
        check(&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        check(
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        );
        check(
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        );
    }

    #[test]
    fn the_time_is_part_of_it() {
        let secret = Secret::new("whsec_0123456789");
        assert_ne!(sign(&secret, 1, "{}")[4..], sign(&secret, 2, "{}")[4..]);
        assert!(sign(&secret, 1_800_000_000, "{}").starts_with("t=1800000000,v1="));
    }
}
