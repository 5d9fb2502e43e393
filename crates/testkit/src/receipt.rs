//! Receipts for tests that cover every declared field, new ones included.

use std::collections::{BTreeMap, BTreeSet};

use domain::clock::Timestamp;
use domain::fault::FaultCode;
use domain::money::{Cost, Nanos};
use domain::receipt::{
    Attempt, AttemptTiming, Audited, BudgetBalance, BudgetReservation, CallDecisions, CostSource,
    GuardedSubject, GuardrailVerdict, LimitCount, Receipt, RouteStep, TraceContext, Verdict, WorkflowVersion,
};
use domain::receipt_fields;
use domain::resources::guardrail::GuardrailMode;
use domain::usage::{Tokens, Usage};
use serde_json::value::RawValue;

/// A receipt in which every field has a value that is recorded.
pub fn complete_receipt() -> Receipt {
    Receipt { unbooked: false, ..filled() }
}

/// Checks a view of receipts that shows a selection of the fields: every field either changes what `show` returns, or
/// is one of those that are left out, which are listed by reason.
#[track_caller]
pub fn assert_shown_except(left_out: &[(&str, &[&str])], show: impl Fn(&Receipt) -> String) {
    let whole = show(&filled());
    let missing = without_each_field().into_iter().filter(|(_, receipt)| show(receipt) == whole);
    let missing: BTreeSet<&str> = missing.map(|(name, _)| name).collect();
    let left_out: BTreeSet<&str> = left_out.iter().flat_map(|(_, fields)| fields.iter().copied()).collect();
    let unexplained: Vec<_> = missing.difference(&left_out).collect();
    let shown: Vec<_> = left_out.difference(&missing).collect();
    assert!(unexplained.is_empty(), "neither shown nor left out for a reason: {unexplained:?}");
    assert!(shown.is_empty(), "listed as left out, but shown or not declared: {shown:?}");
}

macro_rules! define_receipts {
    ($($(#[$attribute:meta])* $name:ident: $type:ty,)*) => {
        /// A receipt in which no field has its default value.
        fn filled() -> Receipt {
            let audit = Some(Box::new(audited()));
            Receipt { $($name: <$type as Example>::example(stringify!($name)),)* audit }
        }

        /// For each field, a receipt in which only this one has its default value.
        fn without_each_field() -> Vec<(&'static str, Receipt)> {
            vec![
                $((stringify!($name), Receipt { $name: <$type>::default(), ..filled() }),)*
                ("audit", Receipt { audit: None, ..filled() }),
            ]
        }
    };
}
receipt_fields!(all => define_receipts);

/// A value that differs from the default and, where the type allows, from that of every other field.
trait Example {
    fn example(name: &str) -> Self;
}

impl Example for String {
    fn example(name: &str) -> Self {
        format!("the {name}")
    }
}

impl Example for Option<String> {
    fn example(name: &str) -> Self {
        Some(format!("\"{name}\"\n"))
    }
}

impl Example for bool {
    fn example(_: &str) -> Self {
        true
    }
}

impl Example for u16 {
    fn example(_: &str) -> Self {
        200
    }
}

impl Example for u32 {
    fn example(name: &str) -> Self {
        name.bytes().map(Self::from).sum()
    }
}

impl Example for u64 {
    fn example(name: &str) -> Self {
        u32::example(name).into()
    }
}

impl Example for Option<u64> {
    fn example(name: &str) -> Self {
        Some(u64::example(name))
    }
}

impl Example for Timestamp {
    fn example(_: &str) -> Self {
        Self(1_800_000_000_000_005)
    }
}

impl Example for Vec<Attempt> {
    fn example(_: &str) -> Self {
        let failed = Attempt { status: 500, error: Some(FaultCode::UpstreamError), ..Attempt::default() };
        vec![failed, Attempt { status: 200, duration_us: 7, ..Attempt::default() }]
    }
}

impl Example for Usage {
    fn example(name: &str) -> Self {
        Self {
            tokens: Tokens::from_counts(std::array::from_fn(|bucket| bucket as u64 + 1)),
            images: 9,
            estimated: true,
            reported_cost: Some(Nanos(3)),
            caveat: Option::example(name),
            ..Self::default()
        }
    }
}

impl Example for Option<Cost> {
    fn example(_: &str) -> Self {
        Some(Cost { input: Nanos(1), output: Nanos(2) })
    }
}

impl Example for Option<Nanos> {
    fn example(name: &str) -> Self {
        Some(Nanos(u32::example(name).into()))
    }
}

impl Example for CostSource {
    fn example(_: &str) -> Self {
        Self::ProviderReported
    }
}

impl Example for Option<Box<RawValue>> {
    fn example(_: &str) -> Self {
        serde_json::from_str("{\"total_tokens\":\n36}").ok()
    }
}

impl Example for Option<TraceContext> {
    fn example(_: &str) -> Self {
        Some(TraceContext { trace_id: "trace".into(), span_id: "span".into(), ..TraceContext::default() })
    }
}

fn audited() -> Audited {
    let text = |text: &str| text.to_owned();
    Audited {
        path: text("/v1/path"),
        query: text("a=b"),
        reason: Some(text("reason")),
        thread: Some(text("thread")),
        parent: Some(text("parent")),
        guardrails: verdicts(),
        journey: Some(Box::new(journey())),
        request_headers: vec![(text("accept"), text("*/*"))],
        response_headers: vec![(text("server"), text("x"))],
        request_body: Some(text("{\"n\":1}\n")),
        response_body: Some(text("data: {}\n\n")),
        request_truncated: true,
        response_truncated: true,
        request_lossy: true,
        response_lossy: true,
    }
}

/// A journey in which every field has a value.
fn journey() -> CallDecisions {
    let text = |text: &str| text.to_owned();
    let balance = BudgetBalance {
        user_path: text("/search"),
        tenant: Some(text("acme")),
        period: text("daily"),
        remaining: Nanos(18_800_000_000),
    };
    CallDecisions {
        key_name: Some(text("indexer")),
        steps: vec![RouteStep { kind: text("alias"), name: text("smart") }],
        targets: vec![text("mine/grok-9")],
        target_count: 4,
        workflow: Some(WorkflowVersion { name: text("search"), version: 7 }),
        inspection_us: Some(410),
        limits: vec![LimitCount { scope: text("requests_per_minute"), limit: 60, used: 41 }],
        budget: Some(BudgetReservation {
            reserved: Some(Nanos(21_200_000)),
            budgets: vec![balance],
            clamped: Some((4096, 812)),
        }),
        cache: text("miss"),
        cache_reason: Some(text("not_found")),
        attempts: vec![
            AttemptTiming {
                first_byte_us: Some(5),
                retry_after_ms: Some(30_000),
                ..AttemptTiming::default()
            },
            AttemptTiming {
                first_byte_us: Some(6),
                streamed_us: Some(70),
                translated_to: Some(text("messages")),
                ..AttemptTiming::default()
            },
        ],
        finish_reason: Some(text("stop")),
    }
}

/// A verdict in which every field has a value, and one without optional ones.
fn verdicts() -> Vec<GuardrailVerdict> {
    let failed = GuardrailVerdict {
        name: "secrets".to_owned(),
        subject: GuardedSubject::Request,
        mode: GuardrailMode::Monitor,
        verdict: Verdict::Error,
        kinds: BTreeMap::from([("email".to_owned(), 2), ("pattern[0]".to_owned(), 1)]),
        score: Some(0.75),
        classifier_score: Some(0.5),
        error: Some("\"too complex\"\n".to_owned()),
    };
    let passed = GuardrailVerdict {
        name: "length".to_owned(),
        subject: GuardedSubject::Answer,
        mode: GuardrailMode::Enforce,
        verdict: Verdict::Allow,
        kinds: BTreeMap::new(),
        score: None,
        classifier_score: None,
        error: None,
    };
    vec![failed, passed]
}
