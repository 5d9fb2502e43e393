//! Tests of backup and restore through the commands themselves.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::archive::unpack;
use super::*;
use crate::settings;

const SEGMENT: &str =
    "journal/0190a0a0a0a0a0a0a0a0a0a0a0a0a0a0/0000000000-0190b0b0b0b0b0b0b0b0b0b0b0b0b0b0.journal";

fn archive_of(directory: &Path, files: &[(&str, &str)]) -> PathBuf {
    let path = directory.join("backup.tar");
    let mut archive = Archive::create(&path).unwrap();
    for (name, content) in files {
        let source = directory.join("source");
        fs::write(&source, content).unwrap();
        archive.add(name, &source, source.metadata().unwrap().len()).unwrap();
    }
    archive.finish(domain::clock::Timestamp(1_800_000_000_000_000)).unwrap();
    path
}

#[test]
fn an_archive_round_trips() {
    let directory = tempfile::tempdir().unwrap();
    let files = [(DATABASE, "rows"), (SEGMENT, "receipts"), (ENCRYPTION_KEY, "key")];
    let archive = archive_of(directory.path(), &files);
    assert_eq!(fs::metadata(&archive).unwrap().permissions().mode() & 0o777, 0o600);
    let into = directory.path().join("into");
    let manifest = unpack(&archive, &into).unwrap();
    assert_eq!(manifest.created_at, "2027-01-15T08:00:00Z");
    assert_eq!(manifest.summary(), "database of 4 bytes, 1 journal segments, 1 key files");
    for (name, content) in files {
        assert_eq!(fs::read_to_string(into.join(name)).unwrap(), content);
    }
}

#[test]
fn a_file_that_is_not_a_whole_backup_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let check = |path: &Path, expected: &str| {
        let into = tempfile::tempdir().unwrap();
        let reason = unpack(path, into.path()).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    };
    let archive = archive_of(directory.path(), &[(DATABASE, "rows"), (SEGMENT, "receipts")]);
    let whole = fs::read(&archive).unwrap();
    let damaged = directory.path().join("damaged.tar");
    let with = |content: &[u8]| fs::write(&damaged, content).unwrap();
    with(&whole[..1024]);
    check(&damaged, "its manifest is missing");
    let mut changed = whole;
    let place = changed.windows(4).position(|four| four == b"rows").unwrap();
    changed[place] = b'R';
    with(&changed);
    check(&damaged, "'gatehouse.db' is not what was backed up");
    with(b"no archive at all");
    check(&damaged, "cannot be read as a backup");
    check(&directory.path().join("absent"), "cannot be read as a backup");
    check(&archive_of(directory.path(), &[(DATABASE, "x"), ("etc/passwd", "x")]), "it holds 'etc/passwd'");
    check(&archive_of(directory.path(), &[(SEGMENT, "x")]), "is not whole");
}

fn settings_in(directory: &Path) -> Settings {
    let data = directory.join("data").display().to_string();
    let environment = BTreeMap::from([("DATA_DIR".to_owned(), data)]);
    settings::load(environment, directory, None, &[]).unwrap()
}

#[test]
fn postgres_and_missing_databases_are_refused_with_a_hint() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { file: directory.path().join("b.tar"), without_keys: false, force: false };
    let mut settings = settings_in(directory.path());
    let reason = block_on(back_up(&settings, &options)).unwrap_err();
    assert!(reason.starts_with("There is no database at"), "{reason}");
    settings.storage.kind = StorageType::Postgres;
    let reason = block_on(back_up(&settings, &options)).unwrap_err();
    assert!(reason.contains("pg_dump"), "{reason}");
    assert!(!options.file.exists());
}

#[test]
fn a_backup_is_restored_elsewhere_with_or_without_keys() {
    use crate::commands::restore;
    let directory = tempfile::tempdir().unwrap();
    let from = settings_in(&directory.path().join("from"));
    let data = &from.storage.data_dir;
    block_on(async {
        let (clock, entropy) = (std::sync::Arc::new(SystemClock), std::sync::Arc::new(SystemEntropy));
        crate::commands::serve::assemble::make_directory(data)?;
        let store =
            crate::commands::serve::assemble::open_store(&from, &(clock as _), &(entropy as _)).await?;
        store.close().await;
        Ok(())
    })
    .unwrap();
    let key = fs::read_to_string(data.join(ENCRYPTION_KEY)).unwrap();
    for without_keys in [false, true] {
        let file = directory.path().join(format!("{without_keys}.tar"));
        let options = Options { file: file.clone(), without_keys, force: false };
        let manifest = block_on(back_up(&from, &options)).unwrap();
        assert_eq!(manifest.files.iter().any(|entry| entry.name == ENCRYPTION_KEY), !without_keys);
        assert!(block_on(back_up(&from, &options)).unwrap_err().contains("--force"));
        let to = settings_in(&directory.path().join(format!("to-{without_keys}")));
        let options = restore::Options::new(file, false);
        block_on(restore::restore(&to, &options)).unwrap();
        assert!(to.storage.sqlite_file().exists());
        let restored = fs::read_to_string(to.storage.data_dir.join(ENCRYPTION_KEY)).ok();
        assert_eq!(restored, (!without_keys).then(|| key.clone()));
        let reason = block_on(restore::restore(&to, &options)).err().unwrap();
        assert!(reason.starts_with("There is data already") && reason.contains("--force"), "{reason}");
        let again = block_on(restore::restore(&to, &restore::Options { force: true, ..options })).unwrap();
        assert!(again.set_aside.unwrap().join("gatehouse.db").exists());
    }
    let leftovers = fs::read_dir(data).unwrap().flatten().map(|entry| entry.file_name());
    let leftovers: Vec<_> = leftovers.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
}
