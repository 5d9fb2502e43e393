//! A private temporary directory inside the data directory that is removed when it is dropped.

use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use domain::ids::Entropy;

pub struct Staging(PathBuf);

impl Staging {
    pub fn create(data_dir: &Path, purpose: &str, entropy: &dyn Entropy) -> io::Result<Self> {
        let mut random = [0u8; 8];
        entropy.fill(&mut random);
        let path = data_dir.join(format!(".{purpose}-{:016x}", u64::from_be_bytes(random)));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
