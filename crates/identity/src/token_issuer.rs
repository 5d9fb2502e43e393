//! Issuers whose tokens are accepted on inference, and the rights that their tokens give.

use std::sync::Arc;

use domain::access::AccessLists;
use domain::clock::Timestamp;
use domain::principal::{KeyFacts, TokenFacts};
use domain::resources::auth_key::{self, RateLimits};
use domain::scope::Scope;
use domain::user_path::UserPath;
use jsonwebtoken::Algorithm;
use serde::Deserialize;
use serde_json::Value;

use crate::claim_template::{ClaimTemplate, Claims};
use crate::token::{self, CLOCK_SKEW, TokenRejection, TokenRules};
use crate::yaml_number;

/// An issuer as configured in `TOKEN_ISSUERS`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenIssuer {
    pub issuer: String,
    pub audience: Vec<String>,
    /// Without it, the issuer's discovery document names it.
    #[serde(default)]
    pub jwks_url: Option<String>,
    #[serde(default = "default_algorithms")]
    pub algorithms: Vec<Algorithm>,
    #[serde(default)]
    pub claims: ClaimRules,
    #[serde(default)]
    pub rate_limits: TokenRateLimits,
    #[serde(default)]
    pub allowed_models: Option<Vec<String>>,
}

/// Templates over the claims of a token.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRules {
    #[serde(default)]
    pub user_path: Option<ClaimTemplate>,
    #[serde(default)]
    pub tenant_id: Option<ClaimTemplate>,
    /// Without it, tokens have the scope `inference`.
    #[serde(default)]
    pub scopes: Option<ClaimTemplate>,
    #[serde(default)]
    pub name: Option<ClaimTemplate>,
}

/// The limits of each subject.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRateLimits {
    #[serde(default, deserialize_with = "yaml_number::optional")]
    pub requests_per_minute: Option<u64>,
    #[serde(default, deserialize_with = "yaml_number::optional")]
    pub requests_per_day: Option<u64>,
    #[serde(default, deserialize_with = "yaml_number::optional")]
    pub tokens_per_minute: Option<u64>,
    #[serde(default, deserialize_with = "yaml_number::optional")]
    pub tokens_per_day: Option<u64>,
    #[serde(default, deserialize_with = "yaml_number::optional")]
    pub max_parallel_requests: Option<u64>,
}

fn default_algorithms() -> Vec<Algorithm> {
    vec![Algorithm::RS256, Algorithm::ES256]
}

impl TokenIssuer {
    /// Reads a list of issuers from JSON, or returns the reason why it cannot be used.
    pub fn parse_list(json: &str) -> Result<Vec<Self>, String> {
        let issuers: Vec<Self> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        for (index, issuer) in issuers.iter().enumerate() {
            issuer.check().map_err(|reason| format!("'{}' {reason}", issuer.issuer))?;
            if issuers[..index].iter().any(|earlier| earlier.issuer == issuer.issuer) {
                return Err(format!("'{}' is listed twice", issuer.issuer));
            }
        }
        Ok(issuers)
    }

    fn check(&self) -> Result<(), String> {
        let is_url = |text: &str| text.starts_with("https://") || text.starts_with("http://");
        if !is_url(&self.issuer) && self.jwks_url.is_none() {
            return Err("is not a URL, so jwks_url is needed".to_owned());
        }
        if self.jwks_url.as_deref().is_some_and(|url| !is_url(url)) {
            return Err("has a jwks_url that is not an http:// or https:// URL".to_owned());
        }
        if self.audience.is_empty() || self.audience.iter().any(String::is_empty) {
            return Err(
                "needs an audience: without one, tokens for other services would be accepted".to_owned()
            );
        }
        let symmetric = [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512];
        if self.algorithms.is_empty() || self.algorithms.iter().any(|known| symmetric.contains(known)) {
            return Err(
                "needs algorithms with public keys: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 or EdDSA"
                    .to_owned(),
            );
        }
        if self.rate_limits.limits().named().iter().any(|(_, limit)| *limit == Some(0)) {
            return Err("has a rate limit of 0: leave it out for no limit".to_owned());
        }
        Ok(())
    }

    pub fn rules(&self) -> TokenRules<'_> {
        TokenRules { issuer: &self.issuer, audience: &self.audience, algorithms: &self.algorithms }
    }

    /// The rights of a verified token.
    pub fn grant(&self, claims: &Claims, digest: [u8; 32]) -> Result<TokenFacts, TokenRejection> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let subject = text("sub").ok_or(TokenRejection::NoSubject)?;
        let expires_at = token::time(claims, "exp")?.ok_or(TokenRejection::NoExpiry)?;
        let id = subject_id(&self.issuer, subject);
        let name = match &self.claims.name {
            Some(template) => template.text(claims).map_err(|_| TokenRejection::ClaimMissing)?,
            None => subject.to_owned(),
        };
        let grant = KeyFacts {
            id: id.into(),
            name: name.into(),
            searchable: "".into(),
            digest,
            scopes: self.scopes(claims)?,
            user_path: self.user_path(claims)?,
            tenant_id: self.tenant(claims)?,
            lists: AccessLists { allowed_models: self.allowed_models.clone(), ..AccessLists::default() },
            provider_pool: None,
            rate_limits: self.rate_limits.limits(),
            expires_at: Some(Timestamp::from_seconds(
                expires_at.saturating_add(CLOCK_SKEW).min(MOST_SECONDS),
            )),
            active: true,
        };
        Ok(TokenFacts {
            digest,
            issuer: self.issuer.as_str().into(),
            subject: subject.into(),
            jti: text("jti").map(Into::into),
            issued_at: token::time(claims, "iat")?.map(|at| Timestamp::from_seconds(at.min(MOST_SECONDS))),
            grant: Arc::new(grant),
        })
    }

    /// The scopes that the gateway knows; others, such as `openid`, are for other services.
    fn scopes(&self, claims: &Claims) -> Result<Vec<Scope>, TokenRejection> {
        let Some(template) = &self.claims.scopes else { return Ok(vec![Scope::Inference]) };
        let words = template.words(claims).map_err(|_| TokenRejection::ClaimMissing)?;
        Ok(words.iter().filter_map(|word| word.parse().ok()).collect())
    }

    fn user_path(&self, claims: &Claims) -> Result<Option<UserPath>, TokenRejection> {
        let Some(template) = &self.claims.user_path else { return Ok(None) };
        let path = template.path(claims).map_err(|_| TokenRejection::ClaimMissing)?;
        UserPath::parse(&path).map(Some).map_err(|_| TokenRejection::ClaimMissing)
    }

    fn tenant(&self, claims: &Claims) -> Result<Option<Arc<str>>, TokenRejection> {
        let Some(template) = &self.claims.tenant_id else { return Ok(None) };
        let tenant = template.text(claims).map_err(|_| TokenRejection::ClaimMissing)?;
        auth_key::tenant_fits(&tenant).map_err(|_| TokenRejection::ClaimMissing)?;
        Ok(Some(tenant.into()))
    }
}

/// The latest time that fits into a timestamp.
const MOST_SECONDS: i64 = i64::MAX / 1_000_000 - 1;

/// The id of a subject: the same for all its tokens.
pub fn subject_id(issuer: &str, subject: &str) -> String {
    let digest = auth_key::digest_hex(&auth_key::digest(&format!("{issuer}\n{subject}")));
    format!("token_{}", digest.get(..32).unwrap_or_default())
}

impl TokenRateLimits {
    fn limits(&self) -> RateLimits {
        RateLimits {
            requests_per_minute: self.requests_per_minute,
            requests_per_day: self.requests_per_day,
            tokens_per_minute: self.tokens_per_minute,
            tokens_per_day: self.tokens_per_day,
            max_parallel_requests: self.max_parallel_requests,
            count_cached: false,
        }
    }
}
