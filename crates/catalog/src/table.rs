//! The embedded data files, parsed once on first use into one table sorted by provider type and model id.

use std::cmp::Ordering;
use std::sync::{LazyLock, OnceLock};

use domain::model::{Abilities, Mode, ModelFacts, Price, Tier};
use domain::money::Rate;

static MODELS: &str = include_str!("../data/models.csv");
static VENDORS: &str = include_str!("../data/vendors.csv");

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows: Vec<Row> = lines(MODELS).filter_map(row).collect();
    rows.sort_unstable_by_key(|row| (row.provider_type, row.model));
    rows.shrink_to_fit();
    rows
});
/// The rows in the order of their bare ids: ids are looked up at all providers whenever the routing table is
/// compiled, once for each model of a host.
static BY_BARE_ID: LazyLock<Vec<&'static Row>> = LazyLock::new(|| {
    let mut rows: Vec<&'static Row> = ROWS.iter().collect();
    // The sort is stable: of rows with the same bare id, the first provider type is found.
    rows.sort_by(|left, right| compare_ignoring_case(bare(left.model), bare(right.model)));
    rows
});
static RELATIONS: LazyLock<Vec<Relation>> = LazyLock::new(|| {
    let mut relations: Vec<Relation> = lines(VENDORS).filter_map(relation).collect();
    relations.sort_by_key(|relation| relation.provider_type);
    relations
});

pub struct Row {
    pub provider_type: &'static str,
    pub model: &'static str,
    pub facts: ModelFacts,
    unpriced: OnceLock<Box<ModelFacts>>,
}

impl Row {
    /// The same facts without a price, for providers that serve the model at an unknown price.
    pub fn unpriced(&self) -> &ModelFacts {
        self.unpriced.get_or_init(|| Box::new(ModelFacts { price: None, ..self.facts.clone() }))
    }
}

/// The relation of a provider type to the models it serves; data/vendors.csv defines each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    Vendor,
    Reseller,
    Host,
    SelfHosted,
}

struct Relation {
    provider_type: &'static str,
    kind: ProviderKind,
    prefixes: &'static str,
}

/// Every row of one provider type, by model id.
pub fn rows(provider_type: &str) -> &'static [Row] {
    let rows = ROWS.as_slice();
    let start = rows.partition_point(|row| row.provider_type < provider_type);
    let length = rows[start..].partition_point(|row| row.provider_type == provider_type);
    &rows[start..start + length]
}

#[cfg(test)]
pub fn all_rows() -> &'static [Row] {
    &ROWS
}

/// The first row with a bare id (`gpt-4o` in `openai/gpt-4o`), ignoring case.
pub fn first_with_bare_id(id: &str) -> Option<&'static Row> {
    let start = BY_BARE_ID.partition_point(|row| compare_ignoring_case(bare(row.model), id).is_lt());
    BY_BARE_ID.get(start).copied().filter(|row| bare(row.model).eq_ignore_ascii_case(id))
}

/// The part of a model id after its last `/`.
pub fn bare(model: &str) -> &str {
    model.rsplit_once('/').map_or(model, |(_, bare)| bare)
}

fn compare_ignoring_case(left: &str, right: &str) -> Ordering {
    left.bytes()
        .map(|byte| byte.to_ascii_lowercase())
        .cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The provider types that are vendors, in alphabetical order.
pub fn vendors() -> impl Iterator<Item = &'static str> {
    let vendors = RELATIONS.iter().filter(|relation| relation.kind == ProviderKind::Vendor);
    vendors.map(|relation| relation.provider_type)
}

pub fn kind(provider_type: &str) -> ProviderKind {
    let relation = RELATIONS.iter().find(|relation| relation.provider_type == provider_type);
    relation.map_or(ProviderKind::SelfHosted, |relation| relation.kind)
}

/// The provider type for the prefix of an id such as `openai/gpt-4o`.
pub fn vendor_of_prefix(prefix: &str) -> Option<&'static str> {
    let names = |relation: &&Relation| relation.prefixes.split('|').any(|name| name == prefix);
    RELATIONS.iter().find(names).map(|relation| relation.provider_type)
}

fn lines(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1)
}

fn relation(line: &'static str) -> Option<Relation> {
    let mut fields = line.split(',');
    let (provider_type, kind, prefixes) = (fields.next()?, fields.next()?, fields.next()?);
    let kind = match kind {
        "vendor" => ProviderKind::Vendor,
        "reseller" => ProviderKind::Reseller,
        "host" => ProviderKind::Host,
        "self_hosted" => ProviderKind::SelfHosted,
        _ => return None,
    };
    Some(Relation { provider_type, kind, prefixes })
}

fn row(line: &'static str) -> Option<Row> {
    let mut fields = line.split(',');
    let (provider_type, model) = (fields.next()?, fields.next()?);
    let mode = mode(fields.next()?)?;
    let context_window = number(fields.next()?)?;
    let max_output_tokens = number(fields.next()?)?;
    let abilities = abilities(fields.next()?)?;
    let price = price(&mut fields)?;
    let facts = ModelFacts { mode, context_window, max_output_tokens, abilities, price };
    fields.next().is_none().then_some(Row { provider_type, model, facts, unpriced: OnceLock::new() })
}

/// Parses the price columns: `Some(None)` is a row without a price, `None` a malformed line.
fn price(fields: &mut dyn Iterator<Item = &'static str>) -> Option<Option<Price>> {
    let input = rate(fields.next()?)?;
    let output = rate(fields.next()?)?;
    let price = Price {
        input: input.unwrap_or_default(),
        output: output.unwrap_or_default(),
        cache_read: rate(fields.next()?)?,
        cache_write_5m: rate(fields.next()?)?,
        cache_write_1h: rate(fields.next()?)?,
        reasoning: rate(fields.next()?)?,
        audio_input: rate(fields.next()?)?,
        audio_output: rate(fields.next()?)?,
        batch_input: rate(fields.next()?)?,
        batch_output: rate(fields.next()?)?,
        per_request: rate(fields.next()?)?.map(|flat| flat.0),
        tiers: tiers(fields.next()?)?,
        ..Price::default()
    };
    let priced = input.is_some() || output.is_some() || price.per_request.is_some();
    Some(priced.then_some(price))
}

/// Parses tiers written as `above:input:output:cache_read`, joined by `|`.
fn tiers(text: &str) -> Option<Vec<Tier>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let tier = |text: &str| {
        let mut fields = text.split(':');
        let above_tokens = number(fields.next()?)??;
        let input = rate(fields.next()?)??;
        let output = rate(fields.next()?)??;
        Some(Tier { above_tokens, input, output, cache_read: rate(fields.next()?)? })
    };
    text.split('|').map(tier).collect()
}

fn number(text: &str) -> Option<Option<u64>> {
    if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
}

/// Parses USD with up to nine decimals into nano-dollars, without floating point.
fn rate(text: &str) -> Option<Option<Rate>> {
    if text.is_empty() {
        return Some(None);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = whole.parse().ok()?;
    let missing = 9u32.checked_sub(u32::try_from(fraction.len()).ok()?)?;
    let fraction: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let nanos = whole.checked_mul(1_000_000_000)?.checked_add(fraction.checked_mul(10i64.pow(missing))?)?;
    Some(Some(Rate(nanos)))
}

fn mode(text: &str) -> Option<Mode> {
    Some(match text {
        "chat" => Mode::Chat,
        "completion" => Mode::Completion,
        "embedding" => Mode::Embedding,
        "rerank" => Mode::Rerank,
        "image" => Mode::Image,
        "audio_transcription" => Mode::AudioTranscription,
        "audio_speech" => Mode::AudioSpeech,
        "moderation" => Mode::Moderation,
        "video" => Mode::Video,
        "other" => Mode::Other,
        _ => return None,
    })
}

fn abilities(text: &str) -> Option<Abilities> {
    let mut abilities = Abilities::default();
    for name in text.split('|').filter(|name| !name.is_empty()) {
        *abilities.flag(name)? = true;
    }
    Some(abilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_can_be_read() {
        let unreadable: Vec<_> = lines(MODELS).filter(|line| row(line).is_none()).collect();
        assert!(unreadable.is_empty(), "{unreadable:#?}");
        let unreadable: Vec<_> = lines(VENDORS).filter(|line| relation(line).is_none()).collect();
        assert!(unreadable.is_empty(), "{unreadable:#?}");
        assert!(ROWS.len() > 1000);
    }

    #[test]
    fn no_model_is_listed_twice() {
        let twice: Vec<_> = ROWS
            .windows(2)
            .filter(|pair| (pair[0].provider_type, pair[0].model) == (pair[1].provider_type, pair[1].model))
            .map(|pair| (pair[0].provider_type, pair[0].model))
            .collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn the_index_finds_the_first_row_of_each_bare_id() {
        for row in all_rows() {
            let id = bare(row.model).to_ascii_uppercase();
            let first = all_rows().iter().find(|other| bare(other.model).eq_ignore_ascii_case(&id)).unwrap();
            let found = first_with_bare_id(&id).unwrap();
            assert_eq!((found.provider_type, found.model), (first.provider_type, first.model));
        }
        assert!(first_with_bare_id("zzz-unknown").is_none());
    }

    #[test]
    fn tiers_ascend() {
        for price in ROWS.iter().filter_map(|row| row.facts.price.as_ref()) {
            assert!(price.tiers.is_sorted_by_key(|tier| tier.above_tokens));
        }
    }

    #[test]
    fn decimals_become_integers_exactly() {
        let nanos = |text| rate(text).flatten().map(|rate| rate.0);
        assert_eq!(nanos("0.075"), Some(75_000_000));
        assert_eq!(nanos("3"), Some(3_000_000_000));
        assert_eq!(nanos("0.000000001"), Some(1));
        assert_eq!(rate("1.0000000001"), None);
        assert_eq!(rate("-1x"), None);
        assert_eq!(rate(""), Some(None));
    }
}
