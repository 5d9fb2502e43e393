//! Operations on existing responses: retrieve, list input items, cancel and delete, by the owner or an admin.

use std::sync::Arc;

use bytes::Bytes;
use domain::call::{Format, Surface};
use domain::fault::{self, Fault, FaultCode};
use domain::principal::Principal;
use domain::scope::Action;
use http::Method;
use serde_json::{Value, json};
use store::{Found, Owner, StoredResponse};
use wire::codec::Served;
use wire::formats;
use wire::vendors::Lifecycle;
use wire::{json, splice};

use super::{reaches_all, visible_to};
use crate::accounting::stored_response::renew;
use crate::dispatch::provider_request::{self, ProviderRequest};
use crate::gateway::Gateway;
use crate::routing::routes::{Instance, InstanceConfig};
use crate::snapshot::Snapshot;

/// A request for a response: the caller, the id, and the provider named for a response that is not stored here.
pub struct ResponseLookup<'a> {
    pub gateway: &'a Arc<Gateway>,
    pub snapshot: &'a Snapshot,
    pub principal: &'a Principal,
    pub owner: Owner,
    pub id: &'a str,
    pub provider: Option<&'a str>,
}

/// The location of a response.
enum ResponseLocation {
    Here(Box<StoredResponse>),
    /// Only a provider stores it.
    There(Arc<Instance>),
}

impl ResponseLookup<'_> {
    /// Retrieves a response as it was answered. A pending one is retrieved from its provider again.
    pub async fn retrieve(&self) -> Result<Bytes, Fault> {
        match self.locate().await? {
            ResponseLocation::There(instance) => {
                self.native(&instance, Lifecycle::Retrieve, Method::GET, "").await
            }
            ResponseLocation::Here(stored) if is_pending(&stored.body) => {
                let Some(instance) = self.keeper(&stored, Lifecycle::Retrieve) else {
                    return Ok(stored.body);
                };
                let body = self.native(&instance, Lifecycle::Retrieve, Method::GET, "").await?;
                renew(self.gateway, self.id, &body).await?;
                Ok(body)
            }
            ResponseLocation::Here(stored) => Ok(stored.body),
        }
    }

    /// Deletes the response here; deletion at the provider is attempted in the background.
    pub async fn delete(&self) -> Result<Value, Fault> {
        let deleted = json!({"id": self.id, "object": "response", "deleted": true});
        let responses = &self.gateway.responses;
        match responses
            .find_owned(self.id, visible_to(self.principal, &self.owner, Action::Write).as_ref())
            .await?
        {
            Found::Yours(stored) => {
                responses.delete(self.id).await?;
                if let Some(instance) = self.keeper(&stored, Lifecycle::Delete) {
                    let (gateway, id) = (self.gateway.clone(), self.id.to_owned());
                    self.gateway.tasks.spawn(async move { delete_upstream(&gateway, &instance, &id).await });
                }
                Ok(deleted)
            }
            Found::NotYours => Err(self.not_found()),
            Found::Unknown => {
                let instance = self.named_provider(Action::Write)?;
                self.native(&instance, Lifecycle::Delete, Method::DELETE, "").await?;
                Ok(deleted)
            }
        }
    }

    /// The input items as they were sent.
    pub async fn input_items(&self, query: Option<&str>) -> Result<Items, Fault> {
        match self.locate().await? {
            ResponseLocation::Here(stored) => Ok(Items::Kept(stored.input)),
            ResponseLocation::There(instance) => {
                let rest =
                    format!("/input_items{}", query.map(|query| format!("?{query}")).unwrap_or_default());
                self.native(&instance, Lifecycle::InputItems, Method::GET, &rest).await.map(Items::Native)
            }
        }
    }

    pub async fn cancel(&self) -> Result<Bytes, Fault> {
        let responses = &self.gateway.responses;
        match responses
            .find_owned(self.id, visible_to(self.principal, &self.owner, Action::Write).as_ref())
            .await?
        {
            Found::NotYours => Err(self.not_found()),
            Found::Unknown => {
                let instance = self.named_provider(Action::Write)?;
                self.native(&instance, Lifecycle::Cancel, Method::POST, "/cancel").await
            }
            Found::Yours(stored) => {
                let Some(instance) = self.keeper(&stored, Lifecycle::Cancel) else {
                    return Err(unsupported(Lifecycle::Cancel, &stored.provider));
                };
                let body = self.native(&instance, Lifecycle::Cancel, Method::POST, "/cancel").await?;
                renew(self.gateway, self.id, &body).await?;
                Ok(body)
            }
        }
    }

    async fn locate(&self) -> Result<ResponseLocation, Fault> {
        let responses = &self.gateway.responses;
        match responses
            .find_owned(self.id, visible_to(self.principal, &self.owner, Action::Read).as_ref())
            .await?
        {
            Found::Yours(stored) if stored.retrievable => Ok(ResponseLocation::Here(Box::new(stored))),
            // A streamed response is stored only by its provider, if at all; its owner may retrieve it there.
            Found::Yours(stored) if self.provider.is_some() && stored.usable => {
                let named = self.instance(self.provider.unwrap_or_default())?;
                let keeper =
                    self.keeper(&stored, Lifecycle::Retrieve).filter(|keeper| keeper.name() == named.name());
                keeper.map(ResponseLocation::There).ok_or_else(|| self.not_found())
            }
            Found::Yours(_) | Found::NotYours => Err(self.not_found()),
            Found::Unknown => self.named_provider(Action::Read).map(ResponseLocation::There),
        }
    }

    /// The provider that the request names, for an id without a record; only for callers with access to all responses.
    fn named_provider(&self, action: Action) -> Result<Arc<Instance>, Fault> {
        match self.provider {
            Some(provider) if reaches_all(self.principal, action) => self.instance(provider),
            _ => Err(self.not_found()),
        }
    }

    fn instance(&self, name: &str) -> Result<Arc<Instance>, Fault> {
        let instances = self.snapshot.routes.instances_named(name);
        instances.into_iter().next().ok_or_else(|| fault::provider_not_found(name).param("provider"))
    }

    /// The provider that created the response, if it stores it under the same id and supports this operation.
    fn keeper(&self, stored: &StoredResponse, operation: Lifecycle) -> Option<Arc<Instance>> {
        let instance = self.snapshot.routes.instances.get(&stored.provider)?;
        let able =
            !stored.upstream_id.is_empty() && instance.core.vendor.paths.lifecycle.contains(&operation);
        able.then(|| instance.clone())
    }

    async fn native(
        &self,
        instance: &Instance,
        operation: Lifecycle,
        method: Method,
        rest: &str,
    ) -> Result<Bytes, Fault> {
        let place = (instance.name(), &*instance.core);
        let body = native(self.gateway, place, operation, method, self.id, rest).await?;
        Ok(named_after(instance.name(), body))
    }

    fn not_found(&self) -> Fault {
        let shown: String = self.id.chars().take(80).collect();
        fault::not_found(format!("The response '{shown}' was not found."))
    }
}

/// Input items stored here, or the provider's own list.
pub enum Items {
    /// A JSON array of the items as they were sent.
    Kept(Bytes),
    Native(Bytes),
}

pub(super) async fn native(
    gateway: &Gateway,
    (instance, core): (&str, &InstanceConfig),
    operation: Lifecycle,
    method: Method,
    id: &str,
    rest: &str,
) -> Result<Bytes, Fault> {
    let paths = &core.vendor.paths;
    let Some(base) = paths.responses.filter(|_| paths.lifecycle.contains(&operation)) else {
        return Err(unsupported(operation, instance));
    };
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
        return Err(fault::not_found("The response was not found."));
    }
    let path = core.fill(&format!("{base}/{id}{rest}"), "");
    let request = ProviderRequest { method, path, format: Format::Responses, ..ProviderRequest::post() };
    provider_request::send(gateway, instance, core, request).await
}

async fn delete_upstream(gateway: &Gateway, instance: &Instance, id: &str) {
    if let Err(fault) =
        native(gateway, (instance.name(), &instance.core), Lifecycle::Delete, Method::DELETE, id, "").await
    {
        tracing::info!(provider = instance.name(), reason = %fault, "upstream deletion of response failed");
    }
}

pub fn unsupported(operation: Lifecycle, provider: &str) -> Fault {
    let title = format!("response {}", operation.title());
    fault::unsupported(FaultCode::UnsupportedResponseOperation, &title, provider)
}

/// Writes the model as `provider/model`, like the answer at creation.
pub(super) fn named_after(instance: &str, body: Bytes) -> Bytes {
    let native = formats::native(Surface::Converse(Format::Responses));
    let Ok(answer) = native.read_answer(&body) else { return body };
    let model = answer.object.value(&body, "model").and_then(|range| json::string_at(&body, &range));
    let Some(model) = model else { return body };
    let served = Served { provider: instance, model: &model, requested_model: "", latency_ms: 0 };
    splice::concat(&native.splice_answer(&body, &answer, &served))
}

pub(super) fn is_pending(body: &[u8]) -> bool {
    json::scan(body).is_ok_and(|object| is_pending_object(body, &object))
}

/// As [`is_pending`], for a body that is already scanned.
pub(super) fn is_pending_object(body: &[u8], object: &json::Object) -> bool {
    let status = object.value(body, "status").map(|range| &body[range]);
    matches!(status, Some(b"\"queued\"" | b"\"in_progress\""))
}
