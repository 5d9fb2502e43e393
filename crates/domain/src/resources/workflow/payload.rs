//! The policies in a workflow.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::fault::{self, Fault};
use crate::strategy::Strategy;

/// The version of the payload's format.
const SCHEMA_VERSION: u32 = 1;
const MAX_TIMEOUT_MS: u64 = 24 * 3600 * 1000;
const MAX_RETRIES: u32 = 10;
const MAX_GUARDRAILS: usize = 50;
const MAX_STEP: u32 = 100;
const MAX_CACHE_TTL: u64 = 30 * 24 * 3600;

/// The policies of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowPayload {
    /// The version of the format: always 1.
    #[serde(default = "schema_version")]
    pub schema_version: u32,
    #[serde(default)]
    pub features: WorkflowFeatures,
    /// The guardrails of calls, by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guardrails: Vec<GuardrailStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingOptions>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheOptions>,
}

fn schema_version() -> u32 {
    SCHEMA_VERSION
}

impl Default for WorkflowPayload {
    fn default() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            features: WorkflowFeatures::default(),
            guardrails: Vec::new(),
            routing: None,
            cache: None,
        }
    }
}

/// The features that calls use. One that is off for the whole gateway stays off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkflowFeatures {
    /// Answers come from the response cache and are added to it.
    pub cache: bool,
    /// Calls are in the audit log.
    pub audit: bool,
    /// Calls are in the usage log and its sums. Without it, budgets are off as well: they are computed from these sums.
    pub usage: bool,
    /// Budgets can refuse calls. The cost of calls counts in any case.
    pub budget: bool,
    /// The guardrails of the workflow inspect calls.
    pub guardrails: bool,
    /// Calls that failed at their first target are sent to others.
    pub fallback: bool,
}

impl Default for WorkflowFeatures {
    fn default() -> Self {
        Self { cache: true, audit: true, usage: true, budget: true, guardrails: true, fallback: true }
    }
}

impl WorkflowFeatures {
    /// The features of the gateway that a workflow leaves on.
    pub fn restricted_by(self, workflow: Self) -> Self {
        Self {
            cache: self.cache && workflow.cache,
            audit: self.audit && workflow.audit,
            usage: self.usage && workflow.usage,
            budget: self.budget && workflow.budget && workflow.usage,
            guardrails: self.guardrails && workflow.guardrails,
            fallback: self.fallback && workflow.fallback,
        }
    }
}

/// A guardrail at a step. The guardrails of a step inspect the same text; those of the next step inspect the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct GuardrailStep {
    /// The name of the guardrail.
    #[serde(rename = "ref")]
    pub reference: String,
    /// From 1 on; a bare name has the step 1.
    pub step: u32,
}

impl<'de> Deserialize<'de> for GuardrailStep {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Members {
            #[serde(rename = "ref")]
            reference: String,
            #[serde(default = "first_step")]
            step: u32,
        }
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a guardrail is its name, or an object with 'ref' and 'step'")]
        enum Written {
            Name(String),
            Members(Members),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Name(reference) => Self { reference, step: first_step() },
            Written::Members(Members { reference, step }) => Self { reference, step },
        })
    }
}

fn first_step() -> u32 {
    1
}

/// Options for choosing targets. A missing one leaves the setting of the gateway or the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoutingOptions {
    /// The strategy of the pool or combo that the call names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The time for an answer, all attempts included, in milliseconds; of a stream, until its first content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Retries at a target that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// Options of the response cache. A missing one leaves the setting of the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheOptions {
    /// The lifetime of the answers that calls add to the cache, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// The lowest similarity of requests that get each other's answers from the semantic cache, above 0 and up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_threshold: Option<f64>,
}

impl WorkflowPayload {
    pub(super) fn validate(&self) -> Result<(), Fault> {
        if self.schema_version != SCHEMA_VERSION {
            let message = format!("This gateway knows schema_version {SCHEMA_VERSION}.");
            return Err(fault::invalid_parameter("workflow_payload.schema_version", message));
        }
        self.validate_guardrails()?;
        let ttl = self.cache.and_then(|cache| cache.ttl_seconds);
        if ttl.is_some_and(|ttl| !(1..=MAX_CACHE_TTL).contains(&ttl)) {
            let message = format!("Answers are cached for 1 to {MAX_CACHE_TTL} seconds.");
            return Err(fault::invalid_parameter("workflow_payload.cache.ttl_seconds", message));
        }
        let threshold = self.cache.and_then(|cache| cache.semantic_threshold);
        if threshold.is_some_and(|threshold| !(threshold > 0.0 && threshold <= 1.0)) {
            let message = "A threshold is a number above 0 and up to 1.";
            return Err(fault::invalid_parameter("workflow_payload.cache.semantic_threshold", message));
        }
        let Some(routing) = &self.routing else { return Ok(()) };
        if routing.timeout_ms.is_some_and(|timeout| !(1..=MAX_TIMEOUT_MS).contains(&timeout)) {
            let message = format!("A timeout is 1 to {MAX_TIMEOUT_MS} milliseconds.");
            return Err(fault::invalid_parameter("workflow_payload.routing.timeout_ms", message));
        }
        if routing.retries.is_some_and(|retries| retries > MAX_RETRIES) {
            let message = format!("There are at most {MAX_RETRIES} retries.");
            return Err(fault::invalid_parameter("workflow_payload.routing.retries", message));
        }
        Ok(())
    }

    fn validate_guardrails(&self) -> Result<(), Fault> {
        if self.guardrails.len() > MAX_GUARDRAILS {
            let message = format!("A workflow has at most {MAX_GUARDRAILS} guardrails.");
            return Err(fault::invalid_parameter("workflow_payload.guardrails", message));
        }
        for (index, GuardrailStep { reference, step }) in self.guardrails.iter().enumerate() {
            let param = |member: &str| format!("workflow_payload.guardrails[{index}].{member}");
            if self.guardrails[..index].iter().any(|earlier| earlier.reference == *reference) {
                let message = format!("'{reference}' is named twice.");
                return Err(fault::invalid_parameter(param("ref"), message));
            }
            if !(1..=MAX_STEP).contains(step) {
                let message = format!("A step is 1 to {MAX_STEP}.");
                return Err(fault::invalid_parameter(param("step"), message));
            }
        }
        Ok(())
    }
}
