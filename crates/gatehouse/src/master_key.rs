//! The master key: the operator's, or one made at the first start and kept in the data directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::Entropy;
use domain::secret::Secret;

pub const FILE: &str = "master.key";

pub struct MasterKey {
    pub key: Secret,
    /// Made just now: the one time it is printed.
    pub fresh: bool,
}

pub fn find_or_make(
    configured: Option<&Secret>,
    data_dir: &Path,
    entropy: &dyn Entropy,
) -> io::Result<MasterKey> {
    if let Some(key) = configured {
        return Ok(MasterKey { key: key.clone(), fresh: false });
    }
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(MasterKey { key: Secret::new(text.trim()), fresh: false }),
        Ok(_) => {
            Err(io::Error::other(format!("{} is empty: delete it to have a new key made", path.display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path, entropy),
        Err(error) => Err(error),
    }
}

fn make(path: &Path, entropy: &dyn Entropy) -> io::Result<MasterKey> {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    let key = Secret::new(format!("gm_{}", URL_SAFE_NO_PAD.encode(random)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", key.reveal())?;
    file.sync_all()?;
    Ok(MasterKey { key, fresh: true })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::world::SystemEntropy;

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let first = find_or_make(None, directory.path(), &SystemEntropy).unwrap();
        assert!(first.fresh);
        let mode = fs::metadata(directory.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = find_or_make(None, directory.path(), &SystemEntropy).unwrap();
        assert!(!second.fresh);
        assert_eq!(first.key, second.key);
        let configured = Secret::new("own");
        assert_eq!(
            find_or_make(Some(&configured), directory.path(), &SystemEntropy).unwrap().key,
            configured
        );
    }
}
