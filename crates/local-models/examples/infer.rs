//! Runs a local model on texts: `infer PACKAGE < TEXTS`, for the suites that measure accuracy.
//!
//! PACKAGE is a file that `gatehouse models import` takes. TEXTS are JSON strings, one in each line. An encoder prints
//! the text, a tab and its vector with spaces between the numbers; a classifier prints its probability.

use std::error::Error;
use std::io::{self, BufRead as _, BufWriter, Write as _};
use std::path::Path;

use local_models::{Encoder, InjectionClassifier, ModelDirectory, ModelKind, import};

fn main() -> Result<(), Box<dyn Error>> {
    let package = std::env::args().nth(1).ok_or("usage: infer PACKAGE < TEXTS")?;
    let directory = tempfile::tempdir()?;
    let model = import(Path::new(&package), &ModelDirectory::of(directory.path()))?;
    let mut out = BufWriter::new(io::stdout().lock());
    match model.kind {
        ModelKind::Encoder => {
            let encoder = Encoder::load(&model.path)?;
            for text in texts() {
                let text = text?;
                write!(out, "{text}\t")?;
                let vector = encoder.embed(&text);
                let numbers: Vec<String> = vector.iter().map(|number| format!("{number:.4}")).collect();
                writeln!(out, "{}", numbers.join(" "))?;
            }
        }
        ModelKind::InjectionClassifier => {
            let classifier = InjectionClassifier::load(&model.path)?;
            for text in texts() {
                writeln!(out, "{:.4}", classifier.score(&text?))?;
            }
        }
    }
    Ok(out.flush()?)
}

fn texts() -> impl Iterator<Item = Result<String, Box<dyn Error>>> {
    io::stdin().lock().lines().map(|line| Ok(serde_json::from_str(&line?)?))
}
