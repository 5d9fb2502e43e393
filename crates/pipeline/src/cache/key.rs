//! The key of a call in the response cache: a hash of everything that decides its answer, and of the callers that may
//! share it.

#[cfg(test)]
mod tests;

use std::ops::Range;

use domain::call::Surface;
use http::{HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};
use store::Owner;
use wire::codec::Request;
use wire::request_identity;

use crate::policy::CacheScope;
use crate::routing::routes::Deployment;
use crate::services::response_cache::CacheKey;

/// Changed whenever the meaning of a part changes.
const VERSION: &[u8] = b"exact 1";
const SEMANTIC_VERSION: &[u8] = b"semantic 1";

/// The parts of a key besides the request.
#[derive(Clone, Debug)]
pub struct KeyParts {
    pub sharing: Sharing,
    pub surface: Surface,
    /// The model that the client named, which the answer may repeat.
    pub requested_model: String,
    pub origin: Origin,
    /// Headers that are forwarded to the provider.
    pub forwarded: Vec<(HeaderName, HeaderValue)>,
    /// The guardrails that the call passes: a hash of their documents, and the names of those that apply to its path.
    pub guardrails: Vec<String>,
    /// Whether the client asked for a stream, and for usage in it, if answers are not converted between these forms.
    pub form: Option<(bool, bool)>,
}

/// The callers that share an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    scope: &'static str,
    tenant: String,
    owner: String,
}

impl Sharing {
    pub fn of(scope: CacheScope, owner: &Owner) -> Self {
        let Owner { key, user_path, tenant } = owner;
        let tenant = tenant.clone().unwrap_or_default();
        let (scope, tenant, owner) = match scope {
            CacheScope::UserPath => ("user_path", tenant, user_path.clone()),
            CacheScope::Key => ("key", tenant, key.clone()),
            CacheScope::Tenant => ("tenant", tenant, String::new()),
            CacheScope::Global => ("global", tenant, String::new()),
        };
        Self { scope, tenant, owner }
    }
}

/// The model that answers: its name, and the provider instance with the address that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    instance: String,
    address: String,
    model: String,
}

impl Origin {
    pub fn of(deployment: &Deployment) -> Self {
        let instance = &deployment.instance;
        let address = match &instance.destination {
            Ok(destination) => {
                let version = instance.api_version.as_deref().unwrap_or_default();
                format!("{}{}?{version}", destination.origin(), destination.base_path())
            }
            // The demo provider has none.
            Err(_) => String::new(),
        };
        let (instance, model) = (deployment.target.instance.to_string(), deployment.target.model.to_string());
        Self { instance, address, model }
    }
}

/// The key of a request. `echoed` is the request as it was before guardrails changed it, if its answer repeats parts of
/// it.
pub fn key(parts: &KeyParts, request: &Request, echoed: Option<&Request>) -> CacheKey {
    let mut hasher = Hasher::with(VERSION, parts);
    request_identity::visit(parts.surface, request, |part| hasher.add(part));
    if let Some(echoed) = echoed {
        hasher.add(b"echoed");
        request_identity::visit(parts.surface, echoed, |part| hasher.add(part));
    }
    hasher.0.finalize().into()
}

/// The keys of a request without its last text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemanticKeys {
    /// The hash of the request alone.
    pub params_hash: CacheKey,
    /// The hash of everything that requests need to have in common to be compared.
    pub partition: CacheKey,
}

/// The keys of a request without the text at `left_out`.
pub fn semantic_keys(parts: &KeyParts, request: &Request, left_out: &Range<usize>) -> SemanticKeys {
    let mut params = Hasher(Sha256::new());
    request_identity::visit_without(parts.surface, request, left_out, |part| params.add(part));
    let params_hash: CacheKey = params.0.finalize().into();
    let mut hasher = Hasher::with(SEMANTIC_VERSION, parts);
    hasher.add(&params_hash);
    SemanticKeys { params_hash, partition: hasher.0.finalize().into() }
}

/// The key in hexadecimal digits.
pub fn hex(key: &CacheKey) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes each part with its length, so that no bytes can move from one to the next.
struct Hasher(Sha256);

impl Hasher {
    /// A hasher of everything but the request.
    fn with(version: &[u8], parts: &KeyParts) -> Self {
        let mut hasher = Self(Sha256::new());
        hasher.add(version);
        let Sharing { scope, tenant, owner } = &parts.sharing;
        let Origin { instance, address, model } = &parts.origin;
        // Not the name of the surface, which Gemini's embeddings and OpenAI's have in common.
        let surface = format!("{:?}", parts.surface);
        for text in [scope, &**tenant, owner, &surface, &parts.requested_model, instance, address, model] {
            hasher.add(text.as_bytes());
        }
        hasher.count(parts.forwarded.len());
        for (name, value) in &parts.forwarded {
            hasher.add(name.as_str().as_bytes());
            hasher.add(value.as_bytes());
        }
        hasher.count(parts.guardrails.len());
        parts.guardrails.iter().for_each(|text| hasher.add(text.as_bytes()));
        let form = parts.form.map(|(streams, includes_usage)| [u8::from(streams), u8::from(includes_usage)]);
        hasher.add(form.as_ref().map_or(b"any", |form| &form[..]));
        hasher
    }

    fn add(&mut self, part: &[u8]) {
        self.count(part.len());
        self.0.update(part);
    }

    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }
}
