//! The archive format of backups: a tar file whose last entry is a manifest with the size and SHA-256 of every file. A
//! truncated archive has no manifest.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path};

use domain::clock::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{DATABASE, JOURNAL, KEYS};

const MANIFEST: &str = "manifest.json";
const FORMAT: u32 = 1;
const MAX_MANIFEST: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this format.
    pub format: u32,
    /// The gateway's version.
    pub version: String,
    pub created_at: String,
    pub files: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Manifest {
    pub fn summary(&self) -> String {
        let of = |kind: fn(&str) -> bool| self.files.iter().filter(move |entry| kind(&entry.name));
        let bytes: u64 = of(|name| name == DATABASE).map(|entry| entry.bytes).sum();
        let segments = of(|name| name.starts_with(JOURNAL)).count();
        let keys = of(|name| KEYS.contains(&name)).count();
        format!("database of {bytes} bytes, {segments} journal segments, {keys} key files")
    }
}

/// An archive that is being written.
pub struct Archive {
    tar: tar::Builder<BufWriter<File>>,
    files: Vec<Entry>,
}

impl Archive {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Self { tar: tar::Builder::new(BufWriter::new(file)), files: Vec::new() })
    }

    /// Adds the first bytes of a file.
    pub fn add(&mut self, name: &str, path: &Path, bytes: u64) -> io::Result<()> {
        let file = File::open(path)?;
        let mut content = Hashing { inner: file.take(bytes), hash: Sha256::new() };
        self.tar.append_data(&mut header(bytes), name, &mut content)?;
        self.files.push(Entry { name: name.to_owned(), bytes, sha256: hex(content.hash) });
        Ok(())
    }

    pub fn finish(mut self, at: Timestamp) -> io::Result<Manifest> {
        let created_at = jiff::Timestamp::from_microsecond(at.micros()).map(|at| format!("{at:.0}"));
        let manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: created_at.unwrap_or_default(),
            files: self.files,
        };
        let text = serde_json::to_vec_pretty(&manifest)?;
        self.tar.append_data(&mut header(text.len() as u64), MANIFEST, &text[..])?;
        let mut file = self.tar.into_inner()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok(manifest)
    }
}

fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_cksum();
    header
}

/// Unpacks an archive into an empty directory. Verifies every file against the manifest and rejects unexpected names.
pub fn unpack(archive: &Path, into: &Path) -> Result<Manifest, String> {
    let shown = archive.display();
    let unreadable = |error: io::Error| format!("{shown} cannot be read as a backup: {error}");
    let mut tar = tar::Archive::new(BufReader::new(File::open(archive).map_err(unreadable)?));
    let mut found: Vec<Entry> = Vec::new();
    let mut manifest = None;
    for entry in tar.entries().map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.path().map_err(unreadable)?.to_string_lossy().into_owned();
        if name == MANIFEST {
            let mut text = String::new();
            entry.take(MAX_MANIFEST).read_to_string(&mut text).map_err(unreadable)?;
            let read = serde_json::from_str::<Manifest>(&text);
            manifest = Some(read.map_err(|error| unreadable(error.into()))?);
        } else if is_expected(&name) {
            found.push(extract(entry, &name, into).map_err(unreadable)?);
        } else {
            return Err(format!("{shown} is not a backup of a gateway: it holds '{name}'."));
        }
    }
    let manifest = manifest.ok_or_else(|| format!("{shown} is not whole: its manifest is missing."))?;
    if manifest.format != FORMAT {
        return Err(format!(
            "{shown} has format {}, and this version of gatehouse reads format {FORMAT}.",
            manifest.format
        ));
    }
    if let Some(wrong) = manifest.files.iter().find(|entry| !found.contains(entry)) {
        return Err(format!("{shown} is damaged: '{}' is not what was backed up.", wrong.name));
    }
    if found.len() != manifest.files.len() || !found.iter().any(|entry| entry.name == DATABASE) {
        return Err(format!("{shown} is not whole: its files are not those that its manifest lists."));
    }
    Ok(manifest)
}

/// Whether a name is the database, a key or a journal segment, without path traversal.
fn is_expected(name: &str) -> bool {
    let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [name] => name == DATABASE || KEYS.contains(&name),
        [JOURNAL, directory, file] => is_plain && !directory.starts_with('.') && file.ends_with(".journal"),
        _ => false,
    }
}

fn extract(entry: impl Read, name: &str, into: &Path) -> io::Result<Entry> {
    let path = into.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let mut content = Hashing { inner: entry, hash: Sha256::new() };
    let bytes = io::copy(&mut content, &mut file)?;
    file.sync_all()?;
    Ok(Entry { name: name.to_owned(), bytes, sha256: hex(content.hash) })
}

struct Hashing<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
