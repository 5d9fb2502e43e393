//! Prints precision and recall of each kind of personal data on the generated corpus, and the time that detection takes
//! on 1 KiB of text, whole and streamed.
//!
//! Run it with `cargo run --release -p guardrails --example pii_figures`. The smallest time of many rounds counts, so
//! that a busy machine disturbs the figures little.
//!
//! With the argument `corpus` it prints the sentences of the corpus with the values in them, as lines of JSON. With
//! `find` it reads such texts, and prints the values that are found in each. Positions count characters. The suite `pii`
//! compares these findings with those of other programs.

#[path = "../tests/figures/samples.rs"]
mod samples;

use std::hint::black_box;
use std::io::{self, BufRead as _};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guardrails::detector::Detector;
use guardrails::kind::PiiKind;
use guardrails::pii;
use guardrails::placeholder::{MaskStyle, Masker};
use guardrails::stream::StreamRedactor;
use serde_json::{Value, json};

const ROUNDS: usize = 2_000;
const KIBIBYTE: usize = 1024;
/// Bytes of one event of a stream.
const TOKEN: usize = 4;

const PROSE: &str = "The committee met again on Tuesday to discuss the new schedule, and nobody objected to the plan that \
    had been sent round in advance. Some members asked how the costs would be shared among the three departments, \
    which led to a longer discussion about last year's figures; 42 items were reviewed in 2023, and 17 are still open. ";
const CODE: &str = "fn parse(input: &str) -> Result<Vec<Token>, Error> { let mut tokens = Vec::with_capacity(64); for \
    (index, line) in input.lines().enumerate() { tokens.push(Token::new(line.trim(), index + 1)?); } Ok(tokens) } ";
const GERMAN: &str = "Die Änderungen betreffen größere Teile der Anlage; über die Kosten müssen wir später noch \
    ausführlich sprechen, weil sie höher als ursprünglich geschätzt ausfallen könnten. ";
const PERSONAL: &str = "Please write to john.doe@example.com or call me; my card is 4111 1111 1111 1111 and the account is \
    DE89 3704 0044 0532 0130 00. The server at 203.0.113.7 still uses the key AKIAIOSFODNN7EXAMPLE, as Tuesday's \
    report of the committee says. ";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::stdout().lock();
    let defaults: Vec<PiiKind> = PiiKind::defaults().collect();
    let defaults = Arc::new(pii::detector(&defaults)?);
    let all = Arc::new(pii::detector(&PiiKind::ALL)?);
    match std::env::args().nth(1).as_deref() {
        Some("corpus") => print_corpus(&mut out)?,
        Some("find") => print_findings(&mut out, &all)?,
        _ => {
            print_accuracy(&mut out, &all)?;
            print_times(&mut out, &defaults, &all)?;
        }
    }
    Ok(())
}

fn print_corpus(out: &mut impl io::Write) -> io::Result<()> {
    for sample in samples::corpus() {
        let values = positions(&sample.text, &sample.values);
        writeln!(
            out,
            "{}",
            json!({"text": sample.text, "values": values, "held_out": samples::is_held_out(&sample.text)})
        )?;
    }
    Ok(())
}

fn print_findings(out: &mut impl io::Write, detector: &Detector) -> Result<(), Box<dyn std::error::Error>> {
    for line in io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        writeln!(out, "{}", json!(positions(&text, &samples::found(detector, &text))))?;
    }
    Ok(())
}

/// The kinds of values with their positions, counted in characters.
fn positions(text: &str, values: &[(PiiKind, Range<usize>)]) -> Vec<Value> {
    let characters = |end: usize| text[..end].chars().count();
    let position = |(kind, range): &(PiiKind, Range<usize>)| {
        json!([kind.name(), characters(range.start), characters(range.end)])
    };
    values.iter().map(position).collect()
}

fn print_accuracy(out: &mut impl io::Write, detector: &Detector) -> io::Result<()> {
    let accuracy = samples::measure(detector);
    let (tuning, held_out) = accuracy.sentences;
    writeln!(
        out,
        "{:18} {:>7} {:>10} {:>7}   {:>8} {:>10} {:>7}",
        "kind", "tuning", "precision", "recall", "held out", "precision", "recall"
    )?;
    for (kind, (tuned, counted)) in &accuracy.kinds {
        writeln!(
            out,
            "{:18} {:>7} {:>10.3} {:>7.3}   {:>8} {:>10.3} {:>7.3}",
            kind.name(),
            tuned.values(),
            tuned.precision(),
            tuned.recall(),
            counted.values(),
            counted.precision(),
            counted.recall(),
        )?;
    }
    writeln!(out, "{tuning} sentences for tuning, {held_out} held out")?;
    writeln!(out, "{} vendors of API keys", pii::api_key_vendors().len())?;
    writeln!(out, "{} countries with identity numbers", pii::national_id_countries().len())?;
    for error in &accuracy.errors {
        writeln!(out, "  {error}")?;
    }
    writeln!(out)
}

fn print_times(out: &mut impl io::Write, defaults: &Arc<Detector>, all: &Detector) -> io::Result<()> {
    writeln!(
        out,
        "{:10} {:>18} {:>18} {:>22}",
        "1 KiB of", "default kinds", "all kinds", "streamed, default"
    )?;
    for (name, sample) in [("prose", PROSE), ("code", CODE), ("German", GERMAN), ("personal", PERSONAL)] {
        let text = repeat(sample);
        writeln!(
            out,
            "{name:10} {:>18.2?} {:>18.2?} {:>15.2?} / event",
            whole(defaults, &text),
            whole(all, &text),
            streamed(defaults, &text),
        )?;
    }
    Ok(())
}

fn whole(detector: &Detector, text: &str) -> Duration {
    smallest(|| black_box(detector.find_all(black_box(text), "")).map_or(0, |findings| findings.len()))
}

fn streamed(detector: &Arc<Detector>, text: &str) -> Duration {
    let events: Vec<String> = text
        .chars()
        .collect::<Vec<_>>()
        .chunks(TOKEN)
        .map(|characters| characters.iter().collect())
        .collect();
    let mut masker = Masker::new(MaskStyle::Kind);
    let total = smallest(|| {
        let mut redactor = StreamRedactor::new(Arc::clone(detector));
        let mut output = String::new();
        for event in &events {
            let _ = redactor.push(event, &mut masker, &mut output);
        }
        let _ = redactor.finish(&mut masker, &mut output);
        output.len()
    });
    total / u32::try_from(events.len()).unwrap_or(1)
}

fn smallest(mut run: impl FnMut() -> usize) -> Duration {
    let once = |run: &mut dyn FnMut() -> usize| {
        let started = now();
        black_box(run());
        started.elapsed()
    };
    (0..ROUNDS).map(|_| once(&mut run)).min().unwrap_or_default()
}

fn repeat(sample: &str) -> String {
    let mut text = sample.repeat(KIBIBYTE / sample.len() + 1);
    let mut end = KIBIBYTE;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

#[expect(clippy::disallowed_methods, reason = "an example that measures time")]
fn now() -> Instant {
    Instant::now()
}
