//! Links of a hash chain: HMAC-SHA256 over the previous link and the content of the row, with a derived key.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::StoreError;
use crate::database::{Row, Value};

pub(crate) struct ChainKey(Zeroizing<[u8; 32]>);

/// The stored state of a chain, besides its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChainRecord {
    pub chain: String,
    /// Chains are numbered from 1, so that a deleted chain is detected.
    pub number: i64,
    pub started_at: i64,
    /// Total number of links, including those of deleted rows.
    pub length: i64,
    /// The hash of the last link.
    pub head: String,
    /// Sequence of the oldest row that is left.
    pub first_sequence: i64,
    /// The hash of the link before that row.
    pub anchor: String,
    pub seal: String,
}

impl ChainKey {
    pub fn derive(sealing_key: &[u8; 32]) -> Self {
        Self(Zeroizing::new(hmac(sealing_key, |mac| mac.update(b"gatehouse audit chain v1"))))
    }

    /// The hash that precedes the first link of a chain.
    pub fn root(&self, chain: &str) -> String {
        hex(&hmac(&self.0, |mac| {
            mac.update(b"root");
            put(mac, &Value::from(chain));
        }))
    }

    pub fn link(&self, before: &str, chain: &str, sequence: i64, content: &[Value<'_>]) -> String {
        hex(&hmac(&self.0, |mac| {
            mac.update(b"link");
            for value in [before.into(), chain.into(), sequence.into()].iter().chain(content) {
                put(mac, value);
            }
        }))
    }

    /// Authenticates the record of a chain; without it, anyone who can write rows could cut off the end of the chain.
    pub fn seal(&self, record: &ChainRecord) -> String {
        let fields: [Value<'_>; 7] = [
            (&record.chain).into(),
            record.number.into(),
            record.started_at.into(),
            record.length.into(),
            (&record.head).into(),
            record.first_sequence.into(),
            (&record.anchor).into(),
        ];
        hex(&hmac(&self.0, |mac| {
            mac.update(b"seal");
            fields.iter().for_each(|field| put(mac, field));
        }))
    }
}

impl ChainRecord {
    pub const COLUMNS: &str = "chain, number, started_at, length, head, first_sequence, anchor, seal";

    pub fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            chain: row.get(0)?,
            number: row.get(1)?,
            started_at: row.get(2)?,
            length: row.get(3)?,
            head: row.get(4)?,
            first_sequence: row.get(5)?,
            anchor: row.get(6)?,
            seal: row.get(7)?,
        })
    }
}

/// Hashes a field with its type and length, so that different rows never hash the same bytes.
fn put(mac: &mut Hmac<Sha256>, value: &Value<'_>) {
    let (kind, bytes) = match value {
        Value::Integer(Some(number)) => {
            mac.update(&[1]);
            return mac.update(&number.to_le_bytes());
        }
        Value::Integer(None) | Value::Text(None) => return mac.update(&[0]),
        Value::Text(Some(text)) => (2, text.as_bytes()),
        Value::Bytes(bytes) => (3, *bytes),
    };
    mac.update(&[kind]);
    mac.update(&(bytes.len() as u64).to_le_bytes());
    mac.update(bytes);
}

fn hmac(key: &[u8; 32], fill: impl FnOnce(&mut Hmac<Sha256>)) -> [u8; 32] {
    // HMAC fills a key that is shorter than a block of SHA-256 with zeros.
    let mut block = Zeroizing::new([0; 64]);
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    fill(&mut mac);
    mac.finalize().into_bytes().into()
}

fn hex(bytes: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mac_is_the_standard_one() {
        // The key of RFC 4231 test case 1 has 20 bytes; padding it with zeros does not change the result.
        let mut key = [0u8; 32];
        key[..20].fill(0x0b);
        let mac = hmac(&key, |mac| mac.update(b"Hi There"));
        assert_eq!(hex(&mac), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    }

    #[test]
    fn no_two_rows_have_the_same_link() {
        let key = ChainKey::derive(&[1; 32]);
        let link = |content: &[Value<'_>]| key.link("a", "c", 0, content);
        let all = [
            link(&["ab".into(), "c".into()]),
            link(&["a".into(), "bc".into()]),
            link(&["".into(), "abc".into()]),
            link(&[Value::Text(None), "abc".into()]),
            link(&[1.into()]),
            link(&["1".into()]),
            key.link("a", "c", 1, &[1.into()]),
            key.link("b", "c", 0, &[1.into()]),
            key.link("a", "d", 0, &[1.into()]),
            ChainKey::derive(&[2; 32]).link("a", "c", 0, &[1.into()]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[index + 1..].contains(one), "{index}");
        }
    }
}
