//! A configuration file below a trusted directory. No symbolic link below that directory is followed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// The largest file that is read.
const MOST_BYTES: u64 = 4 << 20;
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

/// A file that cannot be read or written, with the reason and the next step.
#[derive(Debug, PartialEq, Eq)]
pub struct FileError {
    pub path: PathBuf,
    pub reason: String,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}.", self.path.display(), self.reason)
    }
}

/// A file name in an open directory; the file need not exist.
pub struct ConfigFile {
    directory: OwnedFd,
    name: String,
    path: PathBuf,
}

/// The content of a file and its permission bits.
pub struct ReadFile {
    pub text: String,
    pub mode: u32,
}

impl ConfigFile {
    /// Opens the directory of a file and creates missing directories; `None` if one is missing and `create` is false.
    pub fn open(root: &Path, relative: &Path, create: bool) -> Result<Option<Self>, FileError> {
        let path = root.join(relative);
        let failed = |reason: String| FileError { path: path.clone(), reason };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut directory = match rustix::fs::open(root, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) if !create => return Ok(None),
            Err(Errno::NOENT) => {
                std::fs::create_dir_all(root).map_err(|error| failed(cannot("created", error)))?;
                rustix::fs::open(root, flags, Mode::empty())
                    .map_err(|error| failed(cannot("opened", error)))?
            }
            Err(error) => return Err(failed(cannot("opened", error))),
        };
        let mut parts: Vec<&str> = relative.iter().filter_map(|part| part.to_str()).collect();
        let name = parts.pop().unwrap_or_default().to_owned();
        for part in parts {
            let opened = openat(&directory, part, flags | OFlags::NOFOLLOW, Mode::empty());
            directory = match opened {
                Ok(next) => next,
                Err(Errno::NOENT) if !create => return Ok(None),
                Err(Errno::NOENT) => {
                    mkdirat(&directory, part, DIRECTORY_MODE)
                        .map_err(|error| failed(cannot("created", error)))?;
                    openat(&directory, part, flags | OFlags::NOFOLLOW, Mode::empty())
                        .map_err(|error| failed(cannot("opened", error)))?
                }
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    return Err(failed(format!(
                        "lies below '{part}', which is not a directory or is a symbolic link"
                    )));
                }
                Err(error) => return Err(failed(cannot("opened", error))),
            };
        }
        Ok(Some(Self { directory, name, path }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of another file in the same directory.
    pub fn sibling(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content; `None` if the file does not exist.
    pub fn read(&self) -> Result<Option<ReadFile>, FileError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.directory, &self.name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(self.is_link()),
            Err(error) => return Err(self.failed(cannot("read", error))),
        };
        let status = fstat(&file).map_err(|error| self.failed(cannot("read", error)))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(self.failed("is not a regular file".to_owned()));
        }
        let mut text = String::new();
        let read = File::from(file).take(MOST_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| self.failed(cannot("read as text", error)))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(self.failed("is larger than 4 MiB".to_owned()));
        }
        Ok(Some(ReadFile { text, mode: Mode::from_raw_mode(status.st_mode).as_raw_mode() & 0o777 }))
    }

    /// Replaces the file in one step, with mode 0600.
    pub fn write(&self, text: &str) -> Result<(), FileError> {
        self.refuse_link()?;
        let temporary = format!("{}.gatehouse-new", self.name);
        // Left over from a process that was killed.
        let _ = unlinkat(&self.directory, &*temporary, AtFlags::empty());
        self.create(&temporary, text)?;
        renameat(&self.directory, &*temporary, &self.directory, &*self.name).map_err(|error| {
            let _ = unlinkat(&self.directory, &*temporary, AtFlags::empty());
            self.failed(cannot("written", error))
        })
    }

    /// Creates another file in the same directory, with mode 0600; it must not exist.
    pub fn create(&self, name: &str, text: &str) -> Result<(), FileError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, FILE_MODE)
            .map_err(|error| self.failed(cannot("written", error)))?;
        let mut file = File::from(file);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| {
            let _ = unlinkat(&self.directory, name, AtFlags::empty());
            self.failed(cannot("written", error))
        })
    }

    /// Replaces the file by another one of the same directory, with these permission bits.
    pub fn replace_by(&self, name: &str, mode: u32) -> Result<(), FileError> {
        self.refuse_link()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let restored = openat(&self.directory, name, flags, Mode::empty())
            .and_then(|file| fchmod(&file, Mode::from_raw_mode(mode)))
            .and_then(|()| renameat(&self.directory, name, &self.directory, &*self.name));
        restored.map_err(|error| self.failed(cannot("restored", error)))
    }

    /// Removes a file of the directory; it need not exist.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        match unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(cannot("removed", error))),
        }
    }

    /// The names of all files in the directory.
    pub fn names(&self) -> Result<Vec<String>, FileError> {
        let entries =
            Dir::read_from(&self.directory).map_err(|error| self.failed(cannot("listed", error)))?;
        let names = entries.filter_map(Result::ok);
        Ok(names.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).collect())
    }

    fn refuse_link(&self) -> Result<(), FileError> {
        match statat(&self.directory, &*self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) if FileType::from_raw_mode(status.st_mode) == FileType::RegularFile => Ok(()),
            Err(Errno::NOENT) => Ok(()),
            Ok(status) if FileType::from_raw_mode(status.st_mode) == FileType::Symlink => Err(self.is_link()),
            Ok(_) => Err(self.failed("is not a regular file".to_owned())),
            Err(error) => Err(self.failed(cannot("read", error))),
        }
    }

    fn is_link(&self) -> FileError {
        self.failed(
            "is a symbolic link, which is not followed. Edit the file that it leads to, or replace the link by a file"
                .to_owned(),
        )
    }

    /// The error of an operation on this file.
    pub fn failed(&self, reason: String) -> FileError {
        FileError { path: self.path.clone(), reason }
    }
}

fn cannot(verb: &str, error: impl std::fmt::Display) -> String {
    format!("cannot be {verb}: {error}")
}
