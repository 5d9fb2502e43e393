//! W3C trace context: the caller's `traceparent` and `tracestate`, continued towards providers.

use domain::ids::Entropy;
use domain::receipt::TraceContext;
use http::{HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

const SAMPLED: u8 = 1;
/// The longest `tracestate` that is propagated; the standard requires at least this much.
const LONGEST_STATE: usize = 512;

/// Trace headers of one request to a provider.
pub type TraceHeaders = Vec<(HeaderName, HeaderValue)>;

#[derive(Debug, PartialEq, Eq)]
struct Parent {
    trace_id: String,
    span_id: String,
    flags: u8,
}

/// Continues the caller's trace, from its request headers. Without one, a new trace begins if traces are exported.
pub fn context<'a>(
    exported: bool,
    entropy: &dyn Entropy,
    header: impl Fn(HeaderName) -> Option<&'a str>,
) -> Option<TraceContext> {
    let parent = header(TRACEPARENT).and_then(parse);
    if parent.is_none() && !exported {
        return None;
    }
    let mut random = [0u8; 24];
    entropy.fill(&mut random);
    let span_id = hex(&random[..8]);
    let Some(parent) = parent else {
        let trace_id = hex(&random[8..]);
        return Some(TraceContext { trace_id, span_id, flags: SAMPLED, ..TraceContext::default() });
    };
    let state = header(TRACESTATE).map(str::trim);
    let state = state.filter(|state| (1..=LONGEST_STATE).contains(&state.len())).map(str::to_owned);
    Some(TraceContext {
        trace_id: parent.trace_id,
        span_id,
        parent_id: Some(parent.span_id),
        flags: parent.flags,
        state,
    })
}

pub fn new_span_id(entropy: &dyn Entropy) -> String {
    let mut random = [0u8; 8];
    entropy.fill(&mut random);
    hex(&random)
}

/// Whether spans are recorded: not if the caller decided against sampling (`-00`).
pub fn is_recorded(exported: bool, context: Option<&TraceContext>) -> bool {
    exported && context.is_some_and(|context| context.flags & SAMPLED != 0)
}

/// The trace headers for a provider. Their parent is `span`, or the caller's span if none is recorded here.
pub fn headers(context: &TraceContext, span: Option<&str>) -> TraceHeaders {
    let Some(parent) = span.or(context.parent_id.as_deref()) else { return Vec::new() };
    let traceparent = format!("00-{}-{parent}-{:02x}", context.trace_id, context.flags);
    let named = [("traceparent", Some(traceparent)), ("tracestate", context.state.clone())];
    let header = |(name, value): (&'static str, Option<String>)| {
        Some((HeaderName::from_static(name), HeaderValue::try_from(value?).ok()?))
    };
    named.into_iter().filter_map(header).collect()
}

/// Parses `00-<trace>-<parent>-<flags>`; later versions may append members. Other values are ignored, as the standard
/// requires.
fn parse(header: &str) -> Option<Parent> {
    let parts: Vec<&str> = header.trim().split('-').collect();
    let is_hex =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_id = |text: &str, length: usize| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
    let [version, trace, parent, flags, rest @ ..] = parts.as_slice() else { return None };
    let known = is_hex(version, 2) && *version != "ff" && (*version != "00" || rest.is_empty());
    if !known || !is_id(trace, 32) || !is_id(parent, 16) || !is_hex(flags, 2) {
        return None;
    }
    Some(Parent {
        trace_id: trace.to_ascii_lowercase(),
        span_id: parent.to_ascii_lowercase(),
        flags: u8::from_str_radix(flags, 16).ok()?,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn only_a_whole_traceparent_is_continued() {
        for (header, flags) in [
            (format!("00-{TRACE}-{PARENT}-01"), Some(1)),
            (format!("00-{TRACE}-{PARENT}-00"), Some(0)),
            (format!("01-{TRACE}-{PARENT}-03-more"), Some(3)),
            (format!("00-{TRACE}-{PARENT}-01-more"), None),
            (format!("ff-{TRACE}-{PARENT}-01"), None),
            (format!("00-{TRACE}-0000000000000000-01"), None),
            (format!("00-short-{PARENT}-01"), None),
            (format!("00-{TRACE}-{PARENT}"), None),
            ("garbage".to_owned(), None),
        ] {
            assert_eq!(parse(&header).map(|parent| parent.flags), flags, "{header}");
        }
    }

    #[test]
    fn providers_get_our_span_or_the_callers_own_header() {
        let context = TraceContext {
            trace_id: TRACE.into(),
            span_id: "1111111111111111".into(),
            parent_id: Some(PARENT.into()),
            flags: 0,
            state: Some("vendor=1".into()),
        };
        let shown = |span| {
            let headers = headers(&context, span);
            headers.iter().map(|(_, value)| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown(None), [format!("00-{TRACE}-{PARENT}-00"), "vendor=1".into()]);
        assert_eq!(shown(Some("2222222222222222"))[0], format!("00-{TRACE}-2222222222222222-00"));
    }
}
