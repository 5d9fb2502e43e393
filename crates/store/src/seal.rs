//! Encryption of secrets at rest: field by field with XChaCha20-Poly1305, bound to the location in which they are
//! stored.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use domain::ids::Entropy;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

/// Identifies the key and the scheme, so that both can be changed.
const VERSION: &str = "v1:";
const NONCE: usize = 24;
pub(crate) const MASK: &str = "\"***\"";

/// The top-level fields of a document, each value as its original text.
pub(crate) type Fields = BTreeMap<String, Box<RawValue>>;

pub(crate) struct Sealer {
    cipher: XChaCha20Poly1305,
    entropy: Arc<dyn Entropy>,
}

impl Sealer {
    pub fn new(key: &[u8; 32], entropy: Arc<dyn Entropy>) -> Self {
        Self { cipher: XChaCha20Poly1305::new(key.into()), entropy }
    }

    /// Encrypts the named fields of the document at `location` in place; returns those that were present.
    pub fn seal(&self, location: &str, fields: &mut Fields, secrets: &[&str]) -> Result<Vec<String>, String> {
        let mut sealed = Vec::new();
        for field in secrets {
            let Some(value) = fields.get_mut(*field) else { continue };
            if value.get() == "null" {
                continue;
            }
            let text = self.seal_text(&format!("{location}/{field}"), value.get())?;
            *value = raw(format!("\"{text}\""))?;
            sealed.push((*field).to_owned());
        }
        Ok(sealed)
    }

    pub fn open(&self, location: &str, fields: &mut Fields, sealed: &[&str]) -> Result<(), String> {
        for field in sealed {
            let value =
                fields.get_mut(*field).ok_or_else(|| format!("the sealed field '{field}' is missing"))?;
            let text: String = serde_json::from_str(value.get()).map_err(|error| error.to_string())?;
            *value = raw(self.open_text(&format!("{location}/{field}"), &text)?)?;
        }
        Ok(())
    }

    fn seal_text(&self, place: &str, plain: &str) -> Result<String, String> {
        let mut nonce = [0u8; NONCE];
        self.entropy.fill(&mut nonce);
        let payload = Payload { msg: plain.as_bytes(), aad: place.as_bytes() };
        let cipher = self.cipher.encrypt(XNonce::from_slice(&nonce), payload);
        let cipher = cipher.map_err(|_| format!("{place} cannot be sealed"))?;
        Ok(format!("{VERSION}{}", STANDARD_NO_PAD.encode([nonce.as_slice(), &cipher].concat())))
    }

    fn open_text(&self, place: &str, sealed: &str) -> Result<String, String> {
        let unreadable =
            || format!("{place} cannot be opened: it was sealed with another key, or was altered");
        let encoded = sealed.strip_prefix(VERSION).ok_or_else(unreadable)?;
        let bytes = STANDARD_NO_PAD.decode(encoded).map_err(|_| unreadable())?;
        let (nonce, cipher) = bytes.split_at_checked(NONCE).ok_or_else(unreadable)?;
        let payload = Payload { msg: cipher, aad: place.as_bytes() };
        let plain = self.cipher.decrypt(XNonce::from_slice(nonce), payload).map_err(|_| unreadable())?;
        String::from_utf8(plain).map_err(|_| unreadable())
    }
}

/// Masks secret fields for change records.
pub(crate) fn mask<'a>(
    fields: &mut Fields,
    secrets: impl IntoIterator<Item = &'a str>,
) -> Result<(), String> {
    for field in secrets {
        match fields.get_mut(field) {
            Some(value) if value.get() != "null" => *value = raw(MASK.to_owned())?,
            _ => {}
        }
    }
    Ok(())
}

/// Loads the sealing key from its file, or creates it on first use: 64 hex digits, readable by the owner only.
///
/// The file appears complete or not at all, so that two processes that start at the same time agree on one key.
pub fn load_or_create_key(path: &Path, entropy: &dyn Entropy) -> io::Result<[u8; 32]> {
    match std::fs::File::open(path) {
        Ok(file) => return read_key(path, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent)?;
    }
    let mut key = Zeroizing::new([0u8; 32]);
    entropy.fill(key.as_mut());
    let mut suffix = [0u8; 8];
    entropy.fill(&mut suffix);
    let draft = path.with_extension(format!("{:016x}.new", u64::from_ne_bytes(suffix)));
    let written = write_private(&draft, &hex(&*key)).and_then(|()| match std::fs::hard_link(&draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    });
    let removed = std::fs::remove_file(&draft);
    written?;
    removed?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::File::open(parent)?.sync_all()?;
    }
    read_key(path, std::fs::File::open(path)?)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

fn read_key(path: &Path, file: std::fs::File) -> io::Result<[u8; 32]> {
    let mut text = Zeroizing::new(String::new());
    file.take(1024).read_to_string(&mut text)?;
    let digits = text.trim().as_bytes();
    let mut key = [0u8; 32];
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let complete = digits.len() == 64
        && key.iter_mut().zip(digits.chunks_exact(2)).all(|(byte, pair)| {
            match (digit(pair[0]), digit(pair[1])) {
                (Some(high), Some(low)) => {
                    *byte = high << 4 | low;
                    true
                }
                _ => false,
            }
        });
    if complete {
        Ok(key)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} does not hold a key of 64 hex digits", path.display()),
        ))
    }
}

fn hex(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 2));
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or('0'));
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or('0'));
    }
    text
}

fn raw(text: String) -> Result<Box<RawValue>, String> {
    RawValue::from_string(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    fn fields(text: &str) -> Fields {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn sealed_fields_open_in_their_own_place_only() {
        let sealer = Sealer::new(&[7; 32], Arc::new(Noise::new(1)));
        let original = r#"{"api_key":"sk-\u00e9 secret","n":1.50,"none":null}"#;
        let mut sealing = fields(original);
        let sealed = sealer.seal("provider/a", &mut sealing, &["api_key", "none", "absent"]).unwrap();
        assert_eq!(sealed, ["api_key"]);
        assert!(sealing["api_key"].get().starts_with("\"v1:"));
        let stored = serde_json::to_string(&sealing).unwrap();
        assert!(!stored.contains("secret"));

        assert!(sealer.open("provider/b", &mut fields(&stored), &["api_key"]).is_err(), "another row");
        let other = Sealer::new(&[8; 32], Arc::new(Noise::new(1)));
        assert!(other.open("provider/a", &mut fields(&stored), &["api_key"]).is_err(), "another key");
        let mut opening = fields(&stored);
        sealer.open("provider/a", &mut opening, &["api_key"]).unwrap();
        assert_eq!(serde_json::to_string(&opening).unwrap(), original);
    }

    #[test]
    fn the_same_secret_is_sealed_differently_each_time() {
        let sealer = Sealer::new(&[7; 32], Arc::new(Noise::new(1)));
        assert_ne!(sealer.seal_text("p", "x").unwrap(), sealer.seal_text("p", "x").unwrap());
    }

    #[test]
    fn a_key_file_is_made_once_and_is_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/sealing.key");
        let first = load_or_create_key(&path, &Noise::new(1)).unwrap();
        let second = load_or_create_key(&path, &Noise::new(2)).unwrap();
        assert_eq!(first, second);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft stays behind");
        std::fs::write(&path, "short").unwrap();
        assert!(load_or_create_key(&path, &Noise::new(3)).is_err());
    }
}
