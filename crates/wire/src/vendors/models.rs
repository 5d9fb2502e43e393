//! Model discovery: the vendor's list of models.

use domain::fault::{Fault, FaultCode};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    None,
    /// OpenAI's list, at a path below the base URL.
    OpenAiList {
        path: &'static str,
    },
    /// Ollama's list of installed models, outside its `/v1`.
    OllamaTags,
    /// Gemini's list, with ids prefixed by `models/`.
    GeminiList,
}

impl Discovery {
    /// The URL of the list, given an instance's base URL.
    pub fn url(self, base_url: &str) -> Option<String> {
        let base = base_url.trim_end_matches('/');
        match self {
            Self::None => None,
            Self::OpenAiList { path } => Some(format!("{base}{path}")),
            Self::GeminiList => Some(format!("{base}/models?pageSize=1000")),
            Self::OllamaTags => Some(format!("{}/api/tags", base.strip_suffix("/v1").unwrap_or(base))),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    pub id: String,
    pub created: Option<i64>,
    pub owned_by: Option<String>,
}

/// Reads a model list. Entries without an id are skipped; an answer that is not a list is a fault.
pub fn read_models(discovery: Discovery, body: &[u8]) -> Result<Vec<Discovered>, Fault> {
    let (list, id) = match discovery {
        Discovery::None => return Ok(Vec::new()),
        Discovery::OpenAiList { .. } => ("data", "id"),
        Discovery::OllamaTags | Discovery::GeminiList => ("models", "name"),
    };
    let value: Value = serde_json::from_slice(body).map_err(|_| unreadable())?;
    // Together returns a bare array.
    let entries = value.get(list).unwrap_or(&value).as_array().ok_or_else(unreadable)?;
    let read = |entry: &Value| {
        Some(Discovered {
            id: bare(discovery, entry[id].as_str().filter(|id| !id.is_empty())?).to_owned(),
            created: entry["created"].as_i64().filter(|created| *created > 0),
            owned_by: entry["owned_by"].as_str().map(str::to_owned),
        })
    };
    Ok(entries.iter().filter_map(read).collect())
}

fn bare(discovery: Discovery, id: &str) -> &str {
    match discovery {
        Discovery::GeminiList => id.strip_prefix("models/").unwrap_or(id),
        _ => id,
    }
}

fn unreadable() -> Fault {
    let message = "The provider's list of models could not be read.";
    Fault::new(FaultCode::UpstreamInvalidResponse, message)
}
