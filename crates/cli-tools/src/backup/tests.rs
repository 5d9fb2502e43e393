//! Tests of applying and restoring files: merges, modes, symbolic links, several files, rollback.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use domain::secret::Secret;
use tempfile::TempDir;

use super::*;
use crate::tools::find;

fn connection() -> Connection {
    let connection = Connection::new("http://127.0.0.1:8080", Secret::new("gh-secret-key-0001")).unwrap();
    connection.with_model(Some("big".into())).unwrap()
}

fn directories(home: &TempDir) -> Directories {
    Directories { home: home.path().to_owned(), variables: BTreeMap::new() }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// All files below a directory with their content and mode.
fn tree(path: &Path) -> BTreeMap<String, (String, u32)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(tree(&entry.path()));
        } else {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            found.insert(entry.path().display().to_string(), (text, mode(&entry.path())));
        }
    }
    found
}

const AT: Timestamp = Timestamp(1_800_000_000_000_000);

#[test]
fn every_appliable_tool_is_as_before_after_a_reset() {
    for tool in crate::tools::all().filter(|tool| tool.can_apply) {
        let home = TempDir::new().unwrap();
        let directories = directories(&home);
        // One existing file with its own mode; the others do not exist.
        let (root, relative) = directories.locate(&tool.places[0]);
        let main = root.join(relative);
        std::fs::create_dir_all(main.parent().unwrap()).unwrap();
        let existing = if main.extension().unwrap() == "toml" {
            "# mine\nother = 1\n"
        } else {
            "{\"other\": 1} // mine\n"
        };
        std::fs::write(&main, existing).unwrap();
        std::fs::set_permissions(&main, std::fs::Permissions::from_mode(0o640)).unwrap();
        let before = tree(home.path());

        let applied = apply(tool, &connection(), &directories, AT).unwrap();
        assert_eq!(applied.files.len(), tool.places.len(), "{}", tool.id);
        let text = std::fs::read_to_string(&main).unwrap();
        assert!(text.contains("mine") && text.contains("other"), "{}: {text}", tool.id);
        let everything: String = tree(home.path()).into_values().map(|(text, _)| text).collect();
        assert!(everything.contains("gh-secret-key-0001"), "{}", tool.id);
        for file in &applied.files {
            assert_eq!(mode(&file.path), 0o600, "{}", file.path.display());
            assert_eq!(file.backup_path.as_deref().map(mode), (file.path == main).then_some(0o600));
        }
        let reset = reset(tool, &directories).unwrap().unwrap();
        assert_eq!(reset.restored, std::slice::from_ref(&main), "{}", tool.id);
        assert_eq!(reset.removed.len(), tool.places.len() - 1, "{}", tool.id);
        assert_eq!(tree(home.path()), before, "{}", tool.id);
        assert_eq!(super::reset(tool, &directories).unwrap(), None, "{}", tool.id);
    }
}

#[test]
fn resets_go_back_one_application_at_a_time() {
    let (home, tool) = (TempDir::new().unwrap(), find("codex").unwrap());
    let directories = directories(&home);
    apply(tool, &connection(), &directories, AT).unwrap();
    let first = tree(home.path());
    let again = apply(tool, &connection(), &directories, Timestamp(AT.0 + 1)).unwrap();
    assert!(!again.files[0].changed);
    assert_eq!(tree(home.path()), first, "an unchanged file needs no backup");
    let other = connection().with_model(Some("small".into())).unwrap();
    apply(tool, &other, &directories, Timestamp(AT.0 + 2)).unwrap();
    reset(tool, &directories).unwrap().unwrap();
    assert_eq!(tree(home.path()), first);
    reset(tool, &directories).unwrap().unwrap();
    assert!(tree(home.path()).is_empty());
}

#[test]
fn symbolic_links_are_not_followed() {
    let tool = find("codex").unwrap();
    let (home, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let target = elsewhere.path().join("config.toml");
    std::fs::write(&target, "secret = 1\n").unwrap();
    std::fs::create_dir(home.path().join(".codex")).unwrap();
    symlink(&target, home.path().join(".codex/config.toml")).unwrap();
    let error = apply(tool, &connection(), &directories(&home), AT).unwrap_err();
    assert!(error.to_string().contains("is a symbolic link, which is not followed"), "{error}");

    let home = TempDir::new().unwrap();
    symlink(elsewhere.path(), home.path().join(".codex")).unwrap();
    let error = apply(tool, &connection(), &directories(&home), AT).unwrap_err();
    assert!(
        error.to_string().contains("'.codex', which is not a directory or is a symbolic link"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "secret = 1\n");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1);
}

#[test]
fn nothing_is_written_if_one_file_cannot_be_merged() {
    let (home, tool) = (TempDir::new().unwrap(), find("qwen").unwrap());
    let directories = directories(&home);
    let (root, relative) = directories.locate(&tool.places[0]);
    std::fs::create_dir_all(root.join(&relative).parent().unwrap()).unwrap();
    std::fs::write(root.join(&relative), "not json").unwrap();
    let before = tree(home.path());
    let error = apply(tool, &connection(), &directories, AT).unwrap_err();
    assert!(error.to_string().contains("settings.json is not JSON"), "{error}");
    assert_eq!(tree(home.path()), before);
}

#[test]
fn a_failed_write_undoes_the_earlier_ones() {
    let (home, tool) = (TempDir::new().unwrap(), find("qwen").unwrap());
    let directories = directories(&home);
    std::fs::create_dir_all(home.path().join(".qwen")).unwrap();
    // The backup of the second file cannot be created: its name is taken.
    let taken = home.path().join(format!(".qwen/.env.gatehouse-{}.none", stamp(AT)));
    std::fs::write(&taken, "").unwrap();
    let before = tree(home.path());
    apply(tool, &connection(), &directories, AT).unwrap_err();
    assert_eq!(tree(home.path()), before);
}

#[test]
fn a_variable_moves_the_directory() {
    let (home, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut directories = directories(&home);
    let moved = elsewhere.path().join("codex");
    directories.variables.insert("CODEX_HOME".to_owned(), moved.display().to_string());
    let applied = apply(find("codex").unwrap(), &connection(), &directories, AT).unwrap();
    assert_eq!(applied.files[0].path, moved.join("config.toml"));
    assert!(tree(home.path()).is_empty());
}
