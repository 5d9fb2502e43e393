//! Tests of the command: arguments, prompts, the check against a small server, files and reset.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use clap::Parser;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn parse(words: &[&str]) -> Result<Options, String> {
    let line = Line::try_parse_from(std::iter::once("connect").chain(words.iter().copied()));
    line.map(|line| line.options).map_err(|error| error.to_string())
}

fn machine(home: &TempDir) -> Machine {
    let directories = Directories { home: home.path().to_owned(), variables: BTreeMap::new() };
    let now = Timestamp(1_800_000_000_000_000);
    Machine { directories: Some(directories), egress: EgressConfig::default(), now }
}

fn run(words: &[&str], input: &str, home: &TempDir) -> Result<String, String> {
    let mut input = input.as_bytes();
    connect(&parse(words).unwrap(), &machine(home), &mut Prompt::of_text(&mut input))
}

/// A server that answers each request with the next status and body, and returns the requests.
fn serve(answers: Vec<(u16, &'static str)>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let answer = |(status, body): (u16, &str)| {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&stream);
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
            request
        };
        answers.into_iter().map(answer).collect()
    });
    (url, serving)
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

const MODELS: &str = r#"{"object":"list","data":[{"id":"m-1"},{"id":"m-2"}]}"#;

#[test]
fn a_bad_line_is_refused_with_its_reason() {
    for (words, reason) in [
        (&[][..], "<TOOL>"),
        (&["claude-cod"], "claude-code"),
        (&["codex", "--key", "k", "--key-file", "f"], "cannot be used with"),
        (&["codex", "--reset", "--model", "m"], "cannot be used with"),
    ] {
        let message = parse(words).err().unwrap();
        assert!(message.contains(reason), "{words:?}: {message}");
    }
}

#[test]
fn a_tool_is_connected_and_reset() {
    let home = TempDir::new().unwrap();
    let (url, serving) = serve(vec![(200, MODELS), (200, "{}")]);
    // Address and key are asked for.
    let text = run(&["claude-code", "--model", "m-2"], &format!("{url}\ngh-secret-1234\n"), &home).unwrap();
    let requests = serving.join().unwrap();
    assert!(
        requests[0].starts_with("GET /v1/models ") && requests[0].contains("Bearer gh-secret-1234"),
        "{requests:?}"
    );
    assert!(requests[1].starts_with("POST /v1/messages ") && requests[1].contains("\"m-2\""), "{requests:?}");
    assert!(
        text.contains("2 models, and a call with 'm-2' succeeded.") && !text.contains("gh-secret"),
        "{text}"
    );
    let file = home.path().join(".claude/settings.json");
    let settings: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(settings["env"]["ANTHROPIC_BASE_URL"], url);
    assert_eq!(settings["env"]["ANTHROPIC_AUTH_TOKEN"], "gh-secret-1234");
    let text = run(&["claude-code", "--reset"], "", &home).unwrap();
    assert_eq!(text, format!("removed {}\n", file.display()));
    assert!(!file.exists());
    let reason = run(&["claude-code", "--reset"], "", &home).unwrap_err();
    assert!(reason.contains("There is no backup of the files of Claude Code"), "{reason}");
}

#[test]
fn each_tool_is_checked_by_its_own_api() {
    for (tool, expected) in [
        ("codex", "POST /v1/responses "),
        ("opencode", "POST /v1/chat/completions "),
        ("gemini-cli", "POST /v1beta/models/m-1:generateContent "),
        ("cursor", "POST /v1/chat/completions "),
    ] {
        let home = TempDir::new().unwrap();
        let (url, serving) = serve(vec![(200, MODELS), (200, "{}")]);
        run(&[tool, "--url", &url, "--key", "gh-secret-1234"], "", &home).unwrap();
        let requests = serving.join().unwrap();
        assert!(requests[1].starts_with(expected), "{tool}: {requests:?}");
    }
}

#[test]
fn nothing_is_written_if_the_check_fails() {
    let refused = r#"{"error":{"message":"No such model."}}"#;
    for (answers, expected) in [
        (vec![(401, "{}")], "refused the key from --key"),
        (vec![(200, "<html>")], "does not answer as a gateway does"),
        (vec![(200, r#"{"data":[]}"#)], "has no models for this key"),
        (vec![(200, MODELS), (404, refused)], "The call with the model 'm-9' failed: No such model."),
    ] {
        let home = TempDir::new().unwrap();
        let (url, serving) = serve(answers);
        let reason =
            run(&["codex", "--url", &url, "--key", "gh-1", "--model", "m-9"], "", &home).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
        serving.join().unwrap();
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{expected}");
    }
    let home = TempDir::new().unwrap();
    let reason = run(&["codex", "--url", "http://127.0.0.1:9", "--key", "gh-1"], "", &home).unwrap_err();
    assert!(reason.contains("http://127.0.0.1:9 cannot be reached"), "{reason}");
    let reason = run(&["codex", "--url", "nowhere", "--key", "gh-1"], "", &home).unwrap_err();
    assert_eq!(reason, "The address must be an http or https URL without user, query and fragment.");
    let reason = run(&["codex", "--url", "http://127.0.0.1:9"], "\n", &home).unwrap_err();
    assert_eq!(reason, "Key is missing: type it, or use --key-file.");
}

#[test]
fn a_model_is_asked_for_where_it_is_needed() {
    let home = TempDir::new().unwrap();
    let (url, serving) = serve(vec![(200, MODELS), (200, "{}")]);
    run(&["qwen", "--url", &url, "--key", "gh-secret-1234"], "\n", &home).unwrap();
    serving.join().unwrap();
    let variables = std::fs::read_to_string(home.path().join(".qwen/.env")).unwrap();
    assert!(variables.contains("OPENAI_MODEL=m-1\n"), "{variables}");
}

#[test]
fn printing_masks_the_key_and_writes_nothing() {
    let home = TempDir::new().unwrap();
    let text = run(&["codex", "--print", "--key", "gh-secret-1234"], "", &home).unwrap();
    assert!(text.contains("# ~/.codex/config.toml") && text.contains("****1234"), "{text}");
    assert!(!text.contains("gh-secret"), "{text}");
    let text = run(&["codex", "--print"], "", &home).unwrap();
    assert!(text.contains("YOUR_GATEWAY_KEY") && text.contains("http://127.0.0.1:8080/v1"), "{text}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
