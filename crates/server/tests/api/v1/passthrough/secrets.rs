//! Tests that the provider's credential is never returned to the client, however the provider repeats it.

use std::io::Write as _;

use flate2::write::{GzEncoder, ZlibEncoder};
use http::Method;
use testkit::{Answer as Scripted, FaultScript, Step};

use crate::app::{self, TestApp, UPSTREAM_KEY, question};

fn encoded(encoding: &str, text: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    match encoding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        // One uncompressed meta-block and the end of the stream.
        "br" => {
            let header = ((text.len() - 1) as u32) << 4 | 1 << 20;
            [&header.to_le_bytes()[..3], text, &[3]].concat()
        }
        _ => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
    }
}

fn answer(kind: &str, steps: Vec<Step>, headers: &[(&str, &str)]) -> FaultScript {
    FaultScript::Exact(Scripted {
        content_type: kind.into(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        steps,
        ..Scripted::default()
    })
}

async fn get(app: &TestApp) -> app::Answer {
    app.get("/p/openai/v1/echo").send().await
}

#[tokio::test]
async fn a_secret_is_masked_in_any_chunks_and_media_type() {
    app::each(async |app| {
        let text = format!("before {UPSTREAM_KEY} after {}", &UPSTREAM_KEY[..9]);
        let masked = text.replace(UPSTREAM_KEY, &"*".repeat(UPSTREAM_KEY.len()));
        for kind in ["application/json", "text/event-stream", "application/octet-stream", "image/png", ""] {
            for size in [1, 7, 11, text.len()] {
                let wait = Step::Wait(std::time::Duration::from_millis(2));
                let pieces = text.as_bytes().chunks(size);
                let steps = pieces.flat_map(|piece| [Step::send(piece.to_vec()), wait.clone()]).collect();
                app.upstream.push(answer(kind, steps, &[]));
                let found = get(&app).await.expect_status(200);
                assert_eq!(found.text(), masked, "{kind} {size}");
            }
        }
        let body = text.clone().into_bytes();
        app.upstream.push(FaultScript::status(200, "application/octet-stream", body));
        assert_eq!(get(&app).await.text(), masked, "with its length announced");
    })
    .await;
}

#[tokio::test]
async fn a_compressed_answer_is_decoded_metered_and_masked() {
    app::each(async |app| {
        let body = format!(
            r#"{{"id":"c1","choices":[],"said":"{UPSTREAM_KEY}","usage":{{"prompt_tokens":7,"completion_tokens":3}}}}"#
        );
        for encoding in ["gzip", "deflate", "br"] {
            let packed = encoded(encoding, body.as_bytes());
            for status in [200, 400] {
                app.upstream.push(FaultScript::Exact(Scripted {
                    status,
                    headers: vec![("content-encoding".into(), encoding.into())],
                    ..Scripted::whole(packed.clone())
                }));
                let found = app.post("/p/openai/v1/chat/completions", question("text")).send().await;
                assert_eq!((found.status, found.header("content-encoding")), (status, None));
                assert!(!found.text().contains(UPSTREAM_KEY), "{}", found.text());
            }
        }
        let rows = app.receipts(6).await;
        assert_eq!((&rows[0]["input_tokens"], &rows[0]["output_tokens"]), (&7.into(), &3.into()), "{:#}", rows[0]);
        assert_eq!(rows[0]["estimated"], false);
    })
    .await;
}

#[tokio::test]
async fn an_encoding_that_cannot_be_decoded_is_refused_and_estimated() {
    app::each(async |app| {
        for (status, encoding) in [(200, "compress"), (206, "br"), (200, "gzip, br"), (206, "gzip")] {
            app.upstream.push(FaultScript::Exact(Scripted {
                status,
                headers: vec![("content-encoding".into(), encoding.into())],
                ..Scripted::whole(UPSTREAM_KEY)
            }));
            let found = app.post("/p/openai/v1/chat/completions", question("text")).refusal().await;
            assert_eq!((found.0, &*found.1), (502, "upstream_invalid_response"), "{encoding}");
        }
        let rows = app.receipts(4).await;
        assert!(rows.iter().all(|row| row["input_tokens"].as_u64().unwrap() > 0), "{rows:#?}");
        // A head alone has nothing to decode.
        app.upstream.push(FaultScript::Exact(Scripted {
            headers: vec![("content-encoding".into(), "br".into())],
            ..Scripted::default()
        }));
        let head = app.call(Method::HEAD, "/p/openai/v1/echo").send().await;
        assert_eq!((head.status, head.header("content-encoding")), (200, Some("br")));
    })
    .await;
}

#[tokio::test]
async fn a_header_that_repeats_the_credential_stays_behind() {
    app::each(async |app| {
        let echo = format!("<https://x/?key={UPSTREAM_KEY}>");
        let headers = [("link", &*echo), ("request-id", UPSTREAM_KEY), ("etag", "\"v1\"")];
        app.upstream.push(answer("application/json", vec![Step::send("{}")], &headers));
        let found = get(&app).await.expect_status(200);
        assert_eq!((found.header("link"), found.header("request-id")), (None, None));
        assert_eq!(found.header("etag"), Some("\"v1\""));
    })
    .await;
}
