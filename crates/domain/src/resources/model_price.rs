//! Model prices in decimal US dollars, with optional fields: the operator's own prices, and the form in which any price
//! is shown.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Resource, selector_fits};
use crate::fault::{self, Fault};
use crate::model::{Price, Tier};
use crate::money::{Nanos, Rate};

/// A model price. As a stored document, the fields that are set replace those of the catalogue price; the others keep
/// the catalogue's values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelPrice {
    /// `provider/model`, where the provider is an instance or a type.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector: String,
    pub currency: Currency,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_per_mtok: Option<f64>,
    /// Defaults to `input_per_mtok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
    /// For the five-minute cache lifetime. Defaults to `input_per_mtok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_per_mtok: Option<f64>,
    /// For the one-hour cache lifetime. Defaults to `cache_write_per_mtok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h_per_mtok: Option<f64>,
    /// Defaults to `output_per_mtok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_output_per_mtok: Option<f64>,
    /// For all input of a batch. Without it, a batch is charged the regular rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_input_per_mtok: Option<f64>,
    /// For all output of a batch. Without it, a batch is charged the regular rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_output_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_input_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_output_per_mtok: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_image: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_request: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second_input: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_character_input: Option<f64>,
    /// Absent: the tiers of the catalogue. Empty: no tiers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Vec<TierPrice>>,
}

/// The currency of a price; always US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Currency {
    #[default]
    #[serde(rename = "USD")]
    Usd,
}

/// Rates for calls with more than `above_tokens` input tokens; absent rates are those of the base price.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TierPrice {
    pub above_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_per_mtok: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_per_mtok: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<f64>,
}

/// Upper bound of every amount, in US dollars.
const MOST: f64 = 1_000_000.0;
const MOST_TIERS: usize = 20;

impl Resource for ModelPrice {
    const KIND: &'static str = "model_price";

    fn name(&self) -> &str {
        &self.selector
    }

    fn validate(&self) -> Result<(), Fault> {
        let refused = |message: &str| Err(fault::invalid_parameter("selector", message));
        selector_fits("selector", &self.selector)?;
        if !self.selector.contains('/') {
            return refused("A price is for a 'provider/model'.");
        }
        if self.selector.contains('*') {
            return refused("A price is for one model: '*' is no pattern here.");
        }
        for (field, amount) in self.amounts() {
            amount_fits(field, amount)?;
        }
        if self.amounts().iter().all(|(_, amount)| amount.is_none()) && self.tiers.is_none() {
            let message = "A price names at least one amount, such as 'input_per_mtok'.";
            return Err(fault::invalid_parameter("input_per_mtok", message));
        }
        tiers_fit(self.tiers.as_deref().unwrap_or_default())
    }
}

impl ModelPrice {
    /// All amounts with their field names, without those of the tiers.
    pub fn amounts(&self) -> [(&'static str, Option<f64>); 14] {
        [
            ("input_per_mtok", self.input_per_mtok),
            ("output_per_mtok", self.output_per_mtok),
            ("cached_input_per_mtok", self.cached_input_per_mtok),
            ("cache_write_per_mtok", self.cache_write_per_mtok),
            ("cache_write_1h_per_mtok", self.cache_write_1h_per_mtok),
            ("reasoning_output_per_mtok", self.reasoning_output_per_mtok),
            ("batch_input_per_mtok", self.batch_input_per_mtok),
            ("batch_output_per_mtok", self.batch_output_per_mtok),
            ("audio_input_per_mtok", self.audio_input_per_mtok),
            ("audio_output_per_mtok", self.audio_output_per_mtok),
            ("per_image", self.per_image),
            ("per_request", self.per_request),
            ("per_second_input", self.per_second_input),
            ("per_character_input", self.per_character_input),
        ]
    }

    /// True if the price can be used without a base price.
    pub fn is_complete(&self) -> bool {
        let flat = [self.per_image, self.per_request, self.per_second_input, self.per_character_input];
        (self.input_per_mtok.is_some() && self.output_per_mtok.is_some()) || flat.iter().any(Option::is_some)
    }

    /// This price applied on top of a base price; `None` if the result would be incomplete.
    pub fn over(&self, base: Option<&Price>) -> Option<Price> {
        let mut price = match base {
            Some(base) => base.clone(),
            None if self.is_complete() => Price::default(),
            None => return None,
        };
        price.input = rate(self.input_per_mtok).unwrap_or(price.input);
        price.output = rate(self.output_per_mtok).unwrap_or(price.output);
        let rates = [
            (&mut price.cache_read, self.cached_input_per_mtok),
            (&mut price.cache_write_5m, self.cache_write_per_mtok),
            (&mut price.cache_write_1h, self.cache_write_1h_per_mtok),
            (&mut price.reasoning, self.reasoning_output_per_mtok),
            (&mut price.batch_input, self.batch_input_per_mtok),
            (&mut price.batch_output, self.batch_output_per_mtok),
            (&mut price.audio_input, self.audio_input_per_mtok),
            (&mut price.audio_output, self.audio_output_per_mtok),
        ];
        for (place, own) in rates {
            *place = rate(own).or(*place);
        }
        let flat = [
            (&mut price.per_image, self.per_image),
            (&mut price.per_request, self.per_request),
            (&mut price.per_second_input, self.per_second_input),
            (&mut price.per_character_input, self.per_character_input),
        ];
        for (place, own) in flat {
            *place = nanos(own).or(*place);
        }
        if let Some(tiers) = &self.tiers {
            price.tiers = tiers.iter().map(|tier| tier.over(&price)).collect();
        }
        Some(price)
    }
}

impl TierPrice {
    fn over(&self, price: &Price) -> Tier {
        Tier {
            above_tokens: self.above_tokens,
            input: rate(self.input_per_mtok).unwrap_or(price.input),
            output: rate(self.output_per_mtok).unwrap_or(price.output),
            cache_read: rate(self.cached_input_per_mtok),
        }
    }
}

impl From<&Price> for ModelPrice {
    fn from(price: &Price) -> Self {
        let rate = |rate: Option<Rate>| rate.map(Rate::usd_per_mtok);
        let flat = |nanos: Option<i64>| nanos.map(|nanos| Nanos(nanos).usd());
        let tiers: Vec<TierPrice> = price.tiers.iter().map(TierPrice::from).collect();
        Self {
            selector: String::new(),
            currency: Currency::Usd,
            input_per_mtok: rate(Some(price.input)),
            output_per_mtok: rate(Some(price.output)),
            cached_input_per_mtok: rate(price.cache_read),
            cache_write_per_mtok: rate(price.cache_write_5m),
            cache_write_1h_per_mtok: rate(price.cache_write_1h),
            reasoning_output_per_mtok: rate(price.reasoning),
            batch_input_per_mtok: rate(price.batch_input),
            batch_output_per_mtok: rate(price.batch_output),
            audio_input_per_mtok: rate(price.audio_input),
            audio_output_per_mtok: rate(price.audio_output),
            per_image: flat(price.per_image),
            per_request: flat(price.per_request),
            per_second_input: flat(price.per_second_input),
            per_character_input: flat(price.per_character_input),
            tiers: Some(tiers).filter(|tiers| !tiers.is_empty()),
        }
    }
}

impl From<&Tier> for TierPrice {
    fn from(tier: &Tier) -> Self {
        Self {
            above_tokens: tier.above_tokens,
            input_per_mtok: Some(tier.input.usd_per_mtok()),
            output_per_mtok: Some(tier.output.usd_per_mtok()),
            cached_input_per_mtok: tier.cache_read.map(Rate::usd_per_mtok),
        }
    }
}

fn rate(usd: Option<f64>) -> Option<Rate> {
    usd.and_then(Rate::from_usd_per_mtok)
}

fn nanos(usd: Option<f64>) -> Option<i64> {
    usd.and_then(Nanos::from_usd).map(|nanos| nanos.0)
}

fn amount_fits(field: &str, amount: Option<f64>) -> Result<(), Fault> {
    let Some(usd) = amount else { return Ok(()) };
    let refused = |message: String| Err(fault::invalid_parameter(field, message));
    if !(0.0..=MOST).contains(&usd) {
        return refused(format!("'{field}' is an amount in US dollars from 0 to {MOST}."));
    }
    // An amount has at most nine decimals exactly if converting it to nano-dollars and back is lossless.
    if Nanos::from_usd(usd).is_none_or(|nanos| nanos.usd() != usd) {
        return refused(format!("'{field}' has at most nine decimals."));
    }
    Ok(())
}

fn tiers_fit(tiers: &[TierPrice]) -> Result<(), Fault> {
    if tiers.len() > MOST_TIERS {
        return Err(fault::invalid_parameter("tiers", format!("There are at most {MOST_TIERS} tiers.")));
    }
    let mut below = None;
    for (index, tier) in tiers.iter().enumerate() {
        let path = |field: &str| format!("tiers[{index}].{field}");
        if below.is_some_and(|below| below >= tier.above_tokens) {
            let message = "Each tier begins above the one before it.";
            return Err(fault::invalid_parameter(path("above_tokens"), message));
        }
        below = Some(tier.above_tokens);
        let amounts = [
            ("input_per_mtok", tier.input_per_mtok),
            ("output_per_mtok", tier.output_per_mtok),
            ("cached_input_per_mtok", tier.cached_input_per_mtok),
        ];
        if amounts.iter().all(|(_, amount)| amount.is_none()) {
            return Err(fault::invalid_parameter(
                path("input_per_mtok"),
                "A tier names at least one amount.",
            ));
        }
        for (field, amount) in amounts {
            amount_fits(&path(field), amount)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
