//! Passwords: argon2id with the parameters that OWASP recommends. Both functions take tens of milliseconds.

use std::sync::OnceLock;

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use domain::ids::Entropy;
use domain::secret::Secret;

/// Memory in KiB, iterations and lanes.
const COST: (u32, u32, u32) = (19_456, 2, 1);
pub const SHORTEST: usize = 12;
pub const LONGEST: usize = 256;

fn argon2() -> Argon2<'static> {
    let (memory, iterations, lanes) = COST;
    let params = Params::new(memory, iterations, lanes, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// The reason why a password is not accepted.
pub fn weakness(password: &str) -> Option<String> {
    let length = password.chars().count();
    match length {
        SHORTEST..=LONGEST => None,
        _ => Some(format!("A password has {SHORTEST} to {LONGEST} characters.")),
    }
}

/// Hashes a password with a new salt.
pub fn hash(password: &str, entropy: &dyn Entropy) -> Result<Secret, String> {
    let mut salt = [0u8; 16];
    entropy.fill(&mut salt);
    hashed(password, &salt)
}

fn hashed(password: &str, salt: &[u8]) -> Result<Secret, String> {
    let salt = SaltString::encode_b64(salt).map_err(|error| error.to_string())?;
    let hash = argon2().hash_password(password.as_bytes(), &salt).map_err(|error| error.to_string())?;
    Ok(Secret::new(hash.to_string()))
}

/// Whether the password has this hash. Without a hash the work is the same, so that the time does not tell whether a user
/// exists.
pub fn verify(password: &str, hash: Option<&Secret>) -> bool {
    static NOBODY: OnceLock<Option<Secret>> = OnceLock::new();
    let nobody = NOBODY.get_or_init(|| hashed("nobody", &[0; 16]).ok());
    let Some(stored) = hash.or(nobody.as_ref()) else { return false };
    let Ok(parsed) = PasswordHash::new(stored.reveal()) else { return false };
    let matches = argon2().verify_password(password.as_bytes(), &parsed).is_ok();
    matches && hash.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_verifies_against_its_own_hash_only() {
        let entropy = testkit::SeededEntropy::new(1);
        let hash = hash("correct horse battery", &entropy).unwrap();
        assert!(hash.reveal().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.reveal());
        assert!(verify("correct horse battery", Some(&hash)));
        assert!(!verify("correct horse batterY", Some(&hash)));
        assert!(!verify("nobody", None) && !verify("", None));
        assert!(!verify("x", Some(&Secret::new("not a hash"))));
        assert_ne!(super::hash("correct horse battery", &entropy).unwrap(), hash, "salted");
    }

    #[test]
    fn short_passwords_are_refused() {
        assert!(weakness("eleven char").is_some() && weakness(&"x".repeat(257)).is_some());
        assert!(weakness("twelve chars").is_none());
    }
}
