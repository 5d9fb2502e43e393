//! A file of fixed size that is written through memory, without a system call per write.
//!
//! The bytes belong to the page cache of the kernel as soon as they are copied: they survive a crash or a kill of the
//! process. They survive a power loss only after the file was synced.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use memmap2::{MmapMut, MmapOptions};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// A file of fixed size, mapped into memory for writing.
#[derive(Debug)]
pub struct MappedFile {
    file: Arc<File>,
    bytes: MmapMut,
}

impl MappedFile {
    /// Creates a file of `size` zero bytes, readable by its owner only. Leaves no file behind if it fails.
    ///
    /// The space is allocated, so that a later write cannot find the disk full. This holds for file systems that
    /// overwrite in place (ext4, XFS, tmpfs). On others (btrfs, ZFS, NFS) a full disk ends the process with SIGBUS.
    pub fn create(path: &Path, size: usize) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let mapped = allocate(&mut file, size).and_then(|()| map(&file, size));
        match mapped {
            Ok(bytes) => Ok(Self { file: Arc::new(file), bytes }),
            Err(error) => {
                _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Writes bytes at an offset; false, and nothing is written, if they do not fit.
    #[must_use]
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let target = offset.checked_add(bytes.len()).and_then(|end| self.bytes.get_mut(offset..end));
        let fits = target.is_some();
        if let Some(target) = target {
            target.copy_from_slice(bytes);
        }
        fits
    }

    /// The file, for `sync_data` while others write. Syncing includes all bytes written before.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }
}

/// Allocates the space of a file on disk, filled with zeros.
fn allocate(file: &mut File, size: usize) -> io::Result<()> {
    match rustix::io::retry_on_intr(|| rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, size as u64))
    {
        // Some file systems cannot reserve space, so the zeros have to be written.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = [0; 64 << 10];
            let mut left = size;
            while left > 0 {
                let count = left.min(zeros.len());
                file.write_all(&zeros[..count])?;
                left -= count;
            }
            // A file system that allocates late reports a full disk only now.
            file.sync_all()
        }
        allocated => Ok(allocated?),
    }
}

#[allow(unsafe_code)]
fn map(file: &File, size: usize) -> io::Result<MmapMut> {
    // SAFETY: Rust's guarantees hold as long as nothing else changes or truncates the mapped range. This process created
    // the file, writes to it only through this mapping, which no other code uses, and never truncates it. Other processes
    // that read or remove the file do no harm. One that writes to it can only change bytes that this process never reads
    // through the mapping; one that truncates it makes the next write fail with SIGBUS, which ends the process like any
    // other crash.
    unsafe { MmapOptions::new().len(size).map_mut(file) }
}
