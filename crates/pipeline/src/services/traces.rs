//! Traces: a server span per call and a client span per attempt, exported in batches as OTLP over HTTP.

mod attributes;
mod call;
mod context;
mod resource;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::receipt::Receipt;
use egress::{Destination, Egress, Outbound};
use http::{HeaderMap, HeaderValue, Method};
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub use call::CallTrace;
pub use context::{TraceHeaders, context, headers, is_recorded, new_span_id};
pub use resource::{Resource, parse_headers, parse_list};

/// The most calls whose spans wait for export.
const QUEUE: usize = 4096;
const BATCH: usize = 256;
const PAUSE: Duration = Duration::from_secs(2);

/// The exporter. Spans are best-effort: if the collector is slow or down, they are dropped and counted.
pub struct Traces {
    queue: mpsc::Sender<Vec<Value>>,
    pub dropped: Counter,
}

/// The collector that spans are exported to, and their resource.
pub struct Collector {
    pub destination: Arc<Destination>,
    /// Extra headers from `OTEL_EXPORTER_OTLP_HEADERS`.
    pub headers: HeaderMap,
    pub resource: Resource,
}

impl Traces {
    pub fn export(&self, receipt: &Receipt, trace: &CallTrace) {
        let spans = spans::spans(receipt, trace);
        let count = spans.len() as u64;
        // Never waits: settlement must not depend on the collector.
        if self.queue.try_send(spans).is_err() {
            self.dropped.inc_by(count);
        }
    }
}

/// The exporter and the task that sends its spans. The task ends when the exporter is dropped.
pub fn exporter(egress: Egress, collector: Collector) -> (Traces, impl Future<Output = ()>) {
    let (queue, mut calls) = mpsc::channel(QUEUE);
    let dropped = Counter::default();
    let lost = dropped.clone();
    let send = async move {
        let mut batch: Vec<Vec<Value>> = Vec::with_capacity(BATCH);
        loop {
            let taken = calls.recv_many(&mut batch, BATCH).await;
            if taken == 0 {
                return;
            }
            let spans: Vec<Value> = batch.drain(..).flatten().collect();
            let count = spans.len() as u64;
            if let Err(reason) = post(&egress, &collector, spans).await {
                lost.inc_by(count);
                tracing::warn!(reason, spans = count, "trace export failed; spans dropped");
            }
            // Wait for more spans, unless a full batch was taken and more may be queued.
            if taken < BATCH {
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    (Traces { queue, dropped }, send)
}

async fn post(egress: &Egress, collector: &Collector, spans: Vec<Value>) -> Result<(), String> {
    let mut headers = collector.headers.clone();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let request = Outbound {
        destination: collector.destination.clone(),
        method: Method::POST,
        path_and_query: "/v1/traces".into(),
        headers: headers.into(),
        body: vec![Bytes::from(envelope(&collector.resource, spans).to_string())].into(),
    };
    let sent = tokio::time::timeout(Duration::from_secs(10), egress.send(request)).await;
    match sent {
        Err(_) => Err("the collector did not answer in time".into()),
        Ok(Err(error)) => Err(error.reason().to_owned()),
        Ok(Ok(answer)) if answer.status.is_success() => {
            let _ = answer.body.collect(64 * 1024).await;
            Ok(())
        }
        Ok(Ok(answer)) => Err(format!("the collector answered {}", answer.status)),
    }
}

fn envelope(resource: &Resource, spans: Vec<Value>) -> Value {
    json!({"resourceSpans": [{
        "resource": resource.to_json(),
        "scopeSpans": [{"scope": {"name": "gatehouse", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}
