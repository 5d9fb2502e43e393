//! Tests that a resumed stream has one receipt for all targets that took part.

use http_body_util::BodyExt as _;
use serde_json::json;
use testkit::{FaultScript, RESUMABLE_TEXT};

use super::{PAIRS, ask, check_whole, furnish, resuming};
use crate::app::{self, Client};

#[tokio::test]
async fn a_resumed_stream_is_one_receipt_of_all_its_parts() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        for (number, pair) in PAIRS.into_iter().enumerate() {
            let answer = ask(
                &app,
                Client::Chat,
                pair,
                &["resumable-cut-after-60", "resumable-cut-after-60", "resumable"],
            )
            .await;
            check_whole(Client::Chat, &answer, RESUMABLE_TEXT, 2, pair);
            assert!(answer.text().contains(" attempts=3 resumed=2\n"), "{}", answer.text());
            let rows = app.receipts(number + 1).await;
            let row = rows.last().unwrap();
            assert_eq!((&row["status_code"], &row["estimated"]), (&json!(200), &json!(true)), "{row:#}");
            assert!(row["caveat"].as_str().is_some_and(|caveat| caveat.contains("resumed")), "{row:#}");
            let bill = app.upstream.bill();
            let parts = &bill[bill.len() - 3..];
            assert_eq!(row["provider_id"], parts[2].id, "{row:#}");
            // Two of three parts are estimates.
            for (name, billed) in [
                ("input_tokens", parts.iter().map(|line| line.prompt_tokens).sum::<u64>()),
                ("output_tokens", parts.iter().map(|line| line.completion_tokens).sum::<u64>()),
            ] {
                let found = row[name].as_u64().unwrap();
                assert!(found > billed / 4 && found < 4 * billed + 64, "{name}: {found} for {billed}");
            }
            let told = answer.named_events();
            let usage = told.iter().find(|(_, data)| data["usage"].is_object()).unwrap();
            assert_eq!(usage.1["usage"]["total_tokens"], row["total_tokens"], "{pair}: {row:#}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_disconnect_during_a_resume_leaves_one_receipt() {
    app::each_with(resuming, async |app| {
        furnish(&app).await;
        for (number, pair) in PAIRS.into_iter().enumerate() {
            for script in ["resumable-cut-after-60", "hang"] {
                app.upstream.push(FaultScript::named(script));
            }
            let mut body = Client::Chat.body(pair, "Tell me the tale.");
            body["stream"] = json!(true);
            let response = app.post("/v1/chat/completions", body).open().await;
            let mut received = String::new();
            let mut body = response.into_body();
            while let Ok(Some(Ok(frame))) =
                tokio::time::timeout(std::time::Duration::from_millis(300), body.frame()).await
            {
                received.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
            }
            assert!(received.contains("Once") && !received.contains("[DONE]"), "{received}");
            drop(body);
            let rows = app.receipts(number + 1).await;
            let row = rows.last().unwrap();
            assert_eq!((&row["status_code"], &row["estimated"]), (&json!(499), &json!(true)), "{row:#}");
            assert!(row["output_tokens"].as_u64().is_some_and(|count| (5..60).contains(&count)), "{row:#}");
            app.upstream.reset();
        }
    })
    .await;
}
