//! The first administrator, from `IDENTITY_ADMIN_EMAIL` and `IDENTITY_ADMIN_PASSWORD`.

use domain::ids;
use domain::resources::Resource as _;
use domain::resources::user::User;
use domain::secret::Secret;
use identity::password;
use store::{StoreError, Write as Writing};

use super::users;
use crate::App;

/// Creates the first administrator, unless a user with this address exists: its password is then not changed.
pub async fn create_first_admin(app: &App, email: &str, password: &Secret) -> Result<(), String> {
    let email = User::normalized_email(email);
    let failed = |error: StoreError| format!("The first administrator cannot be stored: {error}");
    let known = users::collection(app).all().await.map_err(failed)?;
    if known.iter().any(|stored| stored.value.email == email) {
        return Ok(());
    }
    let gateway = &app.gateway;
    let user = User {
        id: ids::prefixed("user", gateway.clock.now(), &*gateway.entropy),
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
    users::collection(app).put(&user, Writing::Create, "settings", None).await.map_err(failed)?;
    app.refresher.refresh().await.map_err(failed)
}
