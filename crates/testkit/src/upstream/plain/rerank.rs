//! Rerank: documents ordered by the number of words they share with the query.

use serde_json::{Value, json};

use super::super::answer::Step;
use super::super::chat;
use super::super::dialect::{Dialect, ResponseRenderer};
use super::super::openai::{invalid, missing};
use super::super::parsed_request::ParsedRequest;
use super::super::rejection::{UpstreamRejection, given, list};
use super::super::reply::{Reply, UsageStyle};
use super::super::upstream_request::{AcceptedRequest, UpstreamRequest};

const FIELDS: [&str; 6] = ["documents", "model", "query", "return_documents", "top_n", "user"];

struct RerankRenderer {
    query: String,
    documents: Vec<Value>,
    most: usize,
    returns: bool,
}

pub(in super::super) fn open<'a>(
    context: &UpstreamRequest<'a>,
    request: &Value,
) -> Result<AcceptedRequest<'a>, UpstreamRejection> {
    let parsed = super::admit(context, request, &FIELDS)?;
    let query = request["query"].as_str().ok_or_else(|| missing("query"))?.to_owned();
    let documents = list(&request["documents"]).to_vec();
    let readable = |document: &Value| text(document).is_some_and(|text| !text.is_empty());
    if documents.is_empty() || !documents.iter().all(readable) {
        return Err(invalid("documents", &request["documents"]));
    }
    let most = given(request, "top_n").map_or(Some(documents.len() as u64), Value::as_u64);
    let most = most.filter(|most| (1..=documents.len() as u64).contains(most));
    let most = most.ok_or_else(|| invalid("top_n", &request["top_n"]))? as usize;
    let mut texts = vec![query.clone()];
    texts.extend(documents.iter().filter_map(text).map(str::to_owned));
    let returns = request["return_documents"] != false;
    let renderer = RerankRenderer { query, documents, most, returns };
    Ok(AcceptedRequest { parsed: ParsedRequest { texts, ..parsed }, renderer: Box::new(renderer) })
}

fn text(document: &Value) -> Option<&str> {
    document.as_str().or(document["text"].as_str())
}

impl RerankRenderer {
    fn score(&self, document: &Value) -> f64 {
        let document = text(document).unwrap_or_default().to_lowercase();
        let query = self.query.to_lowercase();
        let shared = query.split_whitespace().filter(|word| document.contains(word)).count();
        shared as f64 / query.split_whitespace().count().max(1) as f64
    }
}

impl ResponseRenderer for RerankRenderer {
    fn dialect(&self) -> Dialect {
        Dialect::Rerank
    }

    fn document(&self, reply: &Reply) -> Value {
        let mut results: Vec<(usize, f64)> =
            self.documents.iter().map(|document| self.score(document)).enumerate().collect();
        results.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        results.truncate(self.most);
        let result = |(index, score): (usize, f64)| {
            let mut result = json!({"index": index, "relevance_score": score});
            if self.returns {
                result["document"] = json!({"text": text(&self.documents[index])});
            }
            result
        };
        let results: Vec<Value> = results.into_iter().map(result).collect();
        let mut document = json!({"model": reply.model, "object": "list", "results": results});
        match reply.usage {
            UsageStyle::Absent => {}
            UsageStyle::Weird => document["usage"] = json!({"total_tokens": -5}),
            UsageStyle::Plain | UsageStyle::EveryChunk => {
                let tokens = reply.prompt_tokens;
                document["usage"] = json!({"prompt_tokens": tokens, "total_tokens": tokens});
            }
        }
        document
    }

    fn events(&self, _reply: &Reply) -> Vec<Step> {
        Vec::new()
    }

    fn failing_end(&self, _reply: &Reply, _sent: usize) -> Step {
        Step::send(chat::event(&Dialect::Rerank.error(&Dialect::Rerank.overloaded())))
    }
}
