//! Generates data/models.csv: prices from genai-prices, everything else from data/own.csv.
//!
//! `UPDATE_CATALOG=1 cargo test -p catalog --test sources` writes the file; without it, a stale file fails the test.
#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "all of it is a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use genai_prices::{Calculator, PriceRequest, Usage};

/// The date for which prices are read, 2026-11-15 12:00 UTC; some prices are valid only from a certain date.
const AS_OF: Duration = Duration::from_secs(1_794_744_000);

/// Our provider types and their names in genai-prices.
const NAMES: [(&str, &str); 19] = [
    ("anthropic", "anthropic"),
    ("azure", "azure"),
    ("bedrock", "aws"),
    ("cerebras", "cerebras"),
    ("cohere", "cohere"),
    ("deepseek", "deepseek"),
    ("fireworks", "fireworks"),
    ("gemini", "google"),
    ("groq", "groq"),
    ("minimax", "minimax"),
    ("mistral", "mistral"),
    ("moonshot", "moonshotai"),
    ("openai", "openai"),
    ("openrouter", "openrouter"),
    ("perplexity", "perplexity"),
    ("together", "together"),
    ("vertex", "google"),
    ("xai", "x-ai"),
    ("zai", "zai"),
];

const HEADER: &str = "provider,model,mode,window,max_output,abilities,input,output,cache_read,cache_write_5m,cache_write_1h,\
                      reasoning,audio_input,audio_output,batch_input,batch_output,per_request,tiers";

/// Nano-dollars per million tokens; a rate equal to the one it would fall back to is left out.
#[derive(Clone, Debug, Default, PartialEq)]
struct Prices {
    input: i64,
    output: i64,
    cache_read: Option<i64>,
    cache_write_5m: Option<i64>,
    cache_write_1h: Option<i64>,
    reasoning: Option<i64>,
    audio_input: Option<i64>,
    audio_output: Option<i64>,
    batch_input: Option<i64>,
    batch_output: Option<i64>,
    tiers: Vec<(u64, i64, i64, Option<i64>)>,
}

struct Row {
    mode: String,
    window: String,
    max_output: String,
    abilities: String,
    prices: Option<Prices>,
}

type Key = (String, String);
/// Input and output rates for a usage, in a batch or not.
type CostFunction<'a> = &'a dyn Fn(&[(&str, u64)], bool) -> Option<(i64, i64)>;

#[test]
fn the_data_file_matches_its_sources() {
    let merged = render(&merge());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/models.csv");
    #[expect(clippy::disallowed_methods, reason = "a developer's switch of this test")]
    if std::env::var("UPDATE_CATALOG").is_ok() {
        std::fs::write(path, &merged).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == merged,
        "data/models.csv is stale: UPDATE_CATALOG=1 cargo test -p catalog --test sources"
    );
}

/// Snapshot of the prices in which the sources differ. A change means that a price moved in one source only: check the
/// vendor's price page before accepting it.
#[test]
fn the_sources_disagree_only_where_it_is_known() {
    let mut listing = String::new();
    for ((provider, model), row) in own() {
        let (Some(ours), Some(theirs)) = (&row.prices, genai(&provider, &model)) else { continue };
        if (ours.input, ours.output) != (theirs.input, theirs.output) {
            let usd = |prices: &Prices| format!("{}/{}", decimal(prices.input), decimal(prices.output));
            writeln!(listing, "{provider} {model}: own {} genai {}", usd(ours), usd(&theirs)).unwrap();
        }
    }
    insta::assert_snapshot!("disagreements", listing);
}

fn merge() -> BTreeMap<Key, Row> {
    let mut rows = own();
    for ((provider, model), row) in &mut rows {
        if let Some(mut theirs) = genai(provider, model) {
            let ours = row.prices.take().unwrap_or_default();
            theirs.batch_input = theirs.batch_input.or(ours.batch_input);
            theirs.batch_output = theirs.batch_output.or(ours.batch_output);
            row.prices = Some(theirs);
        }
    }
    for (provider, name) in NAMES {
        let listed = Calculator::bundled().providers().find(|listed| listed.id() == name).expect(name);
        for model in listed.models().filter(|model| is_served(provider, model.id())) {
            let key = (provider.to_owned(), model.id().to_owned());
            let Some(prices) = genai(provider, model.id()) else { continue };
            let window = model.context_window().map(|window| window.to_string()).unwrap_or_default();
            rows.entry(key)
                .and_modify(|row| {
                    if row.window.is_empty() {
                        row.window.clone_from(&window);
                    }
                })
                .or_insert_with(|| Row {
                    mode: guess_mode(model.id()).to_owned(),
                    window: window.clone(),
                    max_output: String::new(),
                    abilities: String::new(),
                    prices: Some(prices),
                });
        }
    }
    rows
}

/// False for ids that the provider does not serve: genai-prices has one list for both of Google's platforms, and a few
/// ids that stand for a group of models.
fn is_served(provider: &str, model: &str) -> bool {
    let other_platform = provider == "gemini" && model.contains("claude");
    !other_platform && !model.contains([',', ' ']) && !model.ends_with('-')
}

fn guess_mode(model: &str) -> &'static str {
    let model = model.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| model.contains(word));
    match () {
        () if has(&["embed"]) => "embedding",
        () if has(&["rerank"]) => "rerank",
        () if has(&["whisper", "transcribe"]) => "audio_transcription",
        () if has(&["-tts", "tts-"]) => "audio_speech",
        () if has(&["moderation"]) => "moderation",
        () if has(&["gpt-image", "imagen", "flux", "dall-e"]) => "image",
        () => "chat",
    }
}

fn own() -> BTreeMap<Key, Row> {
    let mut rows = BTreeMap::new();
    let lines = include_str!("../data/own.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [
            provider,
            model,
            mode,
            window,
            max_output,
            input,
            output,
            cache_read,
            cache_write,
            batch_input,
            batch_output,
            abilities,
        ] = fields[..]
        else {
            panic!("{line}")
        };
        let or_fallback = |text: &str, fallback: i64| {
            Some(nanos(text)).filter(|rate| !text.is_empty() && *rate != fallback)
        };
        let (plain_input, plain_output) = (nanos(input), nanos(output));
        // Price lists write two zeros for "not priced by tokens"; offers that are really free have `:free` in their id.
        let priced = plain_input != 0 || plain_output != 0 || (model.ends_with(":free") && !input.is_empty());
        let prices = priced.then(|| Prices {
            input: plain_input,
            output: plain_output,
            cache_read: or_fallback(cache_read, plain_input),
            cache_write_5m: or_fallback(cache_write, plain_input),
            batch_input: or_fallback(batch_input, plain_input),
            batch_output: or_fallback(batch_output, plain_output),
            ..Prices::default()
        });
        let row = Row {
            mode: mode.into(),
            window: window.into(),
            max_output: max_output.into(),
            abilities: abilities.into(),
            prices,
        };
        assert!(rows.insert((provider.to_owned(), model.to_owned()), row).is_none(), "twice: {line}");
    }
    rows
}

/// Rates according to genai-prices, determined by pricing single tokens because the crate does not expose its rates.
fn genai(provider: &str, model: &str) -> Option<Prices> {
    let name = NAMES.iter().find(|(ours, _)| *ours == provider)?.1;
    let ask = |pairs: &[(&str, u64)], batch: bool| -> Option<(i64, i64)> {
        let mut usage = Usage::new();
        for (key, count) in pairs {
            usage.insert((*key).to_owned(), *count as f64);
        }
        let request = PriceRequest::new(model, &usage)
            .with_provider_id(name)
            .with_timestamp(SystemTime::UNIX_EPOCH + AS_OF);
        let request = if batch { request.with_price_context("processing", "batch") } else { request };
        let price = Calculator::bundled().calculate(&request).ok()?;
        Some((rate(price.input_price), rate(price.output_price)))
    };
    let input_of =
        |pairs: &[(&str, u64)], fallback: i64| Some(ask(pairs, false)?.0).filter(|rate| *rate != fallback);
    let output_of =
        |pairs: &[(&str, u64)], fallback: i64| Some(ask(pairs, false)?.1).filter(|rate| *rate != fallback);

    let plain = [("input_tokens", 1), ("output_tokens", 1)];
    let (input, output) = ask(&plain, false)?;
    if input == 0 && output == 0 && !model.ends_with(":free") {
        return None;
    }
    let batch = ask(&plain, true)?;
    let cache_write_5m = input_of(&[("input_tokens", 1), ("cache_write_tokens", 1)], input);
    let long_write = [("input_tokens", 1), ("cache_write_tokens", 1), ("cache_write_1h_tokens", 1)];
    Some(Prices {
        input,
        output,
        cache_read: input_of(&[("input_tokens", 1), ("cache_read_tokens", 1)], input),
        cache_write_5m,
        cache_write_1h: input_of(&long_write, cache_write_5m.unwrap_or(input)),
        reasoning: output_of(&[("output_tokens", 1), ("output_reasoning_tokens", 1)], output),
        audio_input: input_of(&[("input_tokens", 1), ("input_audio_tokens", 1)], input),
        audio_output: output_of(&[("output_tokens", 1), ("output_audio_tokens", 1)], output),
        batch_input: Some(batch.0).filter(|rate| *rate != input),
        batch_output: Some(batch.1).filter(|rate| *rate != output),
        tiers: tiers(input, output, &ask),
    })
}

/// The price tiers by input size, found by bisection.
fn tiers(input: i64, output: i64, ask: CostFunction) -> Vec<(u64, i64, i64, Option<i64>)> {
    let at = |total: u64| {
        let (sum, output) =
            ask(&[("input_tokens", total), ("output_tokens", 1)], false).expect("a known model");
        ((sum as f64 / total as f64).round() as i64, output)
    };
    let largest = 10_000_000;
    let last = at(largest);
    let (mut from, mut current, mut found) = (1, (input, output), Vec::new());
    while current != last && found.len() < 8 {
        let (mut low, mut high) = (from, largest);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if at(middle) == current { low = middle } else { high = middle }
        }
        current = at(high);
        let (cached, _) =
            ask(&[("input_tokens", high), ("cache_read_tokens", high)], false).expect("a known model");
        let cached = (cached as f64 / high as f64).round() as i64;
        found.push((low, current.0, current.1, Some(cached).filter(|rate| *rate != current.0)));
        from = high;
    }
    found
}

/// Converts the price of one token in USD to nano-dollars per million tokens.
fn rate(usd: f64) -> i64 {
    (usd * 1e15).round() as i64
}

fn nanos(text: &str) -> i64 {
    if text.is_empty() { 0 } else { (text.parse::<f64>().expect(text) * 1e9).round() as i64 }
}

fn decimal(nanos: i64) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn render(rows: &BTreeMap<Key, Row>) -> String {
    let mut text = String::from(
        "# Made by tests/sources.rs: edit data/own.csv instead. Prices in USD per million tokens; per_request in USD.\n",
    );
    text.push_str("# The price of the demo is made up, so that a fresh machine shows costs.\n");
    text.push_str("# tiers: above_tokens:input:output:cache_read, joined by |\n");
    writeln!(text, "{HEADER}").unwrap();
    let optional = |rate: Option<i64>| rate.map(decimal).unwrap_or_default();
    for ((provider, model), row) in rows {
        write!(text, "{provider},{model},{},{},{},{}", row.mode, row.window, row.max_output, row.abilities)
            .unwrap();
        let Some(prices) = &row.prices else {
            writeln!(text, "{}", ",".repeat(12)).unwrap();
            continue;
        };
        write!(text, ",{},{}", decimal(prices.input), decimal(prices.output)).unwrap();
        let rest = [
            prices.cache_read,
            prices.cache_write_5m,
            prices.cache_write_1h,
            prices.reasoning,
            prices.audio_input,
            prices.audio_output,
            prices.batch_input,
            prices.batch_output,
        ];
        for rate in rest {
            write!(text, ",{}", optional(rate)).unwrap();
        }
        let tier = |(above, input, output, cached): &(u64, i64, i64, Option<i64>)| {
            format!("{above}:{}:{}:{}", decimal(*input), decimal(*output), optional(*cached))
        };
        let tiers: Vec<String> = prices.tiers.iter().map(tier).collect();
        writeln!(text, ",,{}", tiers.join("|")).unwrap();
    }
    text
}

#[test]
fn every_provider_type_of_the_data_is_related() {
    let related: BTreeSet<&str> = include_str!("../data/vendors.csv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(',').next())
        .collect();
    for (provider, _) in own().keys() {
        assert!(related.contains(provider.as_str()), "{provider} is missing in data/vendors.csv");
    }
}
