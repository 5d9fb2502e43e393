//! Budget settings: period anchors, alert thresholds and webhook. One document for the whole installation.

use serde::{Deserialize, Serialize};

use super::Resource;
use crate::fault::{self, Fault};
use crate::period::{Anchors, TimeOfDay};
use crate::secret::{self, Secret};

/// The name of the only document.
pub const NAME: &str = "settings";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetSettings {
    pub daily_reset_hour: u8,
    pub daily_reset_minute: u8,
    /// 0 is Sunday.
    pub weekly_reset_weekday: u8,
    pub weekly_reset_hour: u8,
    pub weekly_reset_minute: u8,
    /// The last day of the month in months that are shorter.
    pub monthly_reset_day: u8,
    pub monthly_reset_hour: u8,
    pub monthly_reset_minute: u8,
    /// Fractions of an amount at which an alert is sent.
    pub thresholds: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
    #[serde(serialize_with = "secret::expose")]
    pub webhook_secret: Option<Secret>,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Self {
            daily_reset_hour: 0,
            daily_reset_minute: 0,
            weekly_reset_weekday: 1,
            weekly_reset_hour: 0,
            weekly_reset_minute: 0,
            monthly_reset_day: 1,
            monthly_reset_hour: 0,
            monthly_reset_minute: 0,
            thresholds: vec![0.8, 1.0],
            webhook_url: None,
            webhook_secret: None,
        }
    }
}

impl BudgetSettings {
    pub fn anchors(&self) -> Anchors {
        let at = |hour, minute| TimeOfDay { hour, minute };
        Anchors {
            daily: at(self.daily_reset_hour, self.daily_reset_minute),
            weekday: self.weekly_reset_weekday,
            weekly: at(self.weekly_reset_hour, self.weekly_reset_minute),
            day_of_month: self.monthly_reset_day,
            monthly: at(self.monthly_reset_hour, self.monthly_reset_minute),
        }
    }
}

const MOST_THRESHOLDS: usize = 20;
const SECRET_LENGTH: std::ops::RangeInclusive<usize> = 16..=200;

impl Resource for BudgetSettings {
    const KIND: &'static str = "budget_settings";
    const SECRETS: &'static [&'static str] = &["webhook_secret"];

    fn name(&self) -> &str {
        NAME
    }

    fn validate(&self) -> Result<(), Fault> {
        let numbers = [
            ("daily_reset_hour", self.daily_reset_hour, 0..=23),
            ("daily_reset_minute", self.daily_reset_minute, 0..=59),
            ("weekly_reset_weekday", self.weekly_reset_weekday, 0..=6),
            ("weekly_reset_hour", self.weekly_reset_hour, 0..=23),
            ("weekly_reset_minute", self.weekly_reset_minute, 0..=59),
            ("monthly_reset_day", self.monthly_reset_day, 1..=31),
            ("monthly_reset_hour", self.monthly_reset_hour, 0..=23),
            ("monthly_reset_minute", self.monthly_reset_minute, 0..=59),
        ];
        for (name, number, range) in numbers {
            if !range.contains(&number) {
                let message = format!("'{name}' must be {} to {}.", range.start(), range.end());
                return Err(fault::invalid_parameter(name, message));
            }
        }
        let fits = |threshold: &f64| threshold.is_finite() && *threshold > 0.0;
        if let Some(place) = self.thresholds.iter().position(|threshold| !fits(threshold)) {
            let message = "A threshold is a share of the amount above 0, such as 0.8.";
            return Err(fault::invalid_parameter(format!("thresholds[{place}]"), message));
        }
        if self.thresholds.len() > MOST_THRESHOLDS {
            let message = format!("At most {MOST_THRESHOLDS} thresholds.");
            return Err(fault::invalid_parameter("thresholds", message));
        }
        let fits = |secret: &Secret| SECRET_LENGTH.contains(&secret.reveal().len());
        if self.webhook_secret.as_ref().is_some_and(|secret| !fits(secret)) {
            return Err(fault::invalid_parameter("webhook_secret", "A secret has 16 to 200 characters."));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: BudgetSettings, param: Option<&str>) {
        let found = settings.validate().err().and_then(|fault| fault.param);
        assert_eq!(found.as_deref(), param, "{settings:?}");
    }

    #[test]
    fn settings_are_refused_by_field() {
        let plain = BudgetSettings::default;
        check(plain(), None);
        check(BudgetSettings { daily_reset_hour: 24, ..plain() }, Some("daily_reset_hour"));
        check(BudgetSettings { weekly_reset_weekday: 7, ..plain() }, Some("weekly_reset_weekday"));
        check(BudgetSettings { monthly_reset_day: 0, ..plain() }, Some("monthly_reset_day"));
        check(BudgetSettings { monthly_reset_minute: 60, ..plain() }, Some("monthly_reset_minute"));
        check(BudgetSettings { thresholds: vec![0.5, 0.0], ..plain() }, Some("thresholds[1]"));
        check(BudgetSettings { thresholds: vec![f64::NAN], ..plain() }, Some("thresholds[0]"));
        check(BudgetSettings { thresholds: vec![1.0; 21], ..plain() }, Some("thresholds"));
        check(
            BudgetSettings { webhook_secret: Some(Secret::new("short")), ..plain() },
            Some("webhook_secret"),
        );
    }
}
