//! The files of a package: a wheel, an unpacked directory, or the directory of a file.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::error::ModelError;

/// The largest file of a package that is read.
const MAX_FILE: u64 = 512 * 1024 * 1024;
/// The deepest directory that is searched.
const MAX_DEPTH: usize = 6;

/// The files of a package, by their paths inside it.
pub struct Package {
    path: PathBuf,
    names: Vec<String>,
    content: Content,
}

enum Content {
    Archive(RefCell<ZipArchive<File>>),
    Directory(PathBuf),
}

impl Package {
    /// Opens a wheel or a directory. Of any other file, its directory without those below it is the package.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let failed = |error: std::io::Error| ModelError::io(path, "read", error);
        let (content, names) = if fs::metadata(path).map_err(failed)?.is_dir() {
            (Content::Directory(path.to_owned()), list(path, MAX_DEPTH).map_err(failed)?)
        } else if is_archive(path).map_err(failed)? {
            let file = File::open(path).map_err(failed)?;
            let archive =
                ZipArchive::new(file).map_err(|error| ModelError::io(path, "read as a wheel", error))?;
            let names = archive.file_names().filter_map(|name| Some(name.ok()?.into_owned())).collect();
            (Content::Archive(RefCell::new(archive)), names)
        } else {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = parent.unwrap_or(Path::new("."));
            (Content::Directory(directory.to_owned()), list(directory, 0).map_err(failed)?)
        };
        Ok(Self { path: path.to_owned(), names, content })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the file with this name, the shortest if there are several.
    pub fn find(&self, name: &str) -> Option<&str> {
        let is_named = |path: &&str| path.rsplit('/').next() == Some(name);
        self.names.iter().map(String::as_str).filter(is_named).min_by_key(|path| (path.len(), *path))
    }

    /// The content of the file with this name in the directory of another one.
    pub fn read_beside(&self, other: &str, name: &str) -> Result<Vec<u8>, ModelError> {
        let directory = other.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.read(&if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") })
    }

    /// The content of a file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, ModelError> {
        let failed = |error: &dyn std::fmt::Display| {
            ModelError::new(format!("{name} in {} cannot be read: {error}.", self.path.display()))
        };
        let mut content = Vec::new();
        let read = match &self.content {
            Content::Directory(directory) => File::open(directory.join(name))
                .map_err(|error| failed(&error))?
                .take(MAX_FILE + 1)
                .read_to_end(&mut content),
            Content::Archive(archive) => archive
                .borrow_mut()
                .by_name(name)
                .map_err(|error| failed(&error))?
                .take(MAX_FILE + 1)
                .read_to_end(&mut content),
        };
        match read {
            Ok(size) if size as u64 <= MAX_FILE => Ok(content),
            Ok(_) => Err(failed(&"it is larger than 512 MiB")),
            Err(error) => Err(failed(&error)),
        }
    }
}

fn is_archive(path: &Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(start == b"PK\x03\x04")
}

/// The files in a directory and in those up to `depth` below it.
fn list(directory: &Path, depth: usize) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        match fs::metadata(entry.path()) {
            Ok(metadata) if metadata.is_file() => names.push(name),
            Ok(metadata) if metadata.is_dir() && depth > 0 => {
                names.extend(list(&entry.path(), depth - 1)?.iter().map(|inner| format!("{name}/{inner}")));
            }
            _ => {}
        }
    }
    Ok(names)
}
