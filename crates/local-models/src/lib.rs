//! Models that run inside the gateway: the sentence encoder of the semantic cache and the prompt-injection classifier.
//!
//! Both are BERT encoders with int8 weights. Their files are imported from packages once (`import`) and read when the
//! model is loaded; nothing is downloaded. All functions are synchronous and use one core: callers run them on a
//! blocking thread.

mod bert;
mod config;
mod encoder;
mod error;
mod header;
mod import;
mod injection_classifier;
mod layer_math;
mod linear;
mod model_directory;
mod model_file;
mod model_reader;
mod model_writer;
mod onnx;
mod package;
mod protobuf;
mod quantise;
#[cfg(test)]
mod random_model;
mod safetensors;
mod tokenizer;
mod vocabulary;
mod weights;

pub use encoder::Encoder;
pub use error::ModelError;
pub use header::{ModelHeader, ModelKind};
pub use import::import;
pub use injection_classifier::InjectionClassifier;
pub use model_directory::{ImportedModel, ModelDirectory};
