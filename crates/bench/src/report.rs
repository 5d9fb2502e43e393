//! The benchmark report: measured values, targets and verdicts, as a table and as JSON.

use serde::Serialize;

use crate::load::LoadReport;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub rows: Vec<Row>,
    /// The measurements that the rows are computed from.
    pub measurements: Vec<Measurement>,
}

/// One run of one actor under one load.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    pub name: String,
    pub actor: &'static str,
    #[serde(flatten)]
    pub load: LoadReport,
    pub cpu_per_request: f64,
    pub peak_rss: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub gateway: Option<f64>,
    pub nginx: Option<f64>,
    pub floor: Option<f64>,
    pub direct: Option<f64>,
    /// The value that is compared with `reach` and `aim`: the median of the rounds.
    pub figure: Option<f64>,
    /// The lowest and the highest value of single rounds.
    pub spread: Option<[f64; 2]>,
    pub reach: Option<f64>,
    pub aim: Option<f64>,
    pub verdict: Verdict,
}

/// The way a row's value is judged; smaller is better in all cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The gateway's value divided by nginx's.
    Nginx,
    /// The gateway's value minus nginx's.
    MoreThanNginx,
    /// The gateway's value divided by the direct one.
    Direct,
    /// The gateway's value minus the direct one.
    MoreThanDirect,
    /// The gateway's own value.
    Itself,
}

impl Against {
    fn figure(self, Figures { gateway, nginx, direct, .. }: &Figures) -> Option<f64> {
        let ratio = |other: Option<f64>| {
            gateway.zip(other).filter(|(_, other)| *other > 0.0).map(|(gateway, other)| gateway / other)
        };
        let difference = |other: Option<f64>| gateway.zip(other).map(|(gateway, other)| gateway - other);
        match self {
            Self::Nginx => ratio(*nginx),
            Self::MoreThanNginx => difference(*nginx),
            Self::Direct => ratio(*direct),
            Self::MoreThanDirect => difference(*direct),
            Self::Itself => *gateway,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Aim,
    Reach,
    Miss,
    NotJudged,
}

/// The values of one round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub gateway: Option<f64>,
    pub nginx: Option<f64>,
    pub floor: Option<f64>,
    pub direct: Option<f64>,
}

impl Row {
    /// Judges the median of the rounds' values. A machine that changes its speed changes the values of all actors in a round,
    /// but hardly their ratio.
    pub fn judge(
        name: impl Into<String>,
        rounds: &[Figures],
        against: Against,
        reach: Option<f64>,
        aim: Option<f64>,
    ) -> Self {
        let of_rounds = |value: &dyn Fn(&Figures) -> Option<f64>| sorted(rounds.iter().filter_map(value));
        let single = of_rounds(&|round| against.figure(round));
        let figure = median(&single);
        let within = |limit: Option<f64>| figure.zip(limit).is_some_and(|(figure, limit)| figure <= limit);
        let verdict = match (figure, reach.or(aim)) {
            (Some(_), Some(_)) if within(aim) => Verdict::Aim,
            (Some(_), Some(_)) if within(reach) => Verdict::Reach,
            (Some(_), Some(_)) => Verdict::Miss,
            _ => Verdict::NotJudged,
        };
        Self {
            name: name.into(),
            gateway: median(&of_rounds(&|round| round.gateway)),
            nginx: median(&of_rounds(&|round| round.nginx)),
            floor: median(&of_rounds(&|round| round.floor)),
            direct: median(&of_rounds(&|round| round.direct)),
            figure,
            spread: single.first().zip(single.last()).map(|(lowest, highest)| [*lowest, *highest]),
            reach,
            aim,
            verdict,
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value in the middle, or the mean of the two in the middle.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

impl Report {
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    pub fn missed(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == Verdict::Miss)
    }

    /// A value of the measurements of one name, by round.
    pub fn rounds(&self, name: &str, value: impl Fn(&Measurement) -> f64) -> Vec<Figures> {
        let of_actor = |actor: &str| -> Vec<f64> {
            let own = self.measurements.iter().filter(|round| round.name == name && round.actor == actor);
            own.map(&value).collect()
        };
        let [gateway, nginx, floor, direct] = ["gateway", "nginx", "floor", "direct"].map(of_actor);
        let figures = |round: usize| Figures {
            gateway: gateway.get(round).copied(),
            nginx: nginx.get(round).copied(),
            floor: floor.get(round).copied(),
            direct: direct.get(round).copied(),
        };
        (0..gateway.len()).map(figures).collect()
    }

    pub fn table(&self) -> String {
        let head =
            ["what", "gateway", "nginx", "floor", "direct", "figure", "range", "reach", "aim", "verdict"]
                .map(str::to_owned);
        align(std::iter::once(head).chain(self.rows.iter().map(cells)).collect())
    }

    /// A table of all measurements: throughput, latency and time to first byte (µs), CPU-µs per request and peak
    /// memory.
    pub fn details(&self) -> String {
        let head =
            ["what", "actor", "req/s", "p50", "p99", "p99.9", "ttfb p50", "ttfb p99", "CPU-µs", "peak MiB"]
                .map(str::to_owned);
        align(std::iter::once(head).chain(self.measurements.iter().map(details)).collect())
    }
}

/// Aligns the columns: text to the left, numbers to the right.
fn align<const COLUMNS: usize>(lines: Vec<[String; COLUMNS]>) -> String {
    let widest = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(widest);
    let mut table = String::new();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            let is_number = cell.starts_with(|first: char| first.is_ascii_digit() || first == '-');
            match column {
                0 => table.extend([cell.as_str(), &padding]),
                _ if is_number || column + 1 < COLUMNS => table.extend(["  ", &padding, cell.as_str()]),
                _ => table.extend(["  ", cell.as_str()]),
            }
        }
        table.push('\n');
    }
    table
}

fn details(measurement: &Measurement) -> [String; 10] {
    let Measurement { load, .. } = measurement;
    let figures =
        [load.rps, load.latency_p50, load.latency_p99, load.latency_p999, load.ttfb_p50, load.ttfb_p99];
    let [rps, p50, p99, p999, ttfb_p50, ttfb_p99] = figures.map(|figure| number(Some(figure)));
    let peak = number(Some(measurement.peak_rss as f64 / (1024.0 * 1024.0)));
    let cpu = number(Some(measurement.cpu_per_request));
    [
        measurement.name.clone(),
        measurement.actor.to_owned(),
        rps,
        p50,
        p99,
        p999,
        ttfb_p50,
        ttfb_p99,
        cpu,
        peak,
    ]
}

fn cells(row: &Row) -> [String; 10] {
    let verdict = match row.verdict {
        Verdict::Aim => "aim met",
        Verdict::Reach => "reached",
        Verdict::Miss => "MISS",
        Verdict::NotJudged => "–",
    };
    let numbers = [row.gateway, row.nginx, row.floor, row.direct, row.figure, row.reach, row.aim].map(number);
    let [gateway, nginx, floor, direct, figure, reach, aim] = numbers;
    let spread = row.spread.filter(|[lowest, highest]| lowest < highest);
    let spread = spread.map_or_else(|| number(None), |ends| ends.map(|end| number(Some(end))).join("–"));
    [row.name.clone(), gateway, nginx, floor, direct, figure, spread, reach, aim, verdict.to_owned()]
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(gateway: Option<f64>, nginx: Option<f64>) -> Figures {
        Figures { gateway, nginx, ..Figures::default() }
    }

    fn verdict(gateway: Option<f64>, nginx: Option<f64>, against: Against) -> Verdict {
        Row::judge("row", &[round(gateway, nginx)], against, Some(3.0), Some(2.0)).verdict
    }

    #[test]
    fn verdicts() {
        assert_eq!(verdict(Some(20.0), Some(10.0), Against::Nginx), Verdict::Aim);
        assert_eq!(verdict(Some(30.0), Some(10.0), Against::Nginx), Verdict::Reach);
        assert_eq!(verdict(Some(31.0), Some(10.0), Against::Nginx), Verdict::Miss);
        assert_eq!(verdict(Some(12.5), Some(10.0), Against::MoreThanNginx), Verdict::Reach);
        assert_eq!(verdict(Some(1.0), None, Against::Itself), Verdict::Aim);
        assert_eq!(verdict(Some(1.0), None, Against::Nginx), Verdict::NotJudged);
        assert_eq!(verdict(Some(1.0), Some(0.0), Against::Nginx), Verdict::NotJudged);
        let direct = |against| {
            let round = Figures { gateway: Some(12.0), direct: Some(5.0), ..Figures::default() };
            Row::judge("row", &[round], against, None, None).figure
        };
        assert_eq!(direct(Against::Direct), Some(2.4));
        assert_eq!(direct(Against::MoreThanDirect), Some(7.0));
    }

    #[test]
    fn medians() {
        let median = |values: &[f64]| super::median(&sorted(values.iter().copied()));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), Some(3.0));
    }

    #[test]
    fn rounds_pair_the_measurements_of_a_name() {
        let measurement = |name: &str, actor, cpu_per_request| Measurement {
            name: name.to_owned(),
            actor,
            load: LoadReport::default(),
            cpu_per_request,
            peak_rss: 0,
        };
        let measurements = vec![
            measurement("chat", "gateway", 1.0),
            measurement("chat", "direct", 2.0),
            measurement("stream", "gateway", 9.0),
            measurement("chat", "direct", 4.0),
            measurement("chat", "gateway", 3.0),
        ];
        let report = Report { measurements, ..Report::default() };
        let rounds = report.rounds("chat", |measurement| measurement.cpu_per_request);
        let figures: Vec<_> = rounds.iter().map(|round| (round.gateway, round.direct, round.nginx)).collect();
        assert_eq!(figures, [(Some(1.0), Some(2.0), None), (Some(3.0), Some(4.0), None)]);
    }

    #[test]
    fn the_median_of_the_ratios_is_judged() {
        // The machine is half as fast in the second round; the quotient of the medians would be 4.
        let rounds =
            [(20.0, 10.0), (40.0, 20.0), (42.0, 10.0)].map(|(own, nginx)| round(Some(own), Some(nginx)));
        let row = Row::judge("row", &rounds, Against::Nginx, Some(2.3), Some(2.0));
        assert_eq!((row.gateway, row.nginx, row.figure), (Some(40.0), Some(10.0), Some(2.0)));
        assert_eq!(row.spread, Some([2.0, 4.2]));
        assert_eq!(row.verdict, Verdict::Aim);
        let report = Report { rows: vec![row], ..Report::default() };
        assert!(report.table().contains("2.00–4.20"));
    }

    #[test]
    fn the_table_lines_up_and_the_json_reads_back() {
        let figures = Figures { gateway: Some(28.4), nginx: Some(15.0), floor: Some(22.0), direct: None };
        let long =
            Row::judge("CPU-µs per request, 1 KB chat", &[figures], Against::Nginx, Some(3.0), Some(2.0));
        let short = Row::judge("x", &[], Against::Itself, None, None);
        let report = Report { rows: vec![long, short], ..Report::default() };
        assert!(!report.missed());
        let table = report.table();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        let column = |line: &str| {
            line.chars().count() - line.trim_end().chars().rev().take_while(|c| *c != ' ').count()
        };
        assert_eq!(column(lines[0]), column(lines[2]));
        assert!(lines[1].contains("28.4") && lines[1].contains("1.89") && lines[1].ends_with("aim met"));
        let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
        assert_eq!(json["rows"][0]["verdict"], "aim");
        assert_eq!(json["rows"][1]["gateway"], serde_json::Value::Null);
    }
}
