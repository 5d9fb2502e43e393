//! The authenticated identity that makes a request, on the admin API and on inference; fixed for the lifetime of the request.

use std::sync::Arc;

use crate::access::AccessLists;
use crate::clock::Timestamp;
use crate::fault::{self, Fault};
use crate::resources::auth_key::RateLimits;
use crate::scope::{Action, Scope};
use crate::user_path::UserPath;

/// A managed key, compiled for the configuration snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFacts {
    pub id: Arc<str>,
    pub name: Arc<str>,
    /// Used only by searches in the admin API.
    pub description: Box<str>,
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
}

impl Principal {
    /// The managed key, for what only a key has: limits, access lists, a pool.
    pub fn key(&self) -> Option<&Arc<KeyFacts>> {
        match self {
            Self::Master => None,
            Self::Key(key) => Some(key),
        }
    }

    pub fn scopes(&self) -> &[Scope] {
        match self {
            Self::Master => &[Scope::Inference, Scope::Admin(None, Action::Write)],
            Self::Key(key) => &key.scopes,
        }
    }

    /// The user path that the principal is bound to, if any.
    pub fn own_path(&self) -> Option<&UserPath> {
        match self {
            Self::Master => None,
            Self::Key(key) => key.user_path.as_ref(),
        }
    }

    pub fn tenant(&self) -> Option<&Arc<str>> {
        match self {
            Self::Master => None,
            Self::Key(key) => key.tenant_id.as_ref(),
        }
    }

    pub fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Master => None,
            Self::Key(key) => key.expires_at,
        }
    }

    pub fn may(&self, needed: Scope) -> bool {
        self.scopes().iter().any(|held| held.grants(needed))
    }

    pub fn require(&self, needed: Scope) -> Result<(), Fault> {
        if self.may(needed) { Ok(()) } else { Err(fault::insufficient_scope(needed.to_string())) }
    }

    /// The subtree this caller is confined to; `None` for the master key and for keys bound to no path or to the root.
    pub fn subtree(&self) -> Option<&UserPath> {
        self.own_path().filter(|path| path.as_str() != "/")
    }

    /// Rejects callers confined to a subtree; for objects that concern the whole installation.
    pub fn require_no_subtree(&self) -> Result<(), Fault> {
        match self.subtree() {
            Some(own) => Err(fault::user_path_denied("/", own.as_str())),
            None => Ok(()),
        }
    }

    /// The actor written to change records: `master` or the id of the key.
    pub fn actor(&self) -> &str {
        match self {
            Self::Master => "master",
            Self::Key(key) => &key.id,
        }
    }

    pub fn auth_method(&self) -> &'static str {
        match self {
            Self::Master => "master_key",
            Self::Key(_) => "api_key",
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
mod tests {
    use super::*;
    use crate::scope::Area;

    #[test]
    fn the_master_key_has_every_scope_and_no_path() {
        let master = Principal::Master;
        for action in [Action::Read, Action::Write] {
            let areas = Area::ALL.iter().map(|area| Scope::Admin(Some(*area), action));
            for scope in areas.chain([Scope::Admin(None, action), Scope::Inference]) {
                assert!(master.may(scope), "{scope}");
            }
        }
        assert_eq!((master.own_path(), master.tenant(), master.expires_at()), (None, None, None));
        assert_eq!((master.actor(), master.auth_method()), ("master", "master_key"));
    }

    #[test]
    fn a_key_brings_its_own_scopes_path_and_tenant() {
        let path = UserPath::parse("/team").unwrap();
        let key = Principal::Key(Arc::new(KeyFacts {
            id: "k1".into(),
            name: "one".into(),
            description: "".into(),
            digest: [0; 32],
            scopes: vec![Scope::Admin(Some(Area::Usage), Action::Read)],
            user_path: Some(path.clone()),
            tenant_id: Some("t".into()),
            lists: AccessLists::default(),
            provider_pool: None,
            rate_limits: RateLimits::default(),
            expires_at: Some(Timestamp(7)),
            active: true,
        }));
        assert!(key.may(Scope::Admin(Some(Area::Usage), Action::Read)));
        assert!(!key.may(Scope::Admin(Some(Area::Usage), Action::Write)) && !key.may(Scope::Inference));
        assert_eq!((key.own_path(), key.subtree()), (Some(&path), Some(&path)));
        assert_eq!((key.tenant().map(|tenant| &**tenant), key.expires_at()), (Some("t"), Some(Timestamp(7))));
        assert_eq!((key.actor(), key.auth_method()), ("k1", "api_key"));
    }
}
