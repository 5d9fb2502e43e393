//! The retrieval curve: one question against N entries.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use semantic_cache::index::{EntryId, IndexLimits, NewEntry, VectorIndex};
use semantic_cache::profile::TextProfile;
use semantic_cache::quantise::quantise;
use semantic_cache::veto;

use super::{DEFAULT_THRESHOLD, Pair, Vectors, checksum, percent};

const PARTITION: [u8; 32] = [1; 32];

/// Entries of which a search returns the best; the first that the veto passes is served.
const CANDIDATES: usize = 8;

/// Prints for 10^3, 10^4 and 10^5 entries what the second question of each pair is served. The entries are the first
/// questions of all pairs, and as many others as there are.
pub fn print_curve(pairs: &[Pair], vectors: &Vectors, others: &Vectors) {
    println!(
        "\nentries | duplicates served the right entry, a wrong one | near misses served any | median search"
    );
    let mut questions: Vec<&str> = pairs.iter().map(|p| p.texts[0].as_str()).collect();
    questions.dedup();
    let known: BTreeSet<&str> = pairs.iter().flat_map(|p| &p.texts).map(String::as_str).collect();
    let mut fill: Vec<&str> =
        others.keys().map(String::as_str).filter(|text| !known.contains(text)).collect();
    // Not in alphabetical order: a small cache has neighbours of all kinds, too.
    fill.sort_by_key(|text| checksum(text));
    for size in [1_000, 10_000, 100_000] {
        if questions.len() + fill.len() < size {
            println!("{size} | not measured: only {} entries", questions.len() + fill.len());
            continue;
        }
        let texts: Vec<&str> = questions.iter().chain(&fill).copied().take(size).collect();
        let mut index = VectorIndex::new(IndexLimits { max_entries: size, max_bytes: usize::MAX });
        for (n, text) in texts.iter().enumerate() {
            if let Some(vector) = vectors.get(*text).or_else(|| others.get(*text)).and_then(|v| quantise(v)) {
                let expires_at = Duration::MAX;
                index.insert(NewEntry {
                    id: id(n),
                    partition: PARTITION,
                    vector,
                    expires_at,
                    min_score: 0.0,
                });
            }
        }
        measure(size, pairs, vectors, &texts, &index);
    }
}

fn measure(size: usize, pairs: &[Pair], vectors: &Vectors, texts: &[&str], index: &VectorIndex) {
    let (mut right, mut wrong, mut false_hits) = (0, 0, 0);
    let mut times = Vec::new();
    for pair in pairs {
        let Some(query) = vectors.get(&pair.texts[1]) else { continue };
        let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
        let start = now();
        let found = index.search(&PARTITION, query, CANDIDATES, Duration::ZERO);
        times.push(now().saturating_sub(start));
        let profile = TextProfile::new(&pair.texts[1]);
        let passes = |text: &&str| veto::check(&profile, &TextProfile::new(text)).is_ok();
        let reaching = found.iter().filter(|m| m.reaches(DEFAULT_THRESHOLD)).map(|m| texts[number(&m.id)]);
        match reaching.into_iter().find(passes) {
            None => {}
            Some(_) if !pair.is_duplicate => false_hits += 1,
            Some(text) if text == pair.texts[0] => right += 1,
            Some(text) => {
                println!("  {} served by: {text}", pair.texts[1]);
                wrong += 1;
            }
        }
    }
    times.sort();
    let duplicates = pairs.iter().filter(|p| p.is_duplicate).count();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!(
        "{size} | {:.1} % {:.2} % | {:.2} % | {:.2} ms",
        percent(right, duplicates),
        percent(wrong, duplicates),
        percent(false_hits, pairs.len() - duplicates),
        median.as_secs_f64() * 1e3,
    );
}

fn id(n: usize) -> EntryId {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&(n as u64).to_be_bytes());
    id
}

fn number(id: &EntryId) -> usize {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&id[..8]);
    u64::from_be_bytes(bytes) as usize
}
