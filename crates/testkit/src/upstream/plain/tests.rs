//! Tests of embeddings, rerank and completions: answers, errors, and the bill.

use serde_json::{Value, json};

use crate::upstream::Upstream;
use crate::upstream::tests::socket::{RawResponse, ask_with, with};

const KEY: (&str, &str) = ("authorization", "Bearer sk-1");

async fn post(upstream: &Upstream, path: &str, base: Value, changes: Value) -> RawResponse {
    ask_with(upstream, "POST", path, &[KEY], &with(&base, &changes).to_string()).await
}

#[tokio::test]
async fn embeddings_depend_on_the_text() {
    let upstream = Upstream::start().await;
    let base = || json!({"model": "text", "input": ["one two", "three"]});
    for path in ["/v1/embeddings", "/v1beta/openai/embeddings"] {
        let answer = post(&upstream, path, base(), json!({"dimensions": 4})).await.expect_ok();
        assert_eq!(answer["data"][1]["embedding"].as_array().unwrap().len(), 4);
        assert_eq!(answer["usage"], json!({"prompt_tokens": 11, "total_tokens": 11}));
        let line = upstream.bill().pop().unwrap();
        assert_eq!(
            (line.dialect.as_str(), line.prompt_tokens, line.completion_tokens),
            ("embeddings", 11, 0)
        );
        let packed = post(&upstream, path, base(), json!({"encoding_format": "base64"})).await.expect_ok();
        assert!(packed["data"][0]["embedding"].is_string());
    }
    for changes in [
        json!({"input": []}),
        json!({"input": [""]}),
        json!({"input": null}),
        json!({"surprise": 1}),
        json!({"encoding_format": "x"}),
        json!({"model": null}),
    ] {
        post(&upstream, "/v1/embeddings", base(), changes).await.expect_error(400);
    }
    post(&upstream, "/v1/embeddings", base(), json!({"model": "error-503"})).await.expect_error(503);
    ask_with(&upstream, "POST", "/v1/embeddings", &[], &base().to_string()).await.expect_error(401);
    ask_with(&upstream, "POST", "/ollama/v1/embeddings", &[], &base().to_string()).await.expect_ok();
}

#[tokio::test]
async fn rerank_orders_by_shared_words() {
    let upstream = Upstream::start().await;
    let base = || json!({"model": "text", "query": "red fox", "documents": ["a cow", "the red fox", {"text": "a fox"}]});
    let answer = post(&upstream, "/v1/rerank", base(), json!({"top_n": 2})).await.expect_ok();
    let order: Vec<u64> =
        answer["results"].as_array().unwrap().iter().map(|one| one["index"].as_u64().unwrap()).collect();
    assert_eq!(order, [1, 2]);
    assert_eq!(answer["usage"]["total_tokens"], upstream.bill()[0].prompt_tokens);
    for changes in
        [json!({"top_n": 4}), json!({"documents": []}), json!({"query": null}), json!({"surprise": 1})]
    {
        post(&upstream, "/v1/rerank", base(), changes).await.expect_error(400);
    }
}

#[tokio::test]
async fn completions_continue_the_prompt() {
    let upstream = Upstream::start().await;
    let base = || json!({"model": "text", "prompt": "one two three"});
    let answer = post(&upstream, "/v1/completions", base(), json!({})).await.expect_ok();
    assert_eq!(answer["choices"][0]["text"], "Hello from the upstream. You said: one two three");
    let streamed = json!({"stream": true, "stream_options": {"include_usage": true}});
    let response = post(&upstream, "/v1/completions", base(), streamed).await;
    assert_eq!(response.data().last(), Some(&"[DONE]"));
    let usage = response.chunks().pop().unwrap()["usage"].clone();
    for line in upstream.bill() {
        assert_eq!(
            (&usage["prompt_tokens"], &usage["completion_tokens"]),
            (&json!(line.prompt_tokens), &json!(line.completion_tokens))
        );
    }
    assert_eq!(answer["usage"], usage);
    for changes in [json!({"messages": []}), json!({"temperature": 3}), json!({"prompt": {}})] {
        post(&upstream, "/v1/completions", base(), changes).await.expect_error(400);
    }
}
