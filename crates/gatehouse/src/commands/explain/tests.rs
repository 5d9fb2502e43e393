//! Tests of the command: its arguments, the request, the errors of a gateway, and the summary.

use std::io::Write as _;
use std::net::TcpListener;
use std::thread::JoinHandle;

use clap::Parser;

use super::super::gateway_client::{GatewayClient, GatewayRequest, find_key, own_url};
use super::*;
use crate::settings::{self, Settings};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn parse(words: &[&str]) -> Result<Options, String> {
    let line = Line::try_parse_from(std::iter::once("explain").chain(words.iter().copied()));
    line.map(|line| line.options).map_err(|error| error.to_string())
}

fn settings(variables: &[(&str, &str)]) -> Settings {
    let directory = tempfile::tempdir().unwrap();
    let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    settings::load(environment, directory.path(), None, &[]).unwrap()
}

#[test]
fn a_bad_line_is_refused_with_its_reason() {
    for (words, reason) in [
        (&[][..], "--body <FILE>"),
        (&["--model", "m"], "--message <TEXT>"),
        (&["--message", "hi"], "--model <NAME>"),
        (&["--body", "-", "--model", "m", "--message", "hi"], "cannot be used with"),
        (&["--model", "m", "--message", "hi", "--path", "/v1/messages"], "cannot be used with"),
        (&["--body", "-", "--stream"], "cannot be used with"),
        (&["--body", "-", "--header", "nothing"], "not of the form 'Name: value'"),
    ] {
        let message = parse(words).err().unwrap();
        assert!(message.contains(reason), "{words:?}: {message}");
    }
}

#[test]
fn a_request_is_written_from_arguments_or_a_file() {
    let written = |words: &[&str], input: &str| request(&parse(words).unwrap(), &mut input.as_bytes());
    let text = written(
        &[
            "--model",
            "m",
            "--message",
            "Hi \"you\"",
            "--stream",
            "-H",
            "X-User-Path:/team",
            "--as-key",
            "key_1",
        ],
        "",
    );
    let found: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let messages = json!([{"role": "user", "content": "Hi \"you\""}]);
    let expected = json!({
        "headers": {"X-User-Path": "/team"},
        "body": {"model": "m", "messages": messages, "stream": true},
        "as_key_id": "key_1",
    });
    assert_eq!(found, expected);
    let text =
        written(&["--body", "-", "--path", "/v1/messages?beta=true"], " {\"temperature\":  1.00}\n").unwrap();
    assert_eq!(text, r#"{"path":"/v1/messages?beta=true","headers":{},"body":{"temperature":  1.00}}"#);
    let refused = written(&["--body", "-"], "{oops").unwrap_err();
    assert!(refused.starts_with("The body in - is not JSON: "), "{refused}");
    let twice = ["--body", "-", "--header", "A: 1", "--header", "A: 2"];
    assert_eq!(written(&twice, "{}").unwrap_err(), "The header 'A' is given twice. Give it once.");
    let missing = written(&["--body", "no/such/file.json"], "").unwrap_err();
    assert!(missing.starts_with("no/such/file.json cannot be read: "), "{missing}");
}

#[test]
fn the_address_is_that_of_the_settings() {
    for (variables, expected) in [
        (&[][..], "http://127.0.0.1:8080"),
        (&[("PORT", "9000"), ("BASE_PATH", "/gate/")], "http://127.0.0.1:9000/gate"),
        (&[("HOST", "localhost")], "http://localhost:8080"),
        (&[("HOST", "::1")], "http://[::1]:8080"),
        (&[("HOST", "0.0.0.0")], "http://127.0.0.1:8080"),
    ] {
        assert_eq!(own_url(&settings(variables)).unwrap(), expected);
    }
    assert!(own_url(&settings(&[("PORT", "0")])).unwrap_err().contains("--url"));
}

#[test]
fn a_key_file_wins_over_the_settings_and_these_over_the_data_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (data, own) = (directory.path().to_str().unwrap(), directory.path().join("own.key"));
    std::fs::write(&own, "gk_own\n").unwrap();
    let with_nothing = settings(&[("DATA_DIR", data)]);
    let missing = find_key(&with_nothing, None).unwrap_err();
    assert!(missing.contains("master.key") && missing.contains("--key-file"), "{missing}");
    std::fs::write(directory.path().join("master.key"), "gm_stored\n").unwrap();
    let configured = settings(&[("DATA_DIR", data), ("GATEWAY_MASTER_KEY", "gm_configured")]);
    for (settings, file, expected) in [
        (&with_nothing, None, "gm_stored"),
        (&configured, None, "gm_configured"),
        (&configured, Some(own.as_path()), "gk_own"),
    ] {
        assert_eq!(find_key(settings, file).unwrap().value.reveal(), expected);
    }
    std::fs::write(&own, " \n").unwrap();
    assert!(find_key(&configured, Some(&own)).unwrap_err().ends_with("own.key is empty."));
}

/// A server that answers one request: its address, and the request that it received.
fn serve_once(status: u16, body: &str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!("HTTP/1.1 {status} Any\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let received = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut text, mut chunk) = (Vec::new(), [0; 4096]);
        // The body is a JSON object, and its end is the only closing brace at the end of a read.
        while !text.ends_with(b"}") {
            let count = stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the request is not complete");
            text.extend_from_slice(&chunk[..count]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(text).unwrap()
    });
    (url, received)
}

/// Explains a request at a gateway with the key `gm_0123456789`.
fn explain_at(url: &str) -> Result<String, String> {
    let settings = settings(&[("GATEWAY_MASTER_KEY", "gm_0123456789")]);
    let client = GatewayClient::new(&settings, Some(url), None)?;
    let body = Some("{\"body\":{}}".to_owned());
    block_on(client.send(GatewayRequest { body, ..GatewayRequest::post(PATH, SCOPE) }))
}

#[test]
fn the_gateway_gets_the_request_with_the_key() {
    let (url, received) = serve_once(200, "{\"decision\": {}}");
    assert_eq!(explain_at(&format!("{url}/gate/")).unwrap(), "{\"decision\": {}}");
    let received = received.join().unwrap();
    assert!(received.starts_with("POST /gate/admin/api/v1/explain HTTP/1.1\r\n"), "{received}");
    assert!(received.to_lowercase().contains("authorization: bearer gm_0123456789\r\n"), "{received}");
    assert!(received.ends_with("\r\n\r\n{\"body\":{}}"), "{received}");
}

#[test]
fn errors_say_what_to_do() {
    let error = |message: &str, param: Option<&str>| {
        json!({"error": {"message": message, "param": param}}).to_string()
    };
    for (status, body, expected) in [
        (
            401,
            error("Invalid key.", None),
            "refused the key from GATEWAY_MASTER_KEY. Set GATEWAY_MASTER_KEY or --key-file",
        ),
        (
            403,
            error("Not allowed.", None),
            "Not allowed. The key from GATEWAY_MASTER_KEY needs the scope admin:explain:read.",
        ),
        (404, error("There is no key 'x'.", Some("as_key_id")), "There is no key 'x'."),
        (404, error("Unknown route.", None), "There is no admin API at http://"),
        (400, error("'path' is unknown.", Some("path")), "'path' is unknown."),
        (502, "<html>bad gateway</html>".to_owned(), "answered 502, and not as a gateway does"),
    ] {
        let (url, received) = serve_once(status, &body);
        let reason = explain_at(&url).unwrap_err();
        assert!(reason.contains(expected), "{status}: {reason}");
        received.join().unwrap();
    }
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let reason = explain_at(&url).unwrap_err();
    assert!(reason.contains("cannot be reached") && reason.contains("--url"), "{reason}");
    let reason = explain_at("localhost:8080").unwrap_err();
    assert!(reason.contains("is not the address of a gateway"), "{reason}");
}

/// An explanation of a call that a limit refuses, with all parts.
fn explanation() -> Value {
    json!({
        "principal": {"auth_method": "api_key", "auth_key_id": "key_1", "name": "ci\u{1b}[2J", "user_path": "/team",
            "scopes": ["inference"], "provider_pool": "eu", "active": true},
        "request": {"request_id": "r1", "path": "/v1/chat/completions", "surface": "chat", "model": "fast",
            "provider": null, "stream": true, "input_tokens_estimate": 23, "max_output": null},
        "resolution": {"steps": [{"step": "alias", "detail": "'fast' leads to 'a/m'"}], "error": null},
        "workflow": {"id": "wf_1", "effective_features": {"cache": false, "audit": true, "fallback": false}},
        "guardrails": {"request": [
            {"name": "pii", "subject": "request", "mode": "monitor", "verdict": "redact", "kinds": {"email": 2}}],
            "answer": ["pii"], "record": []},
        "cache": {"status": "miss", "miss_reason": "not_found", "key": null, "ttl_seconds": 1, "guardrails_hash": ""},
        "candidates": [
            {"position": 1, "selector": "a/m", "availability": "cooling", "reason": "the only target", "retry_in_ms": 40,
                "dialect": "native", "estimated_cost": 0.00246105, "dropped": ["seed"], "error": null},
            {"position": 2, "selector": "b/m", "availability": "ready", "reason": "tried when the others have failed",
                "retry_in_ms": null, "dialect": null, "estimated_cost": null, "dropped": [],
                "error": {"status": 501, "code": "unsupported", "message": "Not here."}}],
        "limits": [{"scope": "requests_per_minute", "limit": 5, "remaining": 0, "reset_seconds": 12, "refuses": true}],
        "decision": {"first": null, "would_try": [], "error": {"status": 429, "code": "limited", "message": "Retry in 12 s."}},
        "estimated_cost": {"currency": "USD", "input_tokens": 23, "max_output_tokens": 4096, "worst": 0.5},
        "budgets": [{"user_path": "/team", "period_label": "daily", "amount": 10, "remaining": 9.59, "fits": true}],
        "max_tokens_clamped": {"asked": 100, "used": 50},
    })
}

#[test]
fn a_summary_has_a_line_for_each_decision() {
    let expected = "\
Caller      key key_1 (ci\u{fffd}[2J), user path /team, scopes inference, bound to the pool eu
Request     POST /v1/chat/completions, model fast, streamed, about 23 input tokens
            id r1, the seed of random choices
Resolution  alias: 'fast' leads to 'a/m'
Workflow    wf_1, off: cache, fallback
Guardrails  pii: redact (monitored, without effect), found 2 email
            on the answer: pii
Cache       miss (not_found)
Limits      requests_per_minute: 0 of 5 left, more in 12 s, refuses the call
Budgets     /team daily: $9.59 of $10.00 left, the call fits
            output bound lowered from 100 to 50
Candidates  1. a/m: cooling, the only target, available in 40 ms, native, $0.00246105, without seed
            2. b/m: ready, tried when the others have failed, no price, refused with 501 unsupported: Not here.
Cost        at most $0.50, for 23 input and up to 4096 output tokens
Decision    refused with 429 limited: Retry in 12 s.
";
    let answer = explanation().to_string();
    assert_eq!(output(&answer, false).unwrap(), expected);
    assert_eq!(output(&answer, true).unwrap(), format!("{answer}\n"));
}

#[test]
fn a_summary_leaves_out_what_the_call_would_not_reach() {
    let mut explanation = explanation();
    for part in [
        "workflow",
        "guardrails",
        "cache",
        "limits",
        "budgets",
        "candidates",
        "estimated_cost",
        "max_tokens_clamped",
    ] {
        explanation[part] = Value::Null;
    }
    explanation["decision"] = json!({"first": "a/m", "would_try": ["a/m", "b/m"], "error": null});
    let text = summary::text(&explanation);
    let labels: Vec<&str> =
        text.lines().filter(|line| !line.starts_with(' ')).map(|line| line[..12].trim()).collect();
    assert_eq!(labels, ["Caller", "Request", "Resolution", "Workflow", "Decision"]);
    assert!(text.contains("Workflow    managed default\n"), "{text}");
    assert!(text.ends_with("Decision    sent to a/m, then to b/m\n"), "{text}");
}
