//! The models of each provider: listed by the provider and cached on disk, so that a start never waits for them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::clock::Timestamp;
use egress::{Egress, Inbound};
use http::Method;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use wire::formats;
use wire::vendors::{self, Discovery};

use crate::routing::routes::{Accept, Instance, InstanceRequest};
use crate::services::audit::Scrubber;
use crate::services::content_encoding;

const TIME_LIMIT: Duration = Duration::from_secs(15);
/// Most bytes that are read of an error's body.
const ERROR_LIMIT: usize = 64 * 1024;
const SIZE_LIMIT: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Model {
    pub id: String,
    #[serde(default)]
    pub created: Option<i64>,
    #[serde(default)]
    pub owned_by: Option<String>,
}

/// The models that one provider lists.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Listing {
    /// Whether the provider has answered at least once.
    pub known: bool,
    pub models: Vec<Model>,
    pub at: Option<Timestamp>,
    #[serde(default)]
    pub last_error: Option<String>,
    /// The address that the list came from. It is not valid for another address.
    #[serde(default)]
    pub origin: String,
}

pub struct Inventory {
    listings: Mutex<HashMap<String, Listing>>,
    file: Option<PathBuf>,
}

impl Inventory {
    /// Loads the lists from the last run of the process.
    pub fn open(file: Option<PathBuf>) -> Self {
        let known = file.as_ref().and_then(|file| std::fs::read(file).ok());
        let listings = known.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { listings: Mutex::new(listings), file }
    }

    pub fn listings(&self) -> HashMap<String, Listing> {
        self.listings.lock().clone()
    }

    pub fn listing(&self, instance: &Instance) -> Option<Listing> {
        self.listings.lock().get(&*instance.state_key()).cloned()
    }

    /// Drops the list of an instance that has moved to another address.
    pub fn forget_moved(&self, instances: impl Iterator<Item = Arc<Instance>>) -> bool {
        let mut listings = self.listings.lock();
        let before = listings.len();
        for instance in instances {
            let moved = |listing: &Listing| listing.known && listing.origin != origin(&instance);
            if listings.get(&*instance.state_key()).is_some_and(moved) {
                listings.remove(&*instance.state_key());
            }
        }
        listings.len() != before
    }

    /// Lists the models of one provider; true if the list has changed.
    pub async fn discover(&self, instance: &Instance, egress: &Egress, now: Timestamp) -> bool {
        let found = ask(instance, egress).await;
        let mut listings = self.listings.lock();
        let listing = listings.entry(instance.state_key().into_owned()).or_default();
        let changed = match found {
            Ok(models) => {
                let same = listing.known && ids(&listing.models) == ids(&models);
                *listing = Listing {
                    known: true,
                    models,
                    at: Some(now),
                    last_error: None,
                    origin: origin(instance),
                };
                !same
            }
            Err(reason) => {
                tracing::warn!(provider = instance.name(), reason, "model discovery failed");
                listing.last_error = Some(reason);
                false
            }
        };
        let text = changed.then(|| serde_json::to_vec(&*listings).unwrap_or_default());
        // The file is written without the lock.
        drop(listings);
        if let (Some(file), Some(text)) = (&self.file, text)
            && let Err(error) = save(file, &text)
        {
            tracing::warn!(%error, "model inventory could not be saved");
        }
        changed
    }
}

fn ids(models: &[Model]) -> Vec<&str> {
    models.iter().map(|model| model.id.as_str()).collect()
}

fn origin(instance: &Instance) -> String {
    instance
        .core
        .destination
        .as_ref()
        .map(|place| format!("{}{}", place.origin(), place.base_path()))
        .unwrap_or_default()
}

fn save(file: &std::path::Path, text: &[u8]) -> std::io::Result<()> {
    // Written to a draft and renamed, so that a crash leaves no incomplete file.
    let draft = file.with_extension("new");
    std::fs::write(&draft, text)?;
    std::fs::rename(draft, file)
}

/// Lists the models of a provider; the error is a reason for the operator.
pub async fn ask(instance: &Instance, egress: &Egress) -> Result<Vec<Model>, String> {
    let Some((destination, path)) = instance.discovery.clone()? else { return Ok(Vec::new()) };
    let request = InstanceRequest {
        destination,
        method: Method::GET,
        path_and_query: path,
        accept: Accept::Document,
        body: Vec::new().into(),
        client_credential: None,
    };
    let request = instance.core.outbound(request, |headers| headers);
    let answer = async {
        let answer = egress.send(request).await.map_err(|error| error.reason().to_owned())?;
        if !answer.status.is_success() {
            return Err(refusal(instance, answer).await);
        }
        let body = answer.body.collect(SIZE_LIMIT).await;
        let body = body.and_then(|body| content_encoding::decode(&answer.headers, body, SIZE_LIMIT));
        body.map_err(|error| error.reason().to_owned())
    };
    let body = tokio::time::timeout(TIME_LIMIT, answer)
        .await
        .map_err(|_| "it did not answer in time".to_owned())??;
    let found = vendors::read_models(instance.core.vendor.discovery, &body).map_err(|fault| fault.message)?;
    let mut models: Vec<Model> = found
        .into_iter()
        .filter(|model| !model.id.is_empty() && model.id.len() <= 300)
        .map(|model| Model { id: model.id, created: model.created, owned_by: model.owned_by })
        .collect();
    models.sort_by(|a, b| a.id.cmp(&b.id));
    models.dedup_by(|a, b| a.id == b.id);
    Ok(models)
}

/// The status and the provider's own reason, without its credential.
async fn refusal(instance: &Instance, answer: Inbound) -> String {
    let status = answer.status;
    let body = answer.body.collect(ERROR_LIMIT).await.unwrap_or_default();
    let codec = formats::upstream(instance.core.vendor.format);
    let mut fault = codec.read_error(status.as_u16(), &body, instance.name());
    Scrubber::of(&[], std::iter::once(&instance.provider)).scrub(&mut fault);
    match fault.is_upstream_auth_failure() {
        true => fault.message,
        false => format!("it answered {status}: {}", fault.message),
    }
}

/// Whether the models of an instance can be listed.
pub fn is_discoverable(instance: &Instance) -> bool {
    instance.provider.enabled
        && instance.core.destination.is_ok()
        && !matches!(instance.core.vendor.discovery, Discovery::None)
}
