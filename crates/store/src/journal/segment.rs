//! Segment files: names, headers, the directory of each process, and the locks that show which processes are alive.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use memory_map::MappedFile;

/// Magic and the segment id as text, so that a renamed file can be identified.
pub(super) const HEADER: u64 = 8 + 32;
const MAGIC: &[u8; 8] = b"gatejnl1";
const SUFFIX: &str = ".journal";
/// Temporary file that shows whether segments can be created.
const PROBE: &str = ".probe";
/// Lock file held while a directory is created or searched for, so that no half-created one is seen.
const GATE: &str = ".gate";
const LOCK: &str = "lock";
const DAMAGED: &str = "damaged";
/// Lock file held by a backup, while which no segment is removed.
const BACKUP: &str = ".backup";

/// A segment file of the journal.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub sequence: u64,
    pub id: String,
    pub path: PathBuf,
    /// Length of the content in bytes; from `list`, the length of the file with the zeros behind its content.
    pub length: u64,
}

impl Segment {
    /// Sets the length to that of the content.
    pub fn trimmed(self) -> io::Result<Self> {
        Ok(Self { length: content_length(&self.path)?, ..self })
    }
}

/// The length of the content of a segment file. A segment is created with its full size, filled with zeros, and no
/// record ends with a zero. Records are written one after the other, so what follows the last whole one is part of a
/// single record, also while the segment is in use.
pub(crate) fn content_length(path: &Path) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let file = File::open(path)?;
    let (mut length, mut block) = (file.metadata()?.len(), Vec::new());
    while length > 0 {
        let start = length.saturating_sub(BLOCK);
        block.resize((length - start) as usize, 0);
        file.read_exact_at(&mut block, start)?;
        if let Some(last) = block.iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        length = start;
    }
    Ok(0)
}

/// Creates a segment with space for `size` bytes of records.
pub(super) fn create(
    directory: &Path,
    sequence: u64,
    id: String,
    size: usize,
    fsync: bool,
) -> io::Result<(MappedFile, Segment)> {
    let path = directory.join(format!("{sequence:010}-{id}{SUFFIX}"));
    let mut file = MappedFile::create(&path, HEADER as usize + size)?;
    match begin(&mut file, &id, fsync.then_some(directory)) {
        Ok(()) => Ok((file, Segment { sequence, id, path, length: HEADER })),
        Err(error) => {
            _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Writes the header of a segment, and syncs it and its directory if one is given.
fn begin(file: &mut MappedFile, id: &str, synced: Option<&Path>) -> io::Result<()> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(id.as_bytes());
    if !file.write(0, &header) {
        return Err(io::Error::other("a journal segment is too small for its header"));
    }
    let Some(directory) = synced else { return Ok(()) };
    file.file().sync_data()?;
    File::open(directory)?.sync_all()
}

/// Checks that segments of this size can be created in a directory.
pub(super) fn probe(directory: &Path, size: usize) -> io::Result<()> {
    let path = directory.join(PROBE);
    _ = fs::remove_file(&path);
    MappedFile::create(&path, size)?;
    fs::remove_file(path)
}

/// Prevents a backup from starting while segments are removed; `None` while a backup runs, which needs them.
pub(super) fn lock_removal(root: &Path) -> io::Result<Option<File>> {
    try_lock(&root.join(BACKUP))
}

/// Keeps all segments until the returned file is dropped.
pub(crate) fn lock_for_backup(root: &Path) -> io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    let lock = lock_file(&root.join(BACKUP))?;
    lock.lock()?;
    Ok(lock)
}

/// Opens a segment for reading; logs an error if its header does not match its name.
pub(super) fn open(segment: &Segment) -> io::Result<File> {
    let file = File::open(&segment.path)?;
    let mut header = [0u8; HEADER as usize];
    let whole = file.read_exact_at(&mut header, 0).is_ok();
    if whole && (!header.starts_with(MAGIC) || &header[MAGIC.len()..] != segment.id.as_bytes()) {
        tracing::error!(segment = %segment.path.display(), "journal segment header mismatch, reading it anyway");
    }
    Ok(file)
}

/// The segments of a directory, in order.
pub(crate) fn list(directory: &Path) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else { continue };
        let Some((sequence, id)) = stem.split_once('-') else { continue };
        let Ok(sequence) = sequence.parse() else { continue };
        let length = entry.metadata()?.len();
        segments.push(Segment { sequence, id: id.to_owned(), path: entry.path(), length });
    }
    segments.sort_by_key(|segment| segment.sequence);
    Ok(segments)
}

/// Creates the directory of this process; the returned file holds its lock.
pub(super) fn claim(root: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    // The gate is held until the new directory is locked: otherwise another process could find it without an owner and
    // adopt it.
    let gate = lock_file(&root.join(GATE))?;
    gate.lock()?;
    let path = root.join(name);
    fs::DirBuilder::new().mode(0o700).create(&path)?;
    let lock = lock_file(&path.join(LOCK))?;
    lock.try_lock()?;
    Ok((path, lock))
}

/// The directories of dead processes, each with its lock, which this process now holds.
pub(super) fn orphans(root: &Path, own: &str) -> io::Result<Vec<(String, PathBuf, File)>> {
    let gate = lock_file(&root.join(GATE))?;
    // Another process is starting or searching; try again at the next search.
    if gate.try_lock().is_err() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (name, path) in directories(root)?.into_iter().filter(|(name, _)| name != own) {
        if let Some(lock) = try_lock(&path.join(LOCK))? {
            found.push((name, path, lock));
        }
    }
    Ok(found)
}

/// The directories of all processes, with their names; empty if nothing was ever journalled.
pub(crate) fn directories(root: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name != DAMAGED && !name.starts_with('.') && entry.file_type()?.is_dir() {
            found.push((name, entry.path()));
        }
    }
    Ok(found)
}

/// Prevents processes from starting on this directory while the returned file is open; `None` if another process holds
/// the gate.
pub(crate) fn close_gate(root: &Path) -> io::Result<Option<File>> {
    try_lock(&root.join(GATE))
}

/// True if a running process holds the lock of the directory.
pub(crate) fn is_in_use(directory: &Path) -> io::Result<bool> {
    Ok(try_lock(&directory.join(LOCK))?.is_none())
}

/// True if the directory was made by a process for its journal.
pub(super) fn has_lock(directory: &Path) -> bool {
    directory.join(LOCK).is_file()
}

/// True if processes have made their directories here.
pub(super) fn is_root(root: &Path) -> bool {
    root.join(GATE).is_file()
}

/// Removes the directory of a process, holding the gate so that no process searches for directories meanwhile.
pub(super) fn dissolve(root: &Path, directory: &Path) -> io::Result<()> {
    let gate = lock_file(&root.join(GATE))?;
    gate.lock()?;
    fs::remove_dir_all(directory)
}

/// Removes a segment that was read, or moves it to `damaged` if part of it could not be read.
pub(super) fn remove(root: &Path, segment: &Segment, damaged: bool) -> io::Result<()> {
    if !damaged {
        return fs::remove_file(&segment.path);
    }
    let aside = aside(root, segment)?;
    fs::rename(&segment.path, aside)?;
    // Renaming a hard link onto another link of the same file does nothing, so the old name has to be removed.
    match fs::remove_file(&segment.path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Hard-links a segment that is still in use into `damaged`.
pub(super) fn put_aside(root: &Path, segment: &Segment) -> io::Result<()> {
    match fs::hard_link(&segment.path, aside(root, segment)?) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn aside(root: &Path, segment: &Segment) -> io::Result<PathBuf> {
    let aside = root.join(DAMAGED);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&aside)?;
    Ok(aside.join(format!("{}{SUFFIX}", segment.id)))
}

/// Takes a lock; `None` if another process holds it.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = lock_file(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}
