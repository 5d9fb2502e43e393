//! A generated corpus of sentences with and without personal data, which is the same in every run.
//!
//! Rules may be tuned on one half. The other half, chosen by a hash of the sentence, is held out: its errors are counted
//! and not shown.

#![expect(clippy::unwrap_used, reason = "data of tests")]

// Paths, because an example has these modules, too.
#[path = "samples/api_keys.rs"]
pub mod api_keys;
#[path = "samples/national.rs"]
pub mod national;
#[path = "samples/negatives.rs"]
mod negatives;
#[path = "samples/random.rs"]
pub mod random;
#[path = "samples/sentences.rs"]
mod sentences;
#[path = "samples/values.rs"]
pub mod values;

use std::collections::BTreeMap;
use std::ops::Range;

use guardrails::detector::Detector;
use guardrails::kind::{Label, PiiKind};
use random::Random;

const SEED: u64 = 20_261_118;
const SENTENCES_PER_KIND: usize = 600;
const NEGATIVE_SENTENCES: usize = 6_000;
/// Errors that are shown of each kind.
const SHOWN_ERRORS: usize = 4;

/// A sentence and the values in it.
pub struct Sample {
    pub text: String,
    pub values: Vec<(PiiKind, Range<usize>)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub right: usize,
    pub wrong: usize,
    pub missed: usize,
}

impl Counts {
    pub fn values(self) -> usize {
        self.right + self.missed
    }

    pub fn precision(self) -> f64 {
        self.right as f64 / (self.right + self.wrong).max(1) as f64
    }

    pub fn recall(self) -> f64 {
        self.right as f64 / self.values().max(1) as f64
    }
}

/// Precision and recall of a detector on both halves of the corpus.
pub struct Accuracy {
    /// Counts of the tuning half and of the held-out half.
    pub kinds: BTreeMap<PiiKind, (Counts, Counts)>,
    /// Sentences in both halves.
    pub sentences: (usize, usize),
    /// A few errors of the tuning half.
    pub errors: Vec<String>,
}

pub fn measure(detector: &Detector) -> Accuracy {
    let (tuning, held_out): (Vec<Sample>, Vec<Sample>) =
        corpus().into_iter().partition(|sample| !is_held_out(&sample.text));
    let mut errors = Errors::default();
    let tuned = count(detector, &tuning, &mut errors);
    let counted = count(detector, &held_out, &mut Errors::default());
    let of = |counts: &BTreeMap<PiiKind, Counts>, kind| counts.get(&kind).copied().unwrap_or_default();
    Accuracy {
        kinds: PiiKind::ALL.iter().map(|kind| (*kind, (of(&tuned, *kind), of(&counted, *kind)))).collect(),
        sentences: (tuning.len(), held_out.len()),
        errors: errors.lines,
    }
}

/// The personal data that a detector finds in a text.
pub fn found(detector: &Detector, text: &str) -> Vec<(PiiKind, Range<usize>)> {
    let kind = |label: Label| match label {
        Label::Pii(kind) => Some(kind),
        Label::Pattern(_) => None,
    };
    let findings = detector.find_all(text, "").unwrap();
    findings.into_iter().filter_map(|finding| Some((kind(finding.label)?, finding.range))).collect()
}

pub fn corpus() -> Vec<Sample> {
    let mut random = Random::new(SEED);
    let mut samples = Vec::new();
    for kind in PiiKind::ALL {
        samples.extend((0..SENTENCES_PER_KIND).map(|_| sentences::sentence(kind, &mut random)));
    }
    let negative = |random: &mut Random| Sample { text: negatives::sentence(random), values: Vec::new() };
    samples.extend((0..NEGATIVE_SENTENCES).map(|_| negative(&mut random)));
    samples
}

/// FNV-1a, so that the halves do not depend on the hasher of the standard library.
pub fn is_held_out(text: &str) -> bool {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash >> 32) % 2 == 1
}

/// Counts findings with the same kind and the same range as a value.
fn count(detector: &Detector, samples: &[Sample], errors: &mut Errors) -> BTreeMap<PiiKind, Counts> {
    let mut counts: BTreeMap<PiiKind, Counts> = BTreeMap::new();
    for sample in samples {
        let found = found(detector, &sample.text);
        for value in &found {
            let counts = counts.entry(value.0).or_default();
            if sample.values.contains(value) {
                counts.right += 1;
            } else {
                counts.wrong += 1;
                errors.add("wrong", sample, value);
            }
        }
        for value in sample.values.iter().filter(|value| !found.contains(value)) {
            counts.entry(value.0).or_default().missed += 1;
            errors.add("missed", sample, value);
        }
    }
    counts
}

#[derive(Default)]
struct Errors {
    lines: Vec<String>,
    counts: BTreeMap<(PiiKind, &'static str), usize>,
}

impl Errors {
    fn add(&mut self, error: &'static str, sample: &Sample, (kind, range): &(PiiKind, Range<usize>)) {
        let count = self.counts.entry((*kind, error)).or_default();
        *count += 1;
        if *count <= SHOWN_ERRORS {
            let value = &sample.text[range.clone()];
            self.lines.push(format!("{error} {kind}: {value:?} in {:?}", sample.text));
        }
    }
}
