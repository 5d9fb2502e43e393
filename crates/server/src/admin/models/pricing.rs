//! A price as it is shown: decimal US dollars, and only what is known.

use domain::model::{Price, Tier};
use domain::money::{Nanos, Rate};
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub struct PricingView {
    pub currency: &'static str,
    pub input_per_mtok: f64,
    pub output_per_mtok: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_output_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_input_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_output_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_input_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_output_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_request: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<TierView>,
}

/// Rates above a number of input tokens.
#[derive(Serialize, ToSchema)]
pub struct TierView {
    pub above_tokens: u64,
    pub input_per_mtok: f64,
    pub output_per_mtok: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
}

pub fn show(price: &Price) -> PricingView {
    let rate = |rate: Option<Rate>| rate.map(Rate::usd_per_mtok);
    let tier = |tier: &Tier| TierView {
        above_tokens: tier.above_tokens,
        input_per_mtok: tier.input.usd_per_mtok(),
        output_per_mtok: tier.output.usd_per_mtok(),
        cached_input_per_mtok: rate(tier.cache_read),
    };
    PricingView {
        currency: "USD",
        input_per_mtok: price.input.usd_per_mtok(),
        output_per_mtok: price.output.usd_per_mtok(),
        cached_input_per_mtok: rate(price.cache_read),
        cache_write_per_mtok: rate(price.cache_write_5m),
        cache_write_1h_per_mtok: rate(price.cache_write_1h),
        reasoning_output_per_mtok: rate(price.reasoning),
        batch_input_per_mtok: rate(price.batch_input),
        batch_output_per_mtok: rate(price.batch_output),
        audio_input_per_mtok: rate(price.audio_input),
        audio_output_per_mtok: rate(price.audio_output),
        per_request: price.per_request.map(|flat| Nanos(flat).usd()),
        tiers: price.tiers.iter().map(tier).collect(),
    }
}
