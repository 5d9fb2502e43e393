//! The prompt-injection classifier of the process: loaded when it is first needed, shared by all calls.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use local_models::{InjectionClassifier, ModelDirectory, ModelKind};
use moka::sync::Cache;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// The number of texts whose scores are kept: the earlier turns of a conversation arrive again with every call.
const MOST_SCORES: u64 = 20_000;

/// The size and the time of change of a model file: another import changes them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// The classifier of a file, or the reason why it cannot be loaded.
type Loaded = Result<Arc<InjectionClassifier>, String>;

/// The classifier and the scores of recent texts. Without a directory there is none.
pub struct InjectionScorer {
    directory: Option<ModelDirectory>,
    loaded: Mutex<Option<(FileStamp, Loaded)>>,
    scores: Cache<[u8; 32], f32>,
}

impl Default for InjectionScorer {
    fn default() -> Self {
        Self { directory: None, loaded: Mutex::default(), scores: Cache::new(MOST_SCORES) }
    }
}

impl InjectionScorer {
    /// The classifier in a directory of models. It may be imported and removed while the gateway runs.
    pub fn new(directory: ModelDirectory) -> Self {
        Self { directory: Some(directory), ..Self::default() }
    }

    /// Whether a classifier is imported.
    pub fn is_available(&self) -> bool {
        self.directory
            .as_ref()
            .is_some_and(|directory| directory.imported(ModelKind::InjectionClassifier).is_some())
    }

    /// The probability that a text contains a prompt injection. Reads the model if it is not loaded, and takes
    /// milliseconds per sentence: for blocking threads.
    pub fn score(&self, text: &str) -> Result<f32, String> {
        let Some(directory) = &self.directory else { return Err("no classifier is imported".to_owned()) };
        let (stamp, classifier) = self.classifier(&directory.file(ModelKind::InjectionClassifier))?;
        let key = key_of(stamp, text);
        if let Some(score) = self.scores.get(&key) {
            return Ok(score);
        }
        let score = classifier.score(text);
        self.scores.insert(key, score);
        Ok(score)
    }

    /// The classifier in a file, loaded again if the file has changed, also after a failure. Others wait while it is
    /// loaded.
    fn classifier(&self, file: &Path) -> Result<(FileStamp, Arc<InjectionClassifier>), String> {
        let failed = |error: &dyn std::fmt::Display| format!("the classifier cannot be loaded: {error}");
        let metadata = fs::metadata(file).map_err(|error| failed(&error))?;
        let stamp = FileStamp { bytes: metadata.len(), modified: metadata.modified().ok() };
        let mut loaded = self.loaded.lock();
        if let Some((known, outcome)) = &*loaded
            && *known == stamp
        {
            return outcome.clone().map(|classifier| (stamp, classifier));
        }
        let outcome = InjectionClassifier::load(file).map(Arc::new).map_err(|error| failed(&error));
        match &outcome {
            Ok(classifier) => tracing::info!(
                model = classifier.identity(),
                bytes = stamp.bytes,
                "prompt-injection classifier loaded"
            ),
            Err(reason) => tracing::warn!(reason, "prompt-injection classifier not loaded"),
        }
        *loaded = Some((stamp, outcome.clone()));
        outcome.map(|classifier| (stamp, classifier))
    }
}

fn key_of(stamp: FileStamp, text: &str) -> [u8; 32] {
    let modified = stamp.modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let mut hash = Sha256::new();
    hash.update(stamp.bytes.to_le_bytes());
    hash.update(modified.unwrap_or_default().as_nanos().to_le_bytes());
    hash.update(text);
    hash.finalize().into()
}
