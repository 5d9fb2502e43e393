//! Tests of `GET /ready`: the state of every dependency, and readiness as a whole.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::{self, TestApp, TestSettings};

async fn ready(app: &TestApp) -> (u16, Value) {
    // A finding about the disk is kept for a moment.
    app.clock.pass(Duration::from_secs(3));
    let answer = app.get("/ready").anonymous().send().await;
    (answer.status, answer.json())
}

async fn failing_provider(app: &TestApp) {
    let body = json!({
        "name": "failing", "type": "openai_compatible", "base_url": "http://127.0.0.1:1/v1", "models": ["text", "long"],
        "resilience": {"max_retries": 0, "breaker_failures": 1},
    });
    app.post("/admin/api/v1/providers", body).send().await.expect_status(201);
}

fn alone(needs_provider: bool) -> TestSettings {
    let mut settings =
        TestSettings { loopback_listener: true, vendors: &[], demo: Some(false), ..TestSettings::default() };
    settings.config.ready_needs_provider = needs_provider;
    settings
}

#[tokio::test]
async fn failing_providers_degrade_readiness() {
    let both = || TestSettings { loopback_listener: true, ..TestSettings::default() };
    app::each_with(both, async |app| {
        failing_provider(&app).await;
        assert_eq!(ready(&app).await.1["providers"], "ok", "nothing is known of it yet");
        assert_eq!(app.chat("failing/text").send().await.status, 502);
        let (status, body) = ready(&app).await;
        assert_eq!(
            (status, &body["providers"], &body["status"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        app.clock.pass(Duration::from_secs(60));
        assert_eq!(ready(&app).await.1["providers"], "ok", "it may be tried again");
    })
    .await;
    for (needed, expected) in [(false, (200, "degraded")), (true, (503, "down"))] {
        app::each_with(
            || alone(needed),
            async |app| {
                assert_eq!(ready(&app).await.1["providers"], "down", "there is none");
                failing_provider(&app).await;
                assert_eq!(ready(&app).await.0, 200);
                app.chat("failing/text").send().await;
                let (status, body) = ready(&app).await;
                assert_eq!((status, body["status"].as_str().unwrap()), expected, "{body}");
                assert_eq!(body["providers"], "down");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_full_disk_degrades_readiness() {
    app::each(async |app| {
        assert_eq!(ready(&app).await.1["journal"], "ok");
        let probe = app.data_directory().join(".write-probe");
        std::os::unix::fs::symlink("/dev/full", &probe).unwrap();
        let (status, body) = ready(&app).await;
        assert_eq!(
            (status, &body["status"], &body["journal"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        std::fs::remove_file(&probe).unwrap();
        assert_eq!(ready(&app).await.1["status"], "ok");

        let store::Backend::Sqlite { path } = &app.backend else { return };
        let probe = path.parent().unwrap().join(".write-probe");
        std::os::unix::fs::symlink("/dev/full", &probe).unwrap();
        let (status, body) = ready(&app).await;
        assert_eq!(
            (status, &body["status"], &body["storage"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        std::fs::remove_file(&probe).unwrap();
        assert_eq!(ready(&app).await.1["status"], "ok");
    })
    .await;
}
