//! Tests of budgets in applied documents.

use serde_json::{Value, json};

use super::apply;
use crate::app::{self, TestApp, TestSettings};

fn with_budget() -> TestSettings {
    TestSettings { loopback_listener: true, budgets: "/team=daily:10", ..TestSettings::enterprise() }
}

async fn budget(app: &TestApp) -> Value {
    let list = app.get("/admin/api/v1/budgets").send().await.expect_status(200).json();
    list["budgets"][0].clone()
}

#[tokio::test]
async fn the_reset_of_a_budget_is_kept() {
    app::each_with(with_budget, async |app| {
        let reset = json!({"user_path": "/team", "period": "daily"});
        app.post("/admin/api/v1/budgets/reset-one", reset).send().await.expect_status(200);
        let at = budget(&app).await["last_reset_at"].clone();
        assert!(at.is_string(), "{at}");
        let amount = json!({"documents": {"budgets": {"/team|daily": {"amount": 7}}}});
        apply(&app, amount).await.expect_status(200);
        let changed = budget(&app).await;
        assert_eq!((&changed["amount"], &changed["last_reset_at"]), (&json!(7.0), &at), "{changed}");
        apply(&app, json!({"documents": {}, "prune": true})).await.expect_status(200);
        let restored = budget(&app).await;
        assert_eq!((&restored["amount"], &restored["last_reset_at"]), (&json!(10.0), &at), "{restored}");
    })
    .await;
}
