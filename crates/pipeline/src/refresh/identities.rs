//! Keeps sessions, users, revoked tokens and the keys of token issuers current.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::capability::Capability;
use domain::resources::Resource as _;
use domain::resources::user::User;
use store::StoreError;

use super::Refresher;
use super::sections::IdentitySections;
use crate::services::token_issuers::TokenIssuers;
use crate::snapshot::document_errors::DocumentErrors;
use crate::snapshot::identities::Identities;
use crate::snapshot::identities::revocations::Revocations;
use crate::snapshot::identities::sessions::SessionTable;
use crate::snapshot::identities::tenants::Tenants;
use crate::snapshot::identities::users::Users;

/// The time between two checks whether the keys of an issuer are missing or old.
const TOKEN_KEY_INTERVAL: Duration = Duration::from_secs(15);

impl Refresher {
    /// Loads all sessions, users and revoked tokens. Called once.
    pub(super) async fn load_identities(&self) -> Result<(Identities, DocumentErrors), StoreError> {
        let sessions = self.store.sessions();
        // Read before the rows: a change in between is read again.
        let seq = sessions.newest_change().await?;
        let now = self.gateway.clock.now();
        let table = SessionTable::default().with(seq, sessions.live(now).await?, now);
        let revocations = Revocations::default().with(sessions.revocations_since(0).await?, now);
        let (users, tenants, errors) = self.users().await?;
        let identities = Identities {
            sessions: Arc::new(table),
            users,
            tenants,
            token_issuers: Arc::new(TokenIssuers::new(self.fixed().token_issuers.clone())),
            revocations: Arc::new(revocations),
        };
        Ok((identities, errors))
    }

    /// Compiles users and tenants, if the edition has them, and returns the documents that do not compile.
    pub(super) async fn users(&self) -> Result<(Arc<Users>, Arc<Tenants>, DocumentErrors), StoreError> {
        if !self.gateway.capabilities.has(Capability::Identity) {
            return Ok(Default::default());
        }
        let mut compilation = self.compilation(&[], None, None);
        let IdentitySections { roles, tenants, users } = IdentitySections::load(&mut compilation).await?;
        let roles: HashMap<&str, _> = roles.iter().map(|(name, role)| (name.as_str(), role)).collect();
        let (mut errors, at) = (compilation.errors, self.gateway.clock.now());
        let users = Users::compile(users.values(), &roles, |id, reason| {
            errors.report(User::KIND, id, reason, at);
        });
        Ok((Arc::new(users), Arc::new(Tenants::new(tenants.into_values())), errors))
    }

    /// Keeps the keys of token issuers current: at once, and then regularly.
    pub async fn keep_fetching_token_keys(self: Arc<Self>) {
        loop {
            let issuers = self.gateway.snapshot().identities.token_issuers.clone();
            issuers.refresh_keys(&self.gateway.egress, self.gateway.clock.tick()).await;
            tokio::time::sleep(TOKEN_KEY_INTERVAL).await;
        }
    }

    /// Applies the changes of sessions and revoked tokens since the current snapshot. The writer of a change calls this before it answers.
    pub async fn refresh_sessions(&self) -> Result<(), StoreError> {
        let _turn = self.turn.lock().await;
        let sessions = self.store.sessions();
        let mut snapshot = (*self.gateway.snapshot()).clone();
        let seen = snapshot.identities.sessions.seq;
        let newest = sessions.newest_change().await?;
        if newest == seen {
            return Ok(());
        }
        let changed = sessions.changed_since(seen).await?;
        let now = self.gateway.clock.now();
        let table = snapshot.identities.sessions.with(newest, changed, now);
        snapshot.identities.sessions = Arc::new(table);
        let revoked = sessions.revocations_since(seen).await?;
        if !revoked.is_empty() {
            snapshot.identities.revocations = Arc::new(snapshot.identities.revocations.with(revoked, now));
        }
        self.publish(snapshot);
        Ok(())
    }
}
