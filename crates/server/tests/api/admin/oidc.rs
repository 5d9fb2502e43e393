//! Tests of logins at an OpenID Connect provider.

use std::sync::Arc;
use std::time::Duration;

use domain::clock::Clock as _;
use identity::oidc::OidcProvider;
use serde_json::{Value, json};

use super::auth::cookie;
use crate::app::{self, Answer, TestApp, TestIssuer, TestSettings};

const START: &str = "/admin/api/v1/auth/oidc/corp";
const CALLBACK: &str = "/admin/api/v1/auth/oidc/callback";

fn settings(issuer: &TestIssuer, more: &Value) -> TestSettings {
    let mut provider = json!({
        "name": "corp", "issuer": issuer.url, "client_id": "gatehouse", "client_secret": "client-secret-1",
        "roles": {"claim": "groups", "values": {"ops": "operator", "it": "admin"}},
    });
    for (name, value) in more.as_object().unwrap() {
        provider[name] = value.clone();
    }
    let mut settings = TestSettings::enterprise();
    let list = OidcProvider::parse_list(&json!([provider]).to_string()).unwrap();
    settings.config.identity.oidc_providers = list.into_iter().map(Arc::new).collect();
    settings
}

/// A login that has reached the provider.
struct Started {
    state: String,
    nonce: String,
    location: String,
    cookie: String,
}

async fn start(app: &TestApp) -> Started {
    let answer = app.get(START).anonymous().header("host", "gateway.example").send().await.expect_status(302);
    let location = answer.header("location").unwrap().to_owned();
    let line = answer.header("set-cookie").unwrap();
    assert!(
        line.contains("HttpOnly") && line.contains("SameSite=Lax") && line.contains("Max-Age=600"),
        "{line}"
    );
    let cookie = line.split(';').next().unwrap().to_owned();
    let value = |name: &str| {
        let (_, rest) = location.split_once(&format!("{name}=")).unwrap();
        rest.split('&').next().unwrap().to_owned()
    };
    Started { state: value("state"), nonce: value("nonce"), cookie, location }
}

impl Started {
    async fn finish(&self, app: &TestApp, query: &str) -> Answer {
        let call = app.get(format!("{CALLBACK}?{query}")).anonymous().header("host", "gateway.example");
        call.header("cookie", &self.cookie).send().await
    }
}

/// The claims of an ID token for a login.
fn account(issuer: &TestIssuer, app: &TestApp, login: &Started, more: Value) -> Value {
    let mut claims = issuer.claims("42", app.clock.now().seconds());
    claims["aud"] = json!("gatehouse");
    claims["nonce"] = json!(login.nonce);
    claims["email"] = json!("ops@example.com");
    claims["email_verified"] = json!(true);
    claims["groups"] = json!(["ops"]);
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

#[tokio::test]
async fn a_login_at_a_provider_opens_a_session_with_mapped_roles() {
    let issuer = TestIssuer::start();
    let more = json!({"user_path": "/staff/{sub}", "tenant_id": "{org}"});
    app::each_with(
        || settings(&issuer, &more),
        async |app| {
            app.put("/admin/api/v1/tenants/acme", json!({})).send().await.expect_status(201);
            let login = start(&app).await;
            let redirect =
                "redirect_uri=http%3A%2F%2Fgateway.example%2Fadmin%2Fapi%2Fv1%2Fauth%2Foidc%2Fcallback";
            for part in [
                &*issuer.url,
                "/authorize?response_type=code",
                "client_id=gatehouse",
                redirect,
                "code_challenge_method=S256",
                "scope=openid%20email%20profile",
            ] {
                assert!(login.location.contains(part), "{}", login.location);
            }
            issuer.answer_with(account(&issuer, &app, &login, json!({"org": "acme"})));
            let done =
                login.finish(&app, &format!("code=abc&state={}", login.state)).await.expect_status(302);
            assert_eq!(done.header("location"), Some("/admin/dashboard"));
            let sent =
                issuer.requests().into_iter().rfind(|request| request.starts_with("POST /token")).unwrap();
            assert!(
                sent.contains("grant_type=authorization_code&code=abc&") && sent.contains("code_verifier="),
                "{sent}"
            );
            assert!(!sent.contains("client-secret-1"), "the secret is in the header");
            let value = cookie(&done);
            let me = async || {
                let me = app
                    .get("/admin/api/v1/auth/me")
                    .anonymous()
                    .header("cookie", &format!("gatehouse_session={value}"));
                me.send().await.expect_status(200).json()
            };
            let first = me().await;
            assert_eq!(
                (&first["roles"], &first["user"]["email"]),
                (&json!(["operator"]), &json!("ops@example.com"))
            );
            assert_eq!((&first["user_path"], &first["tenant_id"]), (&json!("/staff/42"), &json!("acme")));

            // The same account is the same user, with the roles of its claims now.
            let again = start(&app).await;
            let claims = json!({"org": "acme", "groups": ["it"], "email": "renamed@example.com"});
            issuer.answer_with(account(&issuer, &app, &again, claims));
            again.finish(&app, &format!("code=abc&state={}", again.state)).await.expect_status(302);
            let second = me().await;
            assert_eq!((&second["user"]["id"], &second["roles"]), (&first["user"]["id"], &json!(["admin"])));
            let users = app.get("/admin/api/v1/identity/users").send().await.json();
            assert_eq!(users.as_array().unwrap().len(), 1);
            assert_eq!(users[0]["identities"], json!([{"provider": "corp", "subject": "42"}]));
            let listed = app.get("/admin/api/v1/identity/providers").send().await;
            assert_eq!(
                (&listed.json()[0]["name"], &listed.json()[0]["client_secret_set"]),
                (&json!("corp"), &json!(true))
            );
            assert!(!listed.text().contains("client-secret-1"));
        },
    )
    .await;
}

/// A load balancer may send the callback to another replica than the one where the login began.
#[tokio::test]
async fn a_login_that_began_on_one_replica_ends_on_another() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer, &json!({})),
        async |app| {
            let neighbour = app.neighbour().await;
            let login = start(&app).await;
            issuer.answer_with(account(&issuer, &app, &login, json!({})));
            let query = format!("code=abc&state={}", login.state);
            let done = login.finish(&neighbour, &query).await.expect_status(302);
            let session = format!("gatehouse_session={}", cookie(&done));
            let me = async |app: &TestApp| {
                app.get("/admin/api/v1/auth/me").anonymous().header("cookie", &session).send().await.json()
            };
            assert_eq!(me(&neighbour).await["user"]["email"], "ops@example.com");
            app.refresher.refresh_sessions().await.unwrap();
            app.refresher.refresh().await.unwrap();
            assert_eq!(me(&app).await["user"]["email"], "ops@example.com");
        },
    )
    .await;
}

#[tokio::test]
async fn bad_callbacks_are_refused() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer, &json!({})),
        async |app| {
            let now = app.clock.now().seconds();
            let login = start(&app).await;
            let other = start(&app).await;
            let state = &*login.state;
            issuer.answer_with(account(&issuer, &app, &login, json!({})));
            let before = issuer.requests().len();
            for query in [
                String::new(),
                "code=abc".into(),
                "code=abc&state=".into(),
                "code=abc&state=guessed".into(),
                format!("code=abc&state={}", other.state),
                format!("state={state}"),
                format!("code=&state={state}"),
                format!("error=access_denied&state={state}"),
                format!("code=abc&state={state}&iss=https%3A%2F%2Fevil.example"),
                format!("code={}&state={state}", "x".repeat(5000)),
            ] {
                assert_eq!(login.finish(&app, &query).await.refusal().0, 401, "{query}");
            }
            assert_eq!(issuer.requests().len(), before, "nothing was sent to the provider");
            let good = format!("code=abc&state={state}");
            for cookie in
                ["", "gatehouse_oidc=", "gatehouse_oidc=x.y", &other.cookie, &format!("{}x", login.cookie)]
            {
                let forged = Started {
                    cookie: cookie.to_owned(),
                    state: String::new(),
                    nonce: String::new(),
                    location: String::new(),
                };
                assert_eq!(forged.finish(&app, &good).await.refusal().0, 401, "{cookie}");
            }
            for (about, claims) in [
                ("another login", json!({"nonce": other.nonce})),
                ("no nonce", json!({"nonce": null})),
                ("another client", json!({"aud": "other"})),
                ("several clients without azp", json!({"aud": ["gatehouse", "other"]})),
                ("another authorized party", json!({"azp": "other"})),
                ("another issuer", json!({"iss": "https://evil.example"})),
                ("expired", json!({"exp": now - 120})),
                ("no expiry", json!({"exp": null})),
                ("from the future", json!({"iat": now + 3600})),
                ("no subject", json!({"sub": null})),
                ("no email", json!({"email": null})),
            ] {
                issuer.answer_with(account(&issuer, &app, &login, claims));
                assert_eq!(login.finish(&app, &good).await.refusal().0, 401, "{about}");
            }
            issuer.answer_with(account(&issuer, &app, &login, json!({"groups": ["strangers"]})));
            assert_eq!(login.finish(&app, &good).await.refusal().0, 403, "no role");
            issuer.answer_with(Value::Null);
            assert_eq!(login.finish(&app, &good).await.refusal().0, 401, "the provider refuses the code");
            app.clock.advance(std::time::Duration::from_secs(601));
            assert_eq!(login.finish(&app, &good).await.refusal().0, 401, "too late");
            assert_eq!(app.get("/admin/api/v1/auth/oidc/nobody").anonymous().refusal().await.0, 404);
            let users = app.get("/admin/api/v1/identity/users").send().await.json();
            assert_eq!(users, json!([]), "nobody was created");
        },
    )
    .await;
}

#[tokio::test]
async fn an_address_is_linked_only_if_it_is_verified() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer, &json!({})),
        async |app| {
            let body = json!({"email": "ops@example.com", "roles": ["viewer"]});
            let user = app.post("/admin/api/v1/identity/users", body).send().await.expect_status(201).json();
            let login = start(&app).await;
            let good = format!("code=abc&state={}", login.state);
            issuer.answer_with(account(&issuer, &app, &login, json!({"email_verified": false})));
            assert_eq!(login.finish(&app, &good).await.refusal().0, 403);
            for verified in [json!(false), json!("true"), Value::Null] {
                let stranger = json!({"email": "new@example.com", "email_verified": verified});
                issuer.answer_with(account(&issuer, &app, &login, stranger));
                assert_eq!(login.finish(&app, &good).await.refusal().0, 403, "no user is created either");
            }
            issuer.answer_with(account(&issuer, &app, &login, json!({})));
            login.finish(&app, &good).await.expect_status(302);
            let path = format!("/admin/api/v1/identity/users/{}", user["id"].as_str().unwrap());
            let linked = app.get(&*path).send().await.json();
            assert_eq!(
                (&linked["roles"], &linked["identities"][0]["subject"]),
                (&json!(["operator"]), &json!("42"))
            );
            // Claims without a role take the roles away and end the sessions, also if the login is refused.
            let done = login.finish(&app, &good).await.expect_status(302);
            let session = format!("gatehouse_session={}", cookie(&done));
            let me = async || {
                let me = app.get("/admin/api/v1/auth/me").anonymous().header("cookie", &session);
                me.send().await.status
            };
            assert_eq!(me().await, 200);
            issuer.answer_with(account(&issuer, &app, &login, json!({"groups": ["strangers"]})));
            assert_eq!(login.finish(&app, &good).await.refusal().0, 403, "no role");
            assert_eq!(me().await, 401);
            assert_eq!(app.get(&*path).send().await.json()["roles"], json!([]));
            issuer.answer_with(account(&issuer, &app, &login, json!({})));
            login.finish(&app, &good).await.expect_status(302);
            app.put(&*path, json!({"active": false})).send().await.expect_status(200);
            assert_eq!(login.finish(&app, &good).await.refusal().0, 403, "not active");
        },
    )
    .await;
}

/// A mapped role that does not exist is not left out: it might deny what others allow.
#[tokio::test]
async fn a_login_with_an_unknown_role_is_refused() {
    let issuer = TestIssuer::start();
    let roles = json!({"roles": {"claim": "groups", "values": {"ops": "operator", "it": "gone"}}});
    app::each_with(
        || settings(&issuer, &roles),
        async |app| {
            let login = start(&app).await;
            let good = format!("code=abc&state={}", login.state);
            issuer.answer_with(account(&issuer, &app, &login, json!({"groups": ["ops", "it"]})));
            assert_eq!(login.finish(&app, &good).await.refusal().0, 403);
            issuer.answer_with(account(&issuer, &app, &login, json!({})));
            login.finish(&app, &good).await.expect_status(302);
        },
    )
    .await;
}

#[tokio::test]
async fn documents_of_a_provider_are_cached_and_a_new_key_is_learnt() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer, &json!({})),
        async |app| {
            let before = issuer.requests().len();
            let counts = || {
                let new = &issuer.requests()[before..];
                let count = |path: &str| new.iter().filter(|one| one.starts_with(path)).count();
                (count("GET /.well-known/openid-configuration "), count("GET /jwks "))
            };
            let log_in = async |status: u16| {
                let login = start(&app).await;
                issuer.answer_with(account(&issuer, &app, &login, json!({})));
                login.finish(&app, &format!("code=abc&state={}", login.state)).await.expect_status(status);
            };
            for _ in 0..3 {
                log_in(302).await;
            }
            assert_eq!(counts(), (1, 1));
            issuer.rotate(&format!("key-after-{before}-requests"));
            log_in(401).await;
            assert_eq!(counts(), (1, 1), "unknown keys are not requested again at once");
            app.clock.pass(Duration::from_secs(6));
            log_in(302).await;
            assert_eq!(counts(), (1, 2));
            app.clock.pass(Duration::from_secs(601));
            log_in(302).await;
            assert_eq!(counts(), (2, 3));
        },
    )
    .await;
}

#[tokio::test]
async fn first_logins_at_the_same_time_make_one_user() {
    let issuer = TestIssuer::start();
    app::each_with(
        || settings(&issuer, &json!({})),
        async |app| {
            let login = start(&app).await;
            issuer.answer_with(account(&issuer, &app, &login, json!({})));
            let query = format!("code=abc&state={}", login.state);
            let finish = || async { login.finish(&app, &query).await.expect_status(302) };
            tokio::join!(finish(), finish(), finish(), finish());
            let users = app.get("/admin/api/v1/identity/users").send().await.json();
            assert_eq!(users.as_array().unwrap().len(), 1, "{users}");
        },
    )
    .await;
}
