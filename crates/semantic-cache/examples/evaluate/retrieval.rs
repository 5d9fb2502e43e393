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
pub fn print_curve(pairs: &[Pair], vectors: &Vectors, others: &Vectors, unanswered: &Vectors) {
    println!(
        "\nentries | duplicates served the right entry, a wrong one | near misses served any | unanswered served any \
         | search p50, p99 | index"
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
        let mut cache = Cache::new(texts);
        for (n, text) in cache.texts.iter().enumerate() {
            if let Some(vector) = vectors.get(*text).or_else(|| others.get(*text)).and_then(|v| quantise(v)) {
                let expires_at = Duration::MAX;
                let partition = PARTITION;
                cache.index.insert(NewEntry { id: id(n), partition, vector, expires_at, min_score: 0.0 });
            }
        }
        measure(cache, pairs, vectors, unanswered);
    }
}

/// An index with the texts of its entries, and the times of the searches.
struct Cache<'a> {
    texts: Vec<&'a str>,
    index: VectorIndex,
    times: Vec<Duration>,
}

impl<'a> Cache<'a> {
    fn new(texts: Vec<&'a str>) -> Self {
        let limits = IndexLimits { max_entries: texts.len(), max_bytes: usize::MAX };
        Self { texts, index: VectorIndex::new(limits), times: Vec::new() }
    }

    /// The text of the entry that a question is served.
    fn serve(&mut self, question: &str, vector: &[f32]) -> Option<&'a str> {
        let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
        let start = now();
        let found = self.index.search(&PARTITION, vector, CANDIDATES, Duration::ZERO);
        self.times.push(now().saturating_sub(start));
        let profile = TextProfile::new(question);
        let reaching = found.iter().filter(|m| m.reaches(DEFAULT_THRESHOLD));
        let mut texts = reaching.map(|m| self.texts[number(&m.id)]);
        texts.find(|text| veto::check(&profile, &TextProfile::new(text)).is_ok())
    }

    /// The time below which a share of the searches stayed, in milliseconds.
    fn milliseconds(&mut self, share: f64) -> f64 {
        self.times.sort();
        let at = (self.times.len() as f64 * share) as usize;
        self.times.get(at).map_or(0.0, Duration::as_secs_f64) * 1e3
    }
}

fn measure(mut cache: Cache, pairs: &[Pair], vectors: &Vectors, unanswered: &Vectors) {
    let (mut right, mut wrong, mut false_hits) = (0, 0, 0);
    for pair in pairs {
        let question = pair.texts[1].as_str();
        let Some(vector) = vectors.get(question) else { continue };
        match cache.serve(question, vector) {
            None => {}
            Some(_) if !pair.is_duplicate => false_hits += 1,
            Some(text) if text == pair.texts[0] => right += 1,
            Some(text) => {
                println!("  {question} served by: {text}");
                wrong += 1;
            }
        }
    }
    let mut guessed = 0;
    for (question, vector) in unanswered {
        if let Some(text) = cache.serve(question, vector) {
            println!("  {question} served by: {text}");
            guessed += 1;
        }
    }
    let duplicates = pairs.iter().filter(|p| p.is_duplicate).count();
    println!(
        "{} | {:.1} % {:.2} % | {:.2} % | {:.2} % | {:.2} ms {:.2} ms | {:.1} MB",
        cache.texts.len(),
        percent(right, duplicates),
        percent(wrong, duplicates),
        percent(false_hits, pairs.len() - duplicates),
        percent(guessed, unanswered.len()),
        cache.milliseconds(0.5),
        cache.milliseconds(0.99),
        cache.index.bytes() as f64 / 1e6,
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
