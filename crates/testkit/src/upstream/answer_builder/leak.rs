//! Errors that repeat the request's credential in every place a careless provider could.

use super::super::answer::{Answer, Step};
use super::super::dialect::Dialect;
use super::super::fault_script::Leak;
use super::super::rejection::UpstreamRejection;
use super::super::upstream_request::UpstreamRequest;
use super::AnswerBuilder;

impl AnswerBuilder<'_> {
    pub(super) fn leak(&self, leak: Leak) -> Answer {
        let dialect = self.renderer.dialect();
        let leaked = headers_and_query(self.context);
        let error = |status| {
            dialect.error(&UpstreamRejection::new(status, format!("Refused to the caller with {leaked}")))
        };
        let answer = match leak {
            Leak::Page => Answer {
                status: 502,
                content_type: "text/html".into(),
                ..Answer::whole(format!("<html><body>{leaked}</body></html>"))
            },
            Leak::Stream if self.request.streams => {
                let name = if dialect == Dialect::Messages { "event: error\n" } else { "" };
                Answer::stream(vec![Step::send(format!("{name}data: {}\n\n", error(500)))])
            }
            Leak::Stream => Answer::whole(error(500).to_string()),
            Leak::Status(status) => Answer { status, ..Answer::whole(error(status).to_string()) },
        };
        let headers = ["x-seen", "www-authenticate", "set-cookie", "location", "x-request-cost"];
        Answer { headers: headers.map(|name| (name.to_owned(), leaked.clone())).to_vec(), ..answer }
    }
}

/// Every header and the query on one line.
fn headers_and_query(context: &UpstreamRequest<'_>) -> String {
    let headers = context.headers.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    let texts: Vec<String> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{} ?{}", texts.join("; "), context.query)
}
