//! Signatures of webhook messages: HMAC-SHA256 over the time and the body.

use domain::secret::Secret;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<body>">`
pub fn sign(secret: &Secret, seconds: i64, body: &str) -> String {
    let mut mac = keyed(secret);
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body.as_bytes());
    let code = mac.finalize().into_bytes();
    let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn keyed(secret: &Secret) -> Hmac<Sha256> {
    Hmac::new_from_slice(secret.reveal().as_bytes()).expect("a key of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python: `hmac.new(b"whsec_0123456789", b"1800000000.{}", "sha256").hexdigest()`.
    #[test]
    fn a_signature_is_the_hmac_of_time_and_body() {
        let signed = sign(&Secret::new("whsec_0123456789"), 1_800_000_000, "{}");
        assert_eq!(
            signed,
            "t=1800000000,v1=7f08fb3b4f2277fe57ca0448f7708c30d7a97b36245c35904377fdc191537dfa"
        );
    }

    #[test]
    fn the_time_is_part_of_it() {
        let secret = Secret::new("whsec_0123456789");
        assert_ne!(sign(&secret, 1, "{}")[4..], sign(&secret, 2, "{}")[4..]);
        assert!(sign(&secret, 1_800_000_000, "{}").starts_with("t=1800000000,v1="));
    }
}
