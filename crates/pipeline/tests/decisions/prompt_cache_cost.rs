//! Tests of the worst-case cost of calls whose prompts the gateway lets the provider cache.

use catalog::Incurs;
use domain::call::{Format, Surface};
use domain::money::Nanos;
use pipeline::admission::reserve::WorstCost;
use pipeline::call::arrival::Arrival;
use pipeline::call::receive;
use pipeline::policy::PromptCacheMode;
use pipeline::routing::resolve::Plan;
use pipeline::routing::routes::Routes;
use serde_json::{Value, json};

use crate::authenticate::arrival;
use crate::snapshots::{compile, place};

const SONNET: &str = "claude-sonnet-4-5";
const OUTPUT: u64 = 100;

const NONE: Incurs = Incurs { cache_write: false, cache_write_1h: false, audio: false };
const FIVE_MINUTES: Incurs = Incurs { cache_write: true, ..NONE };

fn routes() -> Routes {
    compile(&[place("anthropic", "anthropic", Some(&[SONNET])), place("openai", "openai", Some(&["gpt-4o"]))])
}

fn request(text: String) -> Value {
    json!({"model": "m", "max_tokens": OUTPUT, "messages": [{"role": "user", "content": text}]})
}

/// The worst-case cost of a request, and the one that follows from the rates that it should be able to incur.
fn costs(
    (instance, model): (&str, &str),
    format: Format,
    body: &Value,
    mode: PromptCacheMode,
    expected: Incurs,
) -> (Option<Nanos>, Option<Nanos>) {
    let body = body.to_string();
    let length = body.len() as u64;
    let arrival = Arrival { surface: Surface::Converse(format), ..arrival(None) };
    let call = receive::parse_here(body.into(), &arrival).unwrap();
    let deployment = routes().instances[instance].deployment(model).unwrap();
    let plan = Plan::of(vec![deployment.clone()]);
    let found = WorstCost::new(&plan, &call, mode).at(Some(OUTPUT));
    (found, Some(catalog::bound(deployment.price().unwrap(), length, OUTPUT, expected)))
}

#[track_caller]
fn check(target: (&str, &str), format: Format, body: &Value, mode: PromptCacheMode, expected: Incurs) {
    let (found, expected) = costs(target, format, body, mode, expected);
    assert_eq!(found, expected, "{target:?} {format:?} {mode:?}");
}

#[test]
fn breakpoints_that_are_added_cost_the_five_minute_rate() {
    use PromptCacheMode::{Auto, Manual, Off};
    let (claude, gpt) = (("anthropic", SONNET), ("openai", "gpt-4o"));
    let (long, short) = (request("word ".repeat(1000)), request("How are you?".to_owned()));
    for format in [Format::Messages, Format::Chat] {
        check(claude, format, &long, Auto, FIVE_MINUTES);
        check(claude, format, &long, Manual, NONE);
        check(claude, format, &long, Off, NONE);
        // Fewer bytes than the provider's minimum has tokens: nothing is written.
        check(claude, format, &short, Auto, NONE);
        check(gpt, format, &long, Auto, NONE);
    }
    let claude_rates = routes().instances["anthropic"].deployment(SONNET).unwrap();
    let price = claude_rates.price().unwrap();
    assert!(price.cache_write_5m > Some(price.input), "otherwise the cases above do not differ");
}

#[test]
fn the_clients_own_breakpoints_count_unless_they_are_removed() {
    use PromptCacheMode::{Auto, Manual, Off};
    let claude = ("anthropic", SONNET);
    let mark = |ttl: Option<&str>| {
        let mut mark = json!({"type": "ephemeral"});
        if let Some(ttl) = ttl {
            mark["ttl"] = json!(ttl);
        }
        let mut body = request("a".to_owned());
        body["system"] = json!([{"type": "text", "text": "word ".repeat(1000), "cache_control": mark}]);
        body
    };
    let one_hour = Incurs { cache_write_1h: true, ..FIVE_MINUTES };
    for mode in [Auto, Manual] {
        check(claude, Format::Messages, &mark(None), mode, FIVE_MINUTES);
        check(claude, Format::Messages, &mark(Some("1h")), mode, one_hour);
    }
    check(claude, Format::Messages, &mark(Some("1h")), Off, NONE);
}
