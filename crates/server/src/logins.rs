//! The state of logins that all requests share: limits on attempts, and bounded work for passwords.

use std::time::Duration;

use domain::fault::{self, Fault, FaultCode};
use domain::secret::Secret;
use identity::login_throttle::LoginThrottle;
use identity::password;
use tokio::sync::Semaphore;

use crate::App;

/// Passwords that are hashed at the same time; each takes 19 MiB of memory and a core.
const CONCURRENT: usize = 2;
/// The longest wait for a turn.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Logins {
    pub throttle: LoginThrottle,
    hashing: Semaphore,
}

impl Default for Logins {
    fn default() -> Self {
        Self { throttle: LoginThrottle::default(), hashing: Semaphore::new(CONCURRENT) }
    }
}

/// Hashes a new password, or refuses it if it is weak.
pub async fn hash(app: &App, password: Secret) -> Result<Secret, Fault> {
    if let Some(weakness) = password::weakness(password.reveal()) {
        return Err(fault::invalid_parameter("password", weakness));
    }
    let entropy = app.gateway.entropy.clone();
    let hashed = in_turn(app, move || password::hash(password.reveal(), &*entropy)).await?;
    hashed.map_err(|_| fault::internal_error())
}

/// Whether the password has this hash; takes as long without one.
pub async fn verify(app: &App, password: Secret, hash: Option<Secret>) -> Result<bool, Fault> {
    in_turn(app, move || password::verify(password.reveal(), hash.as_ref())).await
}

async fn in_turn<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    let busy = || {
        Fault::new(FaultCode::FeatureUnavailable, "Too many logins at the same time: try again in a moment.")
    };
    let turn = tokio::time::timeout(PATIENCE, app.logins.hashing.acquire()).await;
    let _turn = turn.map_err(|_| busy())?.map_err(|_| busy())?;
    app.gateway.tasks.spawn_blocking(work).await.map_err(|_| fault::internal_error())
}
