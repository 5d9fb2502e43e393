//! Entries in Qdrant, by its REST API: a collection for each dimension of vectors, whose points have the entries as payload.

mod payload;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::secret::Secret;
use egress::{Destination, Egress, Outbound, Trust};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use store::{NearestEntry, SemanticPurge, SemanticRow};

use payload::{ids_filter, partition_filter, point, point_id, purge_filter, read_nearest, read_row};

const API_KEY: HeaderName = HeaderName::from_static("api-key");
/// The largest answer that is read: a few entries with their answers in base64.
const LONGEST: usize = 16 << 20;
/// Members of points that searches are filtered by, and their types.
const INDEXED: [(&str, &str); 6] = [
    ("partition", "keyword"),
    ("embedder", "keyword"),
    ("tenant_id", "keyword"),
    ("paths", "keyword"),
    ("model", "keyword"),
    ("expires_at", "integer"),
];

/// The address of Qdrant.
#[derive(Clone, Debug)]
pub struct QdrantConfig {
    pub url: String,
    pub api_key: Option<Secret>,
    /// The prefix of the names of collections.
    pub collection: String,
}

/// A client of Qdrant.
pub struct Qdrant {
    egress: Egress,
    destination: Arc<Destination>,
    headers: HeaderMap,
    collection: String,
    /// The collections that are known to exist.
    known: Mutex<HashSet<String>>,
}

impl Qdrant {
    /// Fails if the address or the key cannot be used. Nothing is sent.
    pub fn new(egress: Egress, config: QdrantConfig) -> Result<Self, String> {
        let QdrantConfig { url, api_key, collection } = config;
        let destination = egress.destination(url.trim_end_matches('/'), Trust::Operator);
        let destination =
            destination.map_err(|error| format!("the address of Qdrant: {}", error.reason()))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(key) = api_key {
            let value = HeaderValue::try_from(key.reveal());
            let mut value = value.map_err(|_| "the API key of Qdrant is not valid in a header".to_owned())?;
            value.set_sensitive(true);
            headers.insert(API_KEY, value);
        }
        Ok(Self { egress, destination, headers, collection, known: Mutex::default() })
    }

    /// The entries of a partition whose vectors are nearest, best first.
    pub async fn nearest(
        &self,
        partition: &str,
        embedder: &str,
        vector: &[f32],
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<NearestEntry>, String> {
        let query = json!({
            "query": vector,
            "filter": partition_filter(partition, embedder, at),
            "limit": limit,
            "with_payload": ["id", "prompt", "min_score"],
        });
        let path = format!("/collections/{}/points/query", self.name(vector.len()));
        let found = self.ask(Method::POST, &path, Some(&query)).await?;
        // Without a collection there is no entry.
        Ok(found.map(|found| read_nearest(&found)).unwrap_or_default())
    }

    /// The entry with an id.
    pub async fn find(&self, id: &str, dimensions: usize) -> Result<Option<SemanticRow>, String> {
        let path = format!("/collections/{}/points", self.name(dimensions));
        let query = json!({"ids": [point_id(id)], "with_payload": true, "with_vector": false});
        let found = self.ask(Method::POST, &path, Some(&query)).await?;
        Ok(found.and_then(|found| read_row(found.get("result")?.get(0)?.get("payload")?)))
    }

    /// Adds or replaces an entry.
    pub async fn put(&self, row: &SemanticRow) -> Result<(), String> {
        let name = self.name(row.vector.len());
        self.ensure(&name, row.vector.len()).await?;
        let points = json!({"points": [point(row)]});
        let path = format!("/collections/{name}/points?wait=true");
        if self.ask(Method::PUT, &path, Some(&points)).await?.is_none() {
            // The collection was deleted: the next entry makes it again.
            self.known.lock().remove(&name);
            return Err(format!("the collection '{name}' does not exist any more"));
        }
        Ok(())
    }

    /// Sets the lowest score of an entry, unless it does not exist.
    pub async fn raise_min_score(&self, id: &str, dimensions: usize, min_score: i64) -> Result<(), String> {
        let path = format!("/collections/{}/points/payload?wait=true", self.name(dimensions));
        // By a filter, which an entry that was removed does not match.
        let change = json!({"payload": {"min_score": min_score}, "filter": ids_filter(id)});
        self.ask(Method::POST, &path, Some(&change)).await.map(drop)
    }

    /// Removes an entry.
    pub async fn remove(&self, id: &str, dimensions: usize) -> Result<(), String> {
        let path = format!("/collections/{}/points/delete?wait=true", self.name(dimensions));
        self.ask(Method::POST, &path, Some(&json!({"filter": ids_filter(id)}))).await.map(drop)
    }

    /// Removes entries; returns how many.
    pub async fn purge(&self, purge: &SemanticPurge) -> Result<u64, String> {
        self.delete(&purge_filter(purge)).await
    }

    /// Deletes expired entries; returns the number of the others.
    pub async fn expire_and_count(&self, at: Timestamp) -> Result<u64, String> {
        self.delete(&json!({"must": [{"key": "expires_at", "range": {"lte": at.micros()}}]})).await?;
        let mut count = 0;
        for name in self.collections().await? {
            count += self.count(&name, &json!({})).await?;
        }
        Ok(count)
    }

    async fn delete(&self, filter: &Value) -> Result<u64, String> {
        let mut deleted = 0;
        for name in self.collections().await? {
            deleted += self.count(&name, filter).await?;
            let path = format!("/collections/{name}/points/delete?wait=true");
            self.ask(Method::POST, &path, Some(&json!({"filter": filter}))).await?;
        }
        Ok(deleted)
    }

    async fn count(&self, name: &str, filter: &Value) -> Result<u64, String> {
        let path = format!("/collections/{name}/points/count");
        let counted = self.ask(Method::POST, &path, Some(&json!({"filter": filter, "exact": true}))).await?;
        let count = counted.as_ref().and_then(|counted| counted.pointer("/result/count")?.as_u64());
        Ok(count.unwrap_or(0))
    }

    /// The name of the collection for vectors with this many dimensions.
    fn name(&self, dimensions: usize) -> String {
        format!("{}_{dimensions}", self.collection)
    }

    /// The names of all collections of this gateway.
    async fn collections(&self) -> Result<Vec<String>, String> {
        let listed = self.ask(Method::GET, "/collections", None).await?.unwrap_or_default();
        let collections = listed.pointer("/result/collections").and_then(Value::as_array);
        let names =
            collections.into_iter().flatten().filter_map(|collection| collection.get("name")?.as_str());
        let is_own = |name: &&str| {
            let dimensions = name.strip_prefix(&self.collection).and_then(|rest| rest.strip_prefix('_'));
            dimensions.is_some_and(|dimensions| dimensions.parse::<usize>().is_ok())
        };
        Ok(names.filter(is_own).map(str::to_owned).collect())
    }

    /// Creates a collection and its indexes, as far as they do not exist.
    async fn ensure(&self, name: &str, dimensions: usize) -> Result<(), String> {
        if self.known.lock().contains(name) {
            return Ok(());
        }
        let path = format!("/collections/{name}");
        let is_new = self.ask(Method::GET, &path, None).await?.is_none();
        if is_new {
            let vectors = json!({"vectors": {"size": dimensions, "distance": "Cosine"}});
            if let Err(reason) = self.ask(Method::PUT, &path, Some(&vectors)).await {
                // Another process may have created it at the same time.
                if self.ask(Method::GET, &path, None).await?.is_none() {
                    return Err(reason);
                }
            }
        }
        // An index of many entries takes long, and is not waited for.
        let path = format!("{path}/index?wait={is_new}");
        for (field, schema) in INDEXED {
            let index = json!({"field_name": field, "field_schema": schema});
            self.ask(Method::PUT, &path, Some(&index)).await?;
        }
        self.known.lock().insert(name.to_owned());
        Ok(())
    }

    /// Sends a request; the result is its document, or `None` for 404.
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Option<Value>, String> {
        let body = body.map(|body| Bytes::from(body.to_string()));
        let request = Outbound {
            destination: self.destination.clone(),
            method,
            path_and_query: path.to_owned(),
            headers: self.headers.clone().into(),
            body: body.map_or_else(Vec::new, |body| vec![body]).into(),
        };
        let answer = self.egress.send(request).await.map_err(|error| error.reason().to_owned())?;
        let status = answer.status;
        let body = answer.body.collect(LONGEST).await.map_err(|error| error.reason().to_owned())?;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            // The document of an error may repeat parts of the request.
            _ if !status.is_success() => Err(format!("Qdrant returned HTTP {}", status.as_u16())),
            _ => serde_json::from_slice(&body)
                .map(Some)
                .map_err(|_| "the answer of Qdrant is not JSON".to_owned()),
        }
    }
}
