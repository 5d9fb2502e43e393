//! Compares an explanation with the call that follows it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use testkit::Recorded;

use crate::calls::Call;
use crate::ground::Ground;
use crate::happened::Happened;
use crate::world::INSTANCE;

#[derive(Default)]
pub struct Tally {
    calls: usize,
    agreed: usize,
    refused: usize,
    failed_over: usize,
    bodies: usize,
    /// Answers from the cache.
    hits: usize,
    /// Those of them to similar calls.
    similar: usize,
    /// The outcomes of the calls, by code.
    endings: BTreeMap<String, usize>,
    disagreements: Vec<String>,
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, agreed, refused, failed_over, bodies, hits, similar, endings, .. } = self;
        write!(
            out,
            "{calls} cases, {agreed} agreed, refused {refused}, failed over {failed_over}, bodies compared {bodies}, cache hits {hits}, similar {similar}\n{endings:?}"
        )
    }
}

impl Tally {
    /// Asserts that all cases agree, and that enough happened in them to prove something.
    pub fn expect_agreement(&self) {
        assert!(self.disagreements.is_empty(), "{self}\n{}", self.disagreements.join("\n"));
        let share = |count: usize| count * 100 / self.calls.max(1);
        let shares = [self.refused, self.failed_over, self.bodies, self.hits].map(share);
        assert!(
            shares[0] < 75 && shares[1] >= 4 && shares[2] >= 15 && shares[3] >= 1 && self.similar > 0,
            "too little happens: {self}"
        );
    }
}

pub fn hold(
    tally: &mut Tally,
    ground: &Ground,
    call: &Call,
    explained: &Value,
    happened: &Happened,
    case: &str,
) {
    tally.calls += 1;
    tally.refused += usize::from(!explained["decision"]["error"].is_null());
    tally.failed_over += usize::from(happened.tried.len() > 1);
    let how = happened.fault.as_ref().map_or("served".into(), |fault| fault.code.to_string());
    *tally.endings.entry(how).or_default() += 1;
    let requests = ground.upstream.requests();
    tally.hits += usize::from(is_hit(explained));
    tally.similar += usize::from(explained["cache"]["status"] == "hit-semantic");
    let verdict = cached(explained, happened)
        .and_then(|()| ending(explained, happened))
        .and_then(|()| served(explained, happened))
        .and_then(|()| {
            departure(&format!("http://{}", ground.upstream.address()), explained, happened, &requests)
        });
    match verdict {
        Ok(compared) => {
            tally.agreed += 1;
            tally.bodies += usize::from(compared);
        }
        Err(reason) => tally.disagreements.push(format!(
            "case {case}: {reason}\n  call: {call:?}\n  explained: {explained}\n  tried: {:?}, fault: {:?}",
            happened.tried, happened.fault
        )),
    }
}

type Verdict<T> = Result<T, String>;

fn same<T: PartialEq + fmt::Debug>(what: &str, explained: T, happened: T) -> Verdict<()> {
    if explained == happened {
        Ok(())
    } else {
        Err(format!("{what}: explained {explained:?}, happened {happened:?}"))
    }
}

fn is_hit(explained: &Value) -> bool {
    explained["cache"]["status"].as_str().is_some_and(|status| status.starts_with("hit-"))
}

/// The answer came from the cache as explained. A call that is refused may not have got to the cache.
fn cached(explained: &Value, happened: &Happened) -> Verdict<()> {
    if happened.fault.is_some() {
        return Ok(());
    }
    let status = explained["cache"]["status"].as_str().unwrap_or("off");
    let header = happened.headers.get("x-gateway-cache").and_then(|value| value.to_str().ok());
    same("X-Gateway-Cache", Some(status), header)
}

/// The call was refused as explained, or tried the targets in the explained order until one answered.
fn ending(explained: &Value, happened: &Happened) -> Verdict<()> {
    let decision = &explained["decision"];
    let would_try: Vec<String> = serde_json::from_value(decision["would_try"].clone()).unwrap();
    same("attempts", happened.tried.len() as u64, happened.attempts)?;
    if let Some(error) = decision["error"].as_object() {
        let Some(fault) = &happened.fault else {
            return Err("explained as refused, and it was served".into());
        };
        same("tried", &would_try, &happened.tried)?;
        same("status", error["status"].as_u64(), Some(u64::from(fault.status)))?;
        same("type", error["type"].as_str(), Some(fault.kind.as_str()))?;
        same("code", error["code"].as_str(), Some(fault.code.as_str()))?;
        same("message", error["message"].as_str(), Some(&*fault.message))?;
        let after = fault.retry_after.map(|after| after.as_micros().div_ceil(1000) as u64);
        return same("Retry-After", error.get("retry_after_ms").and_then(Value::as_u64), after);
    }
    let tried = happened.tried.len();
    if tried == 0 && is_hit(explained) {
        return same("targets of an answer from the cache", &would_try, &Vec::new());
    }
    if tried == 0 || tried > would_try.len() {
        return same("tried", &would_try, &happened.tried);
    }
    same("tried", &would_try[..tried], &happened.tried[..])?;
    match &happened.fault {
        None => Ok(()),
        // An error in the request itself is returned at once, because other providers would return it, too.
        Some(fault) if (400..500).contains(&fault.status) && fault.status != 429 => Ok(()),
        Some(_) => same("tried before giving up", would_try.len(), tried),
    }
}

/// The response headers name the candidate that was explained.
fn served(explained: &Value, happened: &Happened) -> Verdict<()> {
    let Some(last) = happened.tried.last() else { return Ok(()) };
    let candidates = explained["candidates"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(candidate) = candidates.iter().find(|candidate| candidate["selector"] == **last) else {
        return Err(format!("'{last}' is no candidate"));
    };
    let header = |name: &str| happened.headers.get(name).and_then(|value| value.to_str().ok());
    same("X-Gateway-Model", candidate["selector"].as_str(), header("x-gateway-model"))?;
    same("X-Gateway-Provider", candidate["provider_name"].as_str(), header("x-gateway-provider"))?;
    let dropped: Vec<String> = serde_json::from_value(candidate["dropped"].clone()).unwrap();
    let dropped = Some(dropped.join(", ")).filter(|names| !names.is_empty());
    same("X-Gateway-Dropped-Params", dropped.as_deref(), header("x-gateway-dropped-params"))
}

/// The first request to the upstream is what was shown, byte for byte. Returns whether there was one to compare.
fn departure(origin: &str, explained: &Value, happened: &Happened, requests: &[Recorded]) -> Verdict<bool> {
    let shown = &explained["upstream_request"];
    let Some(first) = requests.first() else {
        let live = shown["url"].as_str().is_some_and(|url| url.starts_with(origin));
        return if live { Err("explained as sent, and nothing was".into()) } else { Ok(false) };
    };
    if shown.is_null() {
        return Err(format!("explained as not sent, and something was: {:?}", happened.tried));
    }
    if !shown["url"].as_str().is_some_and(|url| url.starts_with(origin)) {
        return Ok(false);
    }
    same("instance", shown["provider_name"].as_str(), first.header(INSTANCE))?;
    same("URL", shown["url"].as_str(), Some(&*format!("{origin}{}", first.path)))?;
    same("method", shown["method"].as_str(), Some(&*first.method))?;
    same("body", shown["body"].to_string(), String::from_utf8_lossy(&first.body).into_owned())?;
    for (name, value) in shown["headers"].as_object().into_iter().flatten() {
        let sent = first.header(name).ok_or_else(|| format!("the header {name} was not sent"))?;
        if value != "***" {
            same(name, value.as_str(), Some(sent))?;
        }
    }
    if shown.to_string().contains("sk-upstream-secret") {
        return Err("a credential is shown".into());
    }
    Ok(true)
}
