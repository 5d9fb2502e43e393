//! Errors that repeat the request's credential in every place a careless provider could.

use super::desk::Visit;
use super::dialect::Dialect;
use super::refusal::Refusal;
use super::script::{Answer, Step};

/// Answers `tattle-NNN`, `tattle-page` and `tattle-stream`.
pub(super) fn answer(visit: &Visit<'_>, dialect: Dialect, streams: bool, behaviour: &str) -> Option<Answer> {
    let form = behaviour.strip_prefix("tattle-")?;
    let heard = heard(visit);
    let error = |status| dialect.error(&Refusal::new(status, format!("Refused to the caller with {heard}")));
    let answer = match form {
        "page" => Answer {
            status: 502,
            content_type: "text/html".into(),
            ..Answer::whole(format!("<html><body>{heard}</body></html>"))
        },
        "stream" if streams => {
            let name = if dialect == Dialect::Messages { "event: error\n" } else { "" };
            Answer::stream(vec![Step::send(format!("{name}data: {}\n\n", error(500)))])
        }
        "stream" => Answer::whole(error(500).to_string()),
        _ => {
            let status = form.parse().ok()?;
            Answer { status, ..Answer::whole(error(status).to_string()) }
        }
    };
    let headers = ["x-seen", "www-authenticate", "set-cookie", "location", "x-request-cost"];
    Some(Answer { headers: headers.map(|name| (name.to_owned(), heard.clone())).to_vec(), ..answer })
}

/// Every header and the query on one line.
fn heard(visit: &Visit<'_>) -> String {
    let headers = visit.headers.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    let texts: Vec<String> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{} ?{}", texts.join("; "), visit.query)
}
