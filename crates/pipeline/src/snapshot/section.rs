//! The compilation of one kind of document. Each document is compiled alone, so that one that fails affects no other.

use domain::clock::Timestamp;
use domain::resources::Resource;
use store::{RawDocument, Stored};

use super::document_errors::DocumentErrors;

/// A kind of document that the configuration is compiled from.
pub trait Section {
    type Document: Resource;
    /// The compiled form of one document.
    type Compiled;

    /// Compiles a document, or returns the reason why it cannot be used. Reasons contain no values of secret fields.
    fn compile(document: Stored<Self::Document>) -> Result<Self::Compiled, String>;

    /// The replacement for a document that does not compile; `None` if it is ignored. Has no default, so that a new kind
    /// has to decide whether it fails closed.
    fn fallback(name: &str) -> Option<Self::Compiled>;

    /// The reason why a document that compiles is in force only in part.
    fn defect(_document: &Self::Document) -> Option<String> {
        None
    }
}

/// The kind of a section's documents in storage.
pub const fn kind<S: Section>() -> &'static str {
    <S::Document as Resource>::KIND
}

/// Compiles documents of one kind, by name. Each one that fails is reported and replaced by the section's fallback.
pub fn compile<S: Section>(
    documents: Vec<RawDocument>,
    at: Timestamp,
    errors: &mut DocumentErrors,
) -> impl Iterator<Item = (String, S::Compiled)> {
    documents.into_iter().filter_map(move |raw| {
        let (compiled, error) = match store::decode(&raw) {
            Ok(document) => {
                let defect = S::defect(&document.value);
                match S::compile(document) {
                    Ok(compiled) => (Some(compiled), defect),
                    Err(reason) => (S::fallback(&raw.name), Some(reason)),
                }
            }
            Err(reason) => (S::fallback(&raw.name), Some(reason)),
        };
        if let Some(error) = error {
            errors.report(kind::<S>(), &raw.name, error, at);
        }
        compiled.map(|compiled| (raw.name, compiled))
    })
}
