//! Mapped files: writing, limits, failures, and the death of the process.

use super::*;

#[test]
fn written_bytes_can_be_read_from_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let mut file = MappedFile::create(&path, 10_000).unwrap();
    assert!(file.write(0, b"abc"));
    assert!(file.write(9_997, b"xyz"));
    let content = fs::read(&path).unwrap();
    assert_eq!((file.size(), content.len()), (10_000, 10_000));
    assert_eq!((&content[..4], &content[9_996..]), (&b"abc\0"[..], &b"\0xyz"[..]));
}

#[test]
fn bytes_beyond_the_end_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut file = MappedFile::create(&directory.path().join("file"), 4096).unwrap();
    assert!(!file.write(4095, b"ab"));
    assert!(!file.write(usize::MAX, b"ab"));
    assert!(file.write(4095, b"a"));
}

#[test]
fn an_existing_file_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "precious").unwrap();
    assert_eq!(MappedFile::create(&path, 4096).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn nothing_is_left_of_a_file_that_cannot_be_created() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    assert!(MappedFile::create(&path, 1 << 60).is_err());
    assert!(!path.exists());
}

/// Writes in a child process, this test again with a variable set, which then aborts without unmapping or closing the file.
#[test]
#[expect(clippy::disallowed_methods, reason = "tells the child process which file to write")]
fn written_bytes_survive_the_death_of_the_process() {
    const CHILD: &str = "MAPPED_FILE_TEST_CHILD";
    if let Some(path) = std::env::var_os(CHILD) {
        let mut file = MappedFile::create(Path::new(&path), 8192).unwrap();
        assert!(file.write(5000, b"survives"));
        std::process::abort();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let name = "mapped_file::tests::written_bytes_survive_the_death_of_the_process";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, &path)
        .output()
        .unwrap();
    assert!(!child.status.success());
    assert_eq!(&fs::read(&path).unwrap()[5000..5008], b"survives");
}
