//! Metrics that are read at scrape time, as a collector of the registry.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingKind {
    Gauge,
    Counter,
    Info,
}

/// A metric family with its samples. `name` excludes the suffix that the kind adds.
#[derive(Debug)]
pub struct Reading {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: ReadingKind,
    pub samples: Vec<Sample>,
}

#[derive(Debug)]
pub struct Sample {
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

impl Reading {
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, kind: ReadingKind::Gauge, samples: vec![Sample { labels: Vec::new(), value }] }
    }

    pub fn counter(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { kind: ReadingKind::Counter, ..Self::gauge(name, help, value) }
    }

    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let Self { name, help, kind, samples } = self;
        let metric_type = match kind {
            ReadingKind::Gauge => MetricType::Gauge,
            ReadingKind::Counter => MetricType::Counter,
            ReadingKind::Info => MetricType::Info,
        };
        // The registry ends the help text of its own metrics with a full stop.
        let mut family = encoder.encode_descriptor(name, &format!("{help}."), None, metric_type)?;
        for Sample { labels, value } in samples {
            match kind {
                ReadingKind::Info => family.encode_info(labels)?,
                // A label set without labels would be written as `{}`.
                _ if labels.is_empty() => write_value(&mut family, *kind, *value)?,
                _ => write_value(&mut family.encode_family(labels)?, *kind, *value)?,
            }
        }
        Ok(())
    }
}

/// Writes whole numbers without a fraction.
fn write_value(encoder: &mut MetricEncoder<'_>, kind: ReadingKind, value: f64) -> Result<(), Error> {
    /// The largest number up to which every whole number has its own `f64`.
    const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;
    let is_whole = value.fract() == 0.0 && value.abs() <= LARGEST_WHOLE;
    match (kind, is_whole) {
        (ReadingKind::Counter, true) => encoder.encode_counter(&(value as u64), NO_EXEMPLAR),
        (ReadingKind::Counter, false) => encoder.encode_counter(&value, NO_EXEMPLAR),
        (_, true) => encoder.encode_gauge(&(value as i64)),
        (_, false) => encoder.encode_gauge(&value),
    }
}

const NO_EXEMPLAR: Option<&Exemplar<NoLabelSet, f64>> = None;

/// The readings of one scrape. A family without samples is left out.
#[derive(Debug)]
pub struct Readings(pub Vec<Reading>);

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut families = self.0.iter().filter(|reading| !reading.samples.is_empty());
        families.try_for_each(|reading| reading.encode(&mut encoder))
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn families_are_written_as_openmetrics() {
        let labels = vec![("path", "/a\"b\\c\n".to_owned()), ("period", "daily".to_owned())];
        let samples = vec![Sample { labels, value: 0.5 }];
        let readings = Readings(vec![
            Reading { name: "x_ratio", help: "Use", kind: ReadingKind::Gauge, samples },
            Reading::counter("cpu_seconds", "CPU", 3.0),
            Reading { samples: Vec::new(), ..Reading::gauge("nothing", "Nothing", 0.0) },
            Reading {
                kind: ReadingKind::Info,
                samples: vec![Sample { labels: vec![("version", "1".to_owned())], value: 1.0 }],
                ..Reading::gauge("build", "Version", 1.0)
            },
            Reading::gauge("start_seconds", "Start", 1_700_000_000.25),
            Reading::gauge("limit", "Limit", -1.0),
        ]);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(readings));
        let mut page = String::new();
        text::encode_registry(&mut page, &registry).unwrap();
        let expected = "# HELP x_ratio Use.\n# TYPE x_ratio gauge\n\
            x_ratio{path=\"/a\\\"b\\\\c\\n\",period=\"daily\"} 0.5\n\
            # HELP cpu_seconds CPU.\n# TYPE cpu_seconds counter\ncpu_seconds_total 3\n\
            # HELP build Version.\n# TYPE build info\nbuild_info{version=\"1\"} 1\n\
            # HELP start_seconds Start.\n# TYPE start_seconds gauge\nstart_seconds 1700000000.25\n\
            # HELP limit Limit.\n# TYPE limit gauge\nlimit -1\n";
        assert_eq!(page, expected);
    }
}
