//! Measures the semantic cache on labelled pairs: `evaluate PAIRS.tsv VECTORS.tsv [ENTRIES.tsv UNANSWERED.tsv]`.
//!
//! PAIRS has the columns label, class, text_a, text_b. The other files have a text and its embedding in each line,
//! separated by a tab, the components by spaces. Prints hits and false hits over thresholds, with and without the veto;
//! then, if ENTRIES are given, the retrieval curve: one question against all entries and all other questions.
//! UNANSWERED are questions for which no entry is right. Fails if false hits at the default threshold exceed the bounds.

#![allow(clippy::print_stdout, reason = "a command line program")]

mod retrieval;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

use semantic_cache::quantise::{Quantised, quantise};
use semantic_cache::veto;

/// Default of `SEMANTIC_CACHE_THRESHOLD`.
const DEFAULT_THRESHOLD: f32 = 0.95;

/// Bounds at the default threshold, in percent: near misses that are served, and the share of them among all hits.
const MOST_FALSE: f64 = 1.0;
const MOST_FALSE_SHARE: f64 = 5.0;

/// One labelled pair with its measured similarity.
pub struct Pair {
    pub is_duplicate: bool,
    pub class: String,
    pub texts: [String; 2],
    pub score: f32,
    pub veto: Option<veto::Veto>,
}

pub type Vectors = BTreeMap<String, Vec<f32>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pairs, vectors, entries @ ..] = &arguments[..] else {
        return Err("usage: evaluate PAIRS.tsv VECTORS.tsv [ENTRIES.tsv UNANSWERED.tsv]".into());
    };
    let vectors = read_vectors(vectors)?;
    let pairs = read_pairs(pairs, &vectors)?;
    let is_held_out = |pair: &&Pair| checksum(&pair.texts[0]) % 2 == 1;
    let (held_out, tuned): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(is_held_out);
    let all: Vec<&Pair> = pairs.iter().collect();
    print_curve("all pairs", &all);
    print_curve("tuned half", &tuned);
    print_curve("held-out half", &held_out);
    print_classes(&pairs);
    print_failures(&tuned);
    if let [entries, unanswered] = entries {
        retrieval::print_curve(&pairs, &vectors, &read_vectors(entries)?, &read_vectors(unanswered)?);
    }
    check_bounds(&all)
}

/// Fails if the bounds at the default threshold are not kept.
fn check_bounds(pairs: &[&Pair]) -> Result<(), Box<dyn Error>> {
    let is_served = |p: &&&Pair| p.score >= DEFAULT_THRESHOLD && p.veto.is_none();
    let false_hits = pairs.iter().filter(is_served).filter(|p| !p.is_duplicate).count();
    let false_share = percent(false_hits, pairs.iter().filter(is_served).count());
    let false_hits = percent(false_hits, pairs.iter().filter(|p| !p.is_duplicate).count());
    if false_hits > MOST_FALSE || false_share > MOST_FALSE_SHARE {
        let bounds = format!("at most {MOST_FALSE} % and {MOST_FALSE_SHARE} % are allowed");
        return Err(format!(
            "{false_hits:.2} % of the near misses are served, {false_share:.1} % of all hits: {bounds}"
        )
        .into());
    }
    Ok(())
}

fn read_vectors(path: &str) -> Result<Vectors, Box<dyn Error>> {
    let mut vectors = Vectors::new();
    for line in fs::read_to_string(path)?.lines() {
        let (text, components) = line.split_once('\t').ok_or("a line without a tab")?;
        let components: Result<Vec<f32>, _> = components.split(' ').map(str::parse).collect();
        vectors.insert(text.to_owned(), components?);
    }
    Ok(vectors)
}

fn read_pairs(path: &str, vectors: &Vectors) -> Result<Vec<Pair>, Box<dyn Error>> {
    let vector = |text: &str| -> Result<Quantised, Box<dyn Error>> {
        let components = vectors.get(text).ok_or_else(|| format!("no vector of: {text}"))?;
        quantise(components).ok_or_else(|| format!("no direction: {text}").into())
    };
    let mut pairs = Vec::new();
    for line in fs::read_to_string(path)?.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [label, class, a, b] = fields[..] else { return Err(format!("not a pair: {line}").into()) };
        pairs.push(Pair {
            is_duplicate: label == "duplicate",
            class: class.to_owned(),
            texts: [a.to_owned(), b.to_owned()],
            score: vector(a)?.cosine(&vector(b)?),
            veto: veto::check_texts(a, b).err(),
        });
    }
    Ok(pairs)
}

/// FNV-1a; it assigns all pairs of a question to the same half.
fn checksum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        >> 7
}

fn print_curve(name: &str, pairs: &[&Pair]) {
    let duplicates = pairs.iter().filter(|p| p.is_duplicate).count();
    let near_misses = pairs.len() - duplicates;
    println!("\n{name}: {duplicates} duplicates, {near_misses} near misses");
    println!(
        "threshold | cosine alone: hits, false hits | with veto: hits, false hits, false share of served"
    );
    for step in 80..100 {
        let threshold = step as f32 / 100.0;
        let count = |is_duplicate: bool, vetoed: bool| {
            let served = |p: &&&Pair| p.is_duplicate == is_duplicate && p.score >= threshold;
            pairs.iter().filter(served).filter(|p| !vetoed || p.veto.is_none()).count()
        };
        let (hits, false_hits) = (count(true, true), count(false, true));
        println!(
            "{threshold:.2} | {:5.1} % {:5.1} % | {:5.1} % {:5.2} % {:5.1} %",
            percent(count(true, false), duplicates),
            percent(count(false, false), near_misses),
            percent(hits, duplicates),
            percent(false_hits, near_misses),
            percent(false_hits, hits + false_hits),
        );
    }
}

fn print_classes(pairs: &[Pair]) {
    println!("\nclass | pairs | reach {DEFAULT_THRESHOLD} | pass the veto at any score | served");
    let mut classes: BTreeMap<&str, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        classes.entry(&pair.class).or_default().push(pair);
    }
    for (class, pairs) in classes {
        let reach = pairs.iter().filter(|p| p.score >= DEFAULT_THRESHOLD);
        let served = reach.clone().filter(|p| p.veto.is_none()).count();
        let passed = pairs.iter().filter(|p| p.veto.is_none()).count();
        println!("{class} | {} | {} | {passed} | {served}", pairs.len(), reach.count());
    }
}

/// Prints the pairs that are decided wrongly: near misses that pass the veto, duplicates that only the veto stops.
fn print_failures(pairs: &[&Pair]) {
    println!("\nwrong decisions in the tuned half");
    for pair in pairs {
        let is_wrong = match pair.veto {
            None => !pair.is_duplicate && pair.score >= 0.8,
            Some(_) => pair.is_duplicate && pair.score >= DEFAULT_THRESHOLD,
        };
        if is_wrong {
            let reason = pair.veto.map_or("passed", veto::Veto::as_str);
            println!("{:.3} {} {reason}: {} / {}", pair.score, pair.class, pair.texts[0], pair.texts[1]);
        }
    }
}

pub fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
