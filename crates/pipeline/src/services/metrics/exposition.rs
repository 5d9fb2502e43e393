//! Metrics that are read at scrape time, written as OpenMetrics text.

use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Gauge,
    Counter,
    Info,
}

/// A metric family with its samples. `name` excludes the suffix that the kind adds.
pub struct Reading {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub samples: Vec<Sample>,
}

pub struct Sample {
    pub labels: Vec<(&'static str, String)>,
    pub value: f64,
}

impl Reading {
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { name, help, kind: Kind::Gauge, samples: vec![Sample { labels: Vec::new(), value }] }
    }

    pub fn counter(name: &'static str, help: &'static str, value: f64) -> Self {
        Self { kind: Kind::Counter, ..Self::gauge(name, help, value) }
    }

    /// Appends the family to the page; a family without samples is left out.
    pub fn write(&self, page: &mut String) {
        let Self { name, help, kind, samples } = self;
        if samples.is_empty() {
            return;
        }
        let (word, suffix) = match kind {
            Kind::Gauge => ("gauge", ""),
            Kind::Counter => ("counter", "_total"),
            Kind::Info => ("info", "_info"),
        };
        let _ = write!(page, "# HELP {name} {help}.\n# TYPE {name} {word}\n");
        for Sample { labels, value } in samples {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(page, "{name}{suffix}{labels} {value}");
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_as_openmetrics() {
        let labels = vec![("path", "/a\"b\\c\n".to_owned()), ("period", "daily".to_owned())];
        let samples = vec![Sample { labels, value: 0.5 }];
        let mut page = String::new();
        Reading { name: "x_ratio", help: "Use", kind: Kind::Gauge, samples }.write(&mut page);
        Reading::counter("cpu_seconds", "CPU", 3.0).write(&mut page);
        Reading { samples: Vec::new(), ..Reading::gauge("nothing", "Nothing", 0.0) }.write(&mut page);
        let expected = "# HELP x_ratio Use.\n# TYPE x_ratio gauge\n\
            x_ratio{path=\"/a\\\"b\\\\c\\n\",period=\"daily\"} 0.5\n\
            # HELP cpu_seconds CPU.\n# TYPE cpu_seconds counter\ncpu_seconds_total 3\n";
        assert_eq!(page, expected);
    }
}
