//! Metrics, groups and series of the usage time series.

use domain::fault::{self, Fault};
use domain::money::Nanos;
use serde_json::{Value, json};
use store::{Axis, Figures, Histogram};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::admin) enum Metric {
    Requests,
    Tokens,
    InputTokens,
    OutputTokens,
    Cost,
    Errors,
    ErrorRate,
    P50,
    P95,
    FirstByteP50,
    FirstByteP95,
    SavedCost,
}

pub(in crate::admin) const METRICS: [(&str, Metric); 11] = [
    ("requests", Metric::Requests),
    ("tokens", Metric::Tokens),
    ("input_tokens", Metric::InputTokens),
    ("output_tokens", Metric::OutputTokens),
    ("cost", Metric::Cost),
    ("errors", Metric::Errors),
    ("error_rate", Metric::ErrorRate),
    ("p50", Metric::P50),
    ("p95", Metric::P95),
    ("ttfb_p50", Metric::FirstByteP50),
    ("ttfb_p95", Metric::FirstByteP95),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::admin) enum Group {
    None,
    Status,
    Axis(Axis),
}

pub(in crate::admin) const GROUPS: [(&str, Group); 7] = [
    ("none", Group::None),
    ("model", Group::Axis(Axis::Model)),
    ("provider", Group::Axis(Axis::Provider)),
    ("provider_name", Group::Axis(Axis::ProviderName)),
    ("user_path", Group::Axis(Axis::UserPath)),
    ("auth_key_id", Group::Axis(Axis::AuthKeyId)),
    ("status", Group::Status),
];

impl Metric {
    pub fn histogram(self) -> Option<Histogram> {
        match self {
            Self::P50 | Self::P95 => Some(Histogram::Latency),
            Self::FirstByteP50 | Self::FirstByteP95 => Some(Histogram::FirstByte),
            _ => None,
        }
    }

    pub fn value(self, figures: &Figures) -> Value {
        let requests = figures.requests();
        match self {
            Self::Requests => json!(requests),
            Self::Tokens => json!(figures.total_tokens()),
            Self::InputTokens => json!(figures.input_tokens()),
            Self::OutputTokens => json!(figures.output_tokens()),
            Self::Errors => json!(figures.errors()),
            // Without calls the cost is zero; with calls but without prices it is unknown.
            Self::Cost if requests == 0 => json!(0.0),
            Self::Cost => json!(figures.total_cost().map(Nanos::usd)),
            Self::SavedCost => json!(figures.saved_cost().map_or(0.0, Nanos::usd)),
            Self::ErrorRate if requests == 0 => Value::Null,
            Self::ErrorRate => json!(figures.errors() as f64 / requests as f64),
            Self::P50 | Self::FirstByteP50 => json!(figures.percentile(50.0).map(rounded)),
            Self::P95 | Self::FirstByteP95 => json!(figures.percentile(95.0).map(rounded)),
        }
    }

    /// Size of a group for ranking: its value, or its number of requests for metrics that do not add up.
    pub fn size(self, figures: &Figures) -> f64 {
        match self {
            Self::ErrorRate | Self::P50 | Self::P95 | Self::FirstByteP50 | Self::FirstByteP95 => {
                figures.requests() as f64
            }
            _ => self.value(figures).as_f64().unwrap_or_default(),
        }
    }
}

/// Rounds to the microsecond.
fn rounded(millis: f64) -> f64 {
    (millis * 1000.0).round() / 1000.0
}

pub(in crate::admin) struct Series {
    pub name: String,
    pub other: bool,
    pub total: Figures,
    pub points: Vec<Figures>,
}

impl Series {
    pub fn new(name: String, points: usize) -> Self {
        Self { name, other: false, total: Figures::default(), points: vec![Figures::default(); points] }
    }

    pub fn add(&mut self, point: usize, figures: &Figures) {
        self.points[point].add(figures);
        self.total.add(figures);
    }

    pub fn subtract(&mut self, part: &Self) {
        self.total.subtract(&part.total);
        self.points.iter_mut().zip(&part.points).for_each(|(ours, theirs)| ours.subtract(theirs));
    }
}

/// Splits a series into one for each status class that occurred.
pub(in crate::admin) fn by_status(whole: Series, metric: Metric) -> Result<Vec<Series>, Fault> {
    let classes = match metric {
        Metric::Requests => 0..4,
        Metric::Errors => 2..4,
        _ => {
            let message = "'group_by' status goes with the metrics requests and errors.";
            return Err(fault::invalid_parameter("group_by", message));
        }
    };
    let of = |class: usize| Series {
        name: format!("{}xx", class + 2),
        other: false,
        total: whole.total.of_status(class),
        points: whole.points.iter().map(|figures| figures.of_status(class)).collect(),
    };
    Ok(classes.map(of).filter(|series| series.total.requests() > 0).collect())
}
