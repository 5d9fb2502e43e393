//! The user that an ID token stands for.

use std::collections::BTreeMap;

use domain::resources::user::User;
use domain::user_path::UserPath;
use serde::Deserialize;
use serde_json::Value;

use super::OidcProvider;
use crate::claim_template::{self, Claims};
use crate::token::TokenRejection;

/// Roles from the values of a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleMapping {
    /// The claim, such as `groups`.
    #[serde(default)]
    pub claim: Option<String>,
    /// The role for each value of the claim.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// The roles of users without a mapped value; without any, they are refused.
    #[serde(default)]
    pub default: Vec<String>,
}

/// The account that logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub subject: String,
    pub email: String,
    /// Whether the provider vouches for the address.
    pub is_verified: bool,
    pub name: String,
    pub roles: Vec<String>,
    pub tenant_id: Option<String>,
    pub user_path: Option<String>,
}

pub fn account(provider: &OidcProvider, claims: &Claims) -> Result<Account, TokenRejection> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let subject = text("sub").ok_or(TokenRejection::NoSubject)?.to_owned();
    let email = text("email").map(User::normalized_email).ok_or(TokenRejection::ClaimMissing)?;
    let missing = |_| TokenRejection::ClaimMissing;
    let tenant_id =
        provider.tenant_id.as_ref().map(|template| template.text(claims)).transpose().map_err(missing)?;
    let user_path =
        provider.user_path.as_ref().map(|template| template.path(claims)).transpose().map_err(missing)?;
    if user_path.as_deref().is_some_and(|path| UserPath::parse(path).is_err()) {
        return Err(TokenRejection::ClaimMissing);
    }
    Ok(Account {
        name: text("name").unwrap_or_default().chars().take(200).collect(),
        is_verified: provider.trust_email || claims.get("email_verified") == Some(&Value::Bool(true)),
        roles: roles(&provider.roles, claims),
        subject,
        email,
        tenant_id,
        user_path,
    })
}

fn roles(mapping: &RoleMapping, claims: &Claims) -> Vec<String> {
    let value = mapping.claim.as_deref().and_then(|name| claim_template::find(claims, name));
    let values: Vec<&str> = match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut roles: Vec<String> =
        values.iter().filter_map(|value| mapping.values.get(*value).cloned()).collect();
    roles.sort();
    roles.dedup();
    if roles.is_empty() { mapping.default.clone() } else { roles }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn provider() -> OidcProvider {
        let list = json!([{
            "name": "corp", "issuer": "https://id.example", "client_id": "gateway",
            "roles": {"claim": "groups", "values": {"ops": "operator", "it": "admin", "sre": "operator"}, "default": ["viewer"]},
            "tenant_id": "{org}", "user_path": "/staff/{sub}",
        }]);
        OidcProvider::parse_list(&list.to_string()).unwrap().remove(0)
    }

    fn of(claims: Value) -> Result<Account, TokenRejection> {
        provider().account(claims.as_object().unwrap())
    }

    #[test]
    fn claims_become_an_account_with_roles() {
        let claims = json!({"sub": "7", "email": "A@Example.com", "email_verified": true, "name": "A", "org": "t1",
            "groups": ["it", "ops", "sre", "other"]});
        let account = of(claims).unwrap();
        assert_eq!(account.roles, ["admin", "operator"]);
        assert_eq!((&*account.email, account.is_verified), ("a@example.com", true));
        assert_eq!(
            (account.tenant_id.as_deref(), account.user_path.as_deref()),
            (Some("t1"), Some("/staff/7"))
        );
        let plain =
            of(json!({"sub": "7", "email": "a@example.com", "org": "t1", "email_verified": "true"})).unwrap();
        assert_eq!((plain.roles, plain.is_verified), (vec!["viewer".to_owned()], false));
        let trusted = OidcProvider { trust_email: true, ..provider() };
        let claims = json!({"sub": "7", "email": "a@example.com", "org": "t1"});
        assert!(trusted.account(claims.as_object().unwrap()).unwrap().is_verified);
    }

    #[test]
    fn an_account_needs_its_claims() {
        for claims in [
            json!({"email": "a@example.com", "org": "t"}),
            json!({"sub": "7", "org": "t"}),
            json!({"sub": "7", "email": "a@example.com"}),
            json!({"sub": "../up", "email": "a@example.com", "org": "t"}),
        ] {
            assert!(of(claims.clone()).is_err(), "{claims}");
        }
    }

    #[test]
    fn unusable_providers_are_refused() {
        for bad in [
            json!([{"name": "a", "issuer": "id.example", "client_id": "x"}]),
            json!([{"name": "callback", "issuer": "https://id.example", "client_id": "x"}]),
            json!([{"name": "A b", "issuer": "https://id.example", "client_id": "x"}]),
            json!([{"name": "a", "issuer": "https://id.example", "client_id": ""}]),
            json!([{"name": "a", "issuer": "https://id.example", "client_id": "x", "scopes": ["email"]}]),
            json!([{"name": "a", "issuer": "https://id.example", "client_id": "x", "colour": 1}]),
            json!([{"name": "a", "issuer": "https://a", "client_id": "x"}, {"name": "a", "issuer": "https://b", "client_id": "x"}]),
        ] {
            assert!(OidcProvider::parse_list(&bad.to_string()).is_err(), "{bad}");
        }
    }
}
