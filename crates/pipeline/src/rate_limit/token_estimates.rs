//! Estimates the tokens of the next call of a key to a model from the mean of its earlier calls. The mean is used
//! because the estimates of parallel calls add up.

use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use parking_lot::Mutex;

use super::limit_kind::TokenDemand;

/// Weight of the newest call in the exponentially weighted means.
const WEIGHT: f64 = 1.0 / 8.0;
/// Means expire after this long without a call.
const SILENCE: Duration = Duration::from_secs(300);
/// The mean output of a key and model without recent calls: an expectation, unlike the output that a reservation
/// assumes.
const INITIAL_OUTPUT: f64 = 1024.0;
/// Most counted input per estimated token. A prompt is estimated as a token per four bytes, and has at most one per
/// byte.
const LARGEST_SHARE: f64 = 4.0;
const SHARDS: usize = 16;
const MAX_ENTRIES_PER_SHARD: usize = 10_000 / SHARDS;

#[derive(Default)]
pub struct TokenEstimates {
    shards: [Mutex<HashMap<Pair, MeanUsage>>; SHARDS],
    hasher: foldhash::fast::RandomState,
}

/// The id of a key, and a model.
type Pair = (Arc<str>, Arc<str>);

#[derive(Clone, Copy)]
struct MeanUsage {
    /// Counted input as a share of the estimated prompt: below 1 if much is read from the prompt cache.
    counted_share: f64,
    output: f64,
    updated: Duration,
}

impl MeanUsage {
    fn initial(now: Duration) -> Self {
        Self { counted_share: 1.0, output: INITIAL_OUTPUT, updated: now }
    }

    fn is_stale(&self, now: Duration) -> bool {
        now.saturating_sub(self.updated) > SILENCE
    }
}

impl TokenEstimates {
    pub fn estimate(&self, key: &Arc<str>, demand: &TokenDemand, now: Duration) -> u64 {
        let pair = (key.clone(), demand.model.clone());
        let known = self.shard(&pair).lock().get(&pair).copied().filter(|mean| !mean.is_stale(now));
        let mean = known.unwrap_or_else(|| MeanUsage::initial(now));
        let output = demand.max_output.map_or(mean.output, |max| mean.output.min(max as f64));
        (mean.counted_share * demand.prompt as f64 + output).round() as u64
    }

    /// Records the counted input and output of a finished call.
    pub fn record(&self, key: &Arc<str>, demand: &TokenDemand, input: u64, output: u64, now: Duration) {
        let pair = (key.clone(), demand.model.clone());
        let mut shard = self.shard(&pair).lock();
        if shard.len() >= MAX_ENTRIES_PER_SHARD && !shard.contains_key(&pair) {
            make_room(&mut shard, now);
        }
        let mean = shard.entry(pair).or_insert_with(|| MeanUsage::initial(now));
        if mean.is_stale(now) {
            *mean = MeanUsage::initial(now);
        }
        if demand.prompt > 0 {
            let share = (input as f64 / demand.prompt as f64).min(LARGEST_SHARE);
            mean.counted_share += (share - mean.counted_share) * WEIGHT;
        }
        mean.output += (output as f64 - mean.output) * WEIGHT;
        mean.updated = mean.updated.max(now);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    fn shard(&self, pair: &Pair) -> &Mutex<HashMap<Pair, MeanUsage>> {
        &self.shards[self.hasher.hash_one(pair) as usize % SHARDS]
    }
}

/// Removes the stale entries or, if there are none, the one that was not updated for longest.
fn make_room(shard: &mut HashMap<Pair, MeanUsage>, now: Duration) {
    shard.retain(|_, mean| !mean.is_stale(now));
    if shard.len() < MAX_ENTRIES_PER_SHARD {
        return;
    }
    let oldest = shard.iter().min_by_key(|(_, mean)| mean.updated).map(|(pair, _)| pair.clone());
    if let Some(pair) = oldest {
        shard.remove(&pair);
    }
}
