//! The first administrator, from `IDENTITY_ADMIN_EMAIL` and `IDENTITY_ADMIN_PASSWORD`.

use domain::resources::Resource as _;
use domain::resources::user::User;
use domain::secret::Secret;
use identity::password;
use store::{StoreError, Write as Writing};

use super::users;
use crate::App;

/// The id of the first administrator: the same at every start, so that of several replicas one creates it.
const ID: &str = "user_first_admin";

/// Creates the first administrator if there is no user at all. An existing one is not changed.
pub async fn create_first_admin(app: &App, email: &str, password: &Secret) -> Result<(), String> {
    let email = User::normalized_email(email);
    let failed = |error: StoreError| format!("The first administrator cannot be stored: {error}");
    if !users::collection(app).all().await.map_err(failed)?.is_empty() {
        return Ok(());
    }
    let gateway = &app.gateway;
    let user = User {
        id: ID.to_owned(),
        email,
        name: String::new(),
        password_hash: Some(password::hash(password.reveal(), &*gateway.entropy)?),
        roles: vec!["admin".to_owned()],
        user_path: None,
        tenant_id: None,
        active: true,
        identities: Vec::new(),
    };
    user.validate().map_err(|fault| fault.message)?;
    match users::collection(app).put(&user, Writing::Create, "settings", None).await {
        // Another replica was faster, or the stored user cannot be read.
        Err(StoreError::Conflict { .. }) => {}
        written => drop(written.map_err(failed)?),
    }
    app.refresher.refresh().await.map_err(failed)
}
