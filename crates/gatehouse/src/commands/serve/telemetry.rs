//! Builds the trace collector from the settings.

use std::sync::Arc;

use egress::Destination;
use pipeline::services::traces::{self, Collector, Resource};

use crate::settings::TelemetrySettings;

/// Builds the trace collector. Its lists were validated when the settings were read.
pub fn collector(telemetry: &TelemetrySettings, destination: Arc<Destination>) -> Collector {
    let headers = telemetry.otlp_headers.as_ref().and_then(|list| traces::parse_headers(list.reveal()));
    let attributes = telemetry.resource_attributes.as_deref().and_then(traces::parse_list);
    let resource =
        Resource { service_name: telemetry.service_name.clone(), attributes: attributes.unwrap_or_default() };
    Collector { destination, headers: headers.unwrap_or_default(), resource }
}
