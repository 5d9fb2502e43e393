//! `GET /ready`: the state of every dependency, and whether the gateway should get calls.

use std::time::Duration;

use serde_json::{Value, json};

use crate::house::{self, House, Wishes};

async fn ready(house: &House) -> (u16, Value) {
    // A finding about the disk is kept for a moment.
    house.clock.pass(Duration::from_secs(3));
    let answer = house.get("/ready").anonymous().send().await;
    (answer.status, answer.json())
}

async fn failing_provider(house: &House) {
    let body = json!({
        "name": "failing", "type": "openai_compatible", "base_url": "http://127.0.0.1:1/v1", "models": ["text", "long"],
        "resilience": {"max_retries": 0, "breaker_failures": 1},
    });
    house.post("/admin/api/v1/providers", body).send().await.expect_status(201);
}

fn alone(needs_provider: bool) -> Wishes {
    let mut wishes = Wishes { loopback_listener: true, vendors: &[], demo: Some(false), ..Wishes::default() };
    wishes.config.ready_needs_provider = needs_provider;
    wishes
}

#[tokio::test]
async fn failing_providers_are_told() {
    let both = || Wishes { loopback_listener: true, ..Wishes::default() };
    house::each_with(both, async |house| {
        failing_provider(&house).await;
        assert_eq!(ready(&house).await.1["providers"], "ok", "nothing is known of it yet");
        assert_eq!(house.chat("failing/text").send().await.status, 502);
        let (status, body) = ready(&house).await;
        assert_eq!(
            (status, &body["providers"], &body["status"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        house.clock.pass(Duration::from_secs(60));
        assert_eq!(ready(&house).await.1["providers"], "ok", "it may be tried again");
    })
    .await;
    for (needed, expected) in [(false, (200, "degraded")), (true, (503, "down"))] {
        house::each_with(
            || alone(needed),
            async |house| {
                assert_eq!(ready(&house).await.1["providers"], "down", "there is none");
                failing_provider(&house).await;
                assert_eq!(ready(&house).await.0, 200);
                house.chat("failing/text").send().await;
                let (status, body) = ready(&house).await;
                assert_eq!((status, body["status"].as_str().unwrap()), expected, "{body}");
                assert_eq!(body["providers"], "down");
            },
        )
        .await;
    }
}

#[tokio::test]
async fn a_full_disk_is_told_before_a_call_meets_it() {
    house::each(async |house| {
        assert_eq!(ready(&house).await.1["journal"], "ok");
        let probe = house.data_directory().join(".write-probe");
        std::os::unix::fs::symlink("/dev/full", &probe).unwrap();
        let (status, body) = ready(&house).await;
        assert_eq!(
            (status, &body["status"], &body["journal"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        std::fs::remove_file(&probe).unwrap();
        assert_eq!(ready(&house).await.1["status"], "ok");

        let store::Backend::Sqlite { path } = &house.backend else { return };
        let probe = path.parent().unwrap().join(".write-probe");
        std::os::unix::fs::symlink("/dev/full", &probe).unwrap();
        let (status, body) = ready(&house).await;
        assert_eq!(
            (status, &body["status"], &body["storage"]),
            (200, &json!("degraded"), &json!("degraded"))
        );
        std::fs::remove_file(&probe).unwrap();
        assert_eq!(ready(&house).await.1["status"], "ok");
    })
    .await;
}
