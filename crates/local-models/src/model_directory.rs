//! The directory of imported models: one file for each kind.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::ModelError;
use crate::header::{ModelHeader, ModelKind};
use crate::model_file::read_header;

const EXTENSION: &str = "model";

/// The directory of imported models.
#[derive(Clone, Debug)]
pub struct ModelDirectory(PathBuf);

/// A model in the directory.
#[derive(Debug)]
pub struct ImportedModel {
    pub kind: ModelKind,
    pub path: PathBuf,
    pub bytes: u64,
    /// Its description, or the reason why it cannot be read.
    pub header: Result<ModelHeader, ModelError>,
}

impl ModelDirectory {
    /// The models of a data directory.
    pub fn of(data_dir: &Path) -> Self {
        Self(data_dir.join("models"))
    }

    /// The file of a model, whether it exists or not.
    pub fn file(&self, kind: ModelKind) -> PathBuf {
        self.0.join(kind.file_stem()).with_extension(EXTENSION)
    }

    /// The file of a model, if it is imported.
    pub fn imported(&self, kind: ModelKind) -> Option<PathBuf> {
        Some(self.file(kind)).filter(|file| file.is_file())
    }

    /// All imported models.
    pub fn list(&self) -> Vec<ImportedModel> {
        let kinds = [ModelKind::Encoder, ModelKind::InjectionClassifier].into_iter();
        let found = kinds.filter_map(|kind| {
            let path = self.imported(kind)?;
            let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            Some(ImportedModel { kind, bytes, header: read_header(&path), path })
        });
        found.collect()
    }

    /// Removes a model by its name or by the stem of its file. Returns its file.
    pub fn remove(&self, name: &str) -> Result<PathBuf, ModelError> {
        let models = self.list();
        let is_named = |model: &&ImportedModel| {
            let own = model.header.as_ref().map_or("", |header| header.name.as_str());
            name == model.kind.file_stem() || name == own
        };
        let Some(model) = models.iter().find(is_named) else {
            return Err(not_imported(name, &models));
        };
        fs::remove_file(&model.path).map_err(|error| ModelError::io(&model.path, "removed", error))?;
        Ok(model.path.clone())
    }

    /// Writes the file of a model in one step: a reader sees the old file or the new one.
    pub(crate) fn write(&self, kind: ModelKind, content: &[u8]) -> Result<PathBuf, ModelError> {
        let path = self.file(kind);
        let new = path.with_extension("new");
        let write = || {
            fs::create_dir_all(&self.0)?;
            let mut file = fs::File::create(&new)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        };
        write().map_err(|error| ModelError::io(&path, "written", error))?;
        Ok(path)
    }
}

fn not_imported(name: &str, models: &[ImportedModel]) -> ModelError {
    let names: Vec<&str> = models
        .iter()
        .map(|model| model.header.as_ref().map_or(model.kind.file_stem(), |header| header.name.as_str()))
        .collect();
    let known = match names.is_empty() {
        true => "No model is imported.".to_owned(),
        false => format!("The imported models are {}.", names.join(", ")),
    };
    ModelError::new(format!("There is no model '{name}'. {known}"))
}
