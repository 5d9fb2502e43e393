//! The authenticated identity that makes a request, on the admin API and on inference; fixed for the lifetime of the request.

use std::sync::Arc;

use crate::access::AccessLists;
use crate::clock::Timestamp;
use crate::fault::{self, Fault};
use crate::permission::Permission;
use crate::resources::auth_key::RateLimits;
use crate::scope::{Action, Scope};
use crate::user_path::UserPath;

/// The rights and limits of a caller other than the master key: of a managed key, compiled for the configuration snapshot,
/// of a user, or of the subject of a token. Users and subjects have an id of their own and no value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFacts {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// The description and the part of the value that may be shown; used only by searches in the admin API.
    pub searchable: Box<str>,
    pub digest: [u8; 32],
    pub scopes: Vec<Scope>,
    pub user_path: Option<UserPath>,
    pub tenant_id: Option<Arc<str>>,
    pub lists: AccessLists,
    /// The provider pool that calls of this key are restricted to.
    pub provider_pool: Option<Arc<str>>,
    pub rate_limits: RateLimits,
    pub expires_at: Option<Timestamp>,
    pub active: bool,
}

/// The identity behind a credential, with its scopes, its user path and its tenant. Callers ask for these, and only
/// look at the variant for what just one kind of credential has.
#[derive(Clone, Debug)]
pub enum Principal {
    /// The master key: all scopes, no path of its own, no tenant.
    Master,
    /// A managed key.
    Key(Arc<KeyFacts>),
    /// A dashboard session, or the access token of a login.
    Session(Arc<SessionFacts>),
    /// A token of a configured issuer.
    Token(Arc<TokenFacts>),
}

/// A session that was found valid.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    /// SHA-256 of the cookie or access token.
    pub digest: [u8; 32],
    /// The login or exchange that the session comes from.
    pub family: Arc<str>,
    pub holder: SessionHolder,
    pub expires_at: Timestamp,
}

/// The identity that opened a session.
#[derive(Clone, Debug)]
pub enum SessionHolder {
    Master,
    Key(Arc<KeyFacts>),
    User(Arc<UserFacts>),
}

/// A user, compiled for the configuration snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct UserFacts {
    pub email: Arc<str>,
    pub display_name: Arc<str>,
    pub roles: Vec<String>,
    pub permissions: Vec<Permission>,
    /// The rights of the user; `id` is the id of the user.
    pub grant: Arc<KeyFacts>,
}

/// A verified token.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenFacts {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    pub issuer: Arc<str>,
    pub subject: Arc<str>,
    pub jti: Option<Arc<str>>,
    pub issued_at: Option<Timestamp>,
    /// The rights of the subject; `id` is derived from issuer and subject, and `expires_at` is the end of the token.
    pub grant: Arc<KeyFacts>,
}

impl SessionHolder {
    fn key(&self) -> Option<&Arc<KeyFacts>> {
        match self {
            Self::Master => None,
            Self::Key(key) => Some(key),
            Self::User(user) => Some(&user.grant),
        }
    }
}

impl Principal {
    /// The rights and limits of every caller but the master key: lists, rate limits, a pool.
    pub fn key(&self) -> Option<&Arc<KeyFacts>> {
        match self {
            Self::Master => None,
            Self::Key(key) => Some(key),
            Self::Session(session) => session.holder.key(),
            Self::Token(token) => Some(&token.grant),
        }
    }

    /// The managed key that was sent, or that the session was opened with.
    pub fn managed_key(&self) -> Option<&Arc<KeyFacts>> {
        match self {
            Self::Key(key) => Some(key),
            Self::Session(session) => match &session.holder {
                SessionHolder::Key(key) => Some(key),
                SessionHolder::Master | SessionHolder::User(_) => None,
            },
            Self::Master | Self::Token(_) => None,
        }
    }

    /// The user that logged in.
    pub fn user(&self) -> Option<&Arc<UserFacts>> {
        match self {
            Self::Session(session) => match &session.holder {
                SessionHolder::User(user) => Some(user),
                SessionHolder::Master | SessionHolder::Key(_) => None,
            },
            Self::Master | Self::Key(_) | Self::Token(_) => None,
        }
    }

    /// The subject of a token.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Token(token) => Some(&token.subject),
            Self::Master | Self::Key(_) | Self::Session(_) => None,
        }
    }

    pub fn scopes(&self) -> &[Scope] {
        match self.key() {
            None => &[Scope::Inference, Scope::Admin(None, Action::Write)],
            Some(key) => &key.scopes,
        }
    }

    /// The user path that the principal is bound to, if any.
    pub fn own_path(&self) -> Option<&UserPath> {
        self.key()?.user_path.as_ref()
    }

    pub fn tenant(&self) -> Option<&Arc<str>> {
        self.key()?.tenant_id.as_ref()
    }

    pub fn expires_at(&self) -> Option<Timestamp> {
        let own = self.key().and_then(|key| key.expires_at);
        match self {
            Self::Session(session) => Some(own.map_or(session.expires_at, |end| end.min(session.expires_at))),
            Self::Master | Self::Key(_) | Self::Token(_) => own,
        }
    }

    pub fn may(&self, needed: Scope) -> bool {
        self.scopes().iter().any(|held| held.grants(needed))
    }

    pub fn require(&self, needed: Scope) -> Result<(), Fault> {
        if self.may(needed) { Ok(()) } else { Err(fault::insufficient_scope(needed.to_string())) }
    }

    /// The subtree this caller is confined to; `None` for the master key and for callers bound to no path or to the root.
    pub fn subtree(&self) -> Option<&UserPath> {
        self.own_path().filter(|path| path.as_str() != "/")
    }

    /// Whether the caller is confined to a subtree or to a tenant.
    pub fn is_confined(&self) -> bool {
        self.subtree().is_some() || self.tenant().is_some()
    }

    /// Whether something of this tenant is visible: a caller of a tenant sees that tenant's only.
    pub fn sees_tenant(&self, tenant: Option<&str>) -> bool {
        self.tenant().is_none_or(|own| tenant == Some(&**own))
    }

    /// Rejects callers of a tenant; for objects that belong to no tenant.
    pub fn require_no_tenant(&self) -> Result<(), Fault> {
        match self.tenant() {
            Some(own) => Err(fault::tenant_denied(own)),
            None => Ok(()),
        }
    }

    /// Rejects callers confined to a subtree; for objects that concern a whole tenant.
    pub fn require_no_user_path(&self) -> Result<(), Fault> {
        match self.subtree() {
            Some(own) => Err(fault::user_path_denied("/", own.as_str())),
            None => Ok(()),
        }
    }

    /// Rejects callers confined to a subtree or to a tenant; for objects that concern the whole installation.
    pub fn require_no_subtree(&self) -> Result<(), Fault> {
        self.require_no_user_path()?;
        self.require_no_tenant()
    }

    /// The actor written to change records: `master`, or the id of the key, of the user or of the subject of a token.
    pub fn actor(&self) -> &str {
        self.key().map_or("master", |key| &key.id)
    }

    pub fn auth_method(&self) -> &'static str {
        match self {
            Self::Master => "master_key",
            Self::Key(_) => "api_key",
            Self::Session(_) => "session",
            Self::Token(_) => "token",
        }
    }

    /// The path this call is booked on. The header may only name a path at or below the key's own path.
    pub fn user_path(&self, header: Option<&str>) -> Result<UserPath, Fault> {
        let own = self.own_path();
        let Some(header) = header else { return Ok(own.cloned().unwrap_or_default()) };
        let asked = UserPath::parse(header)
            .map_err(|reason| fault::invalid_parameter("X-Gateway-User-Path", reason))?;
        match own {
            Some(own) if !own.covers(&asked) => Err(fault::user_path_denied(asked.as_str(), own.as_str())),
            _ => Ok(asked),
        }
    }
}

#[cfg(test)]
mod tests;
