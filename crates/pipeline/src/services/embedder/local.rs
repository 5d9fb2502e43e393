//! The imported sentence encoder, loaded when it is first used.

use std::path::PathBuf;
use std::sync::OnceLock;

use local_models::Encoder;

use super::TextEncoder;

/// A sentence encoder in a file.
pub struct LocalEncoder {
    file: PathBuf,
    /// The encoder, or the reason why it cannot be loaded.
    loaded: OnceLock<Result<Encoder, String>>,
}

impl LocalEncoder {
    pub fn new(file: PathBuf) -> Self {
        Self { file, loaded: OnceLock::new() }
    }

    fn encoder(&self) -> Result<&Encoder, String> {
        let load = || Encoder::load(&self.file).map_err(|error| error.to_string());
        self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

impl TextEncoder for LocalEncoder {
    fn embed(&self, text: &str) -> Result<Vec<f32>, String> {
        Ok(self.encoder()?.embed(text))
    }

    fn word_pieces(&self, text: &str) -> Result<usize, String> {
        Ok(self.encoder()?.word_pieces(text))
    }

    fn identity(&self) -> Result<String, String> {
        Ok(self.encoder()?.identity().to_owned())
    }
}
