//! Disk write probe for the readiness check.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

const FILE: &str = ".write-probe";
/// Bytes that the probe writes: a whole block, because less may still fit on a full disk.
const SIZE: usize = 4096;

/// Writes a block to a temporary file and removes the file.
pub(crate) fn probe(directory: &Path) -> io::Result<()> {
    let path = directory.join(FILE);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    file.write_all(&[0; SIZE])?;
    fs::remove_file(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_found_out() {
        let directory = tempfile::tempdir().unwrap();
        probe(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing stays behind");
        std::os::unix::fs::symlink("/dev/full", directory.path().join(FILE)).unwrap();
        for _ in 0..2 {
            assert_eq!(probe(directory.path()).unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        assert!(probe(&directory.path().join("missing")).is_err());
    }
}
