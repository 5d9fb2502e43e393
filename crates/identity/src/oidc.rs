//! Login at an OpenID Connect provider: authorization code flow with PKCE, state and nonce.

pub mod flow;
mod mapping;

use domain::secret::Secret;
use jsonwebtoken::Algorithm;
use serde::Deserialize;

use crate::claim_template::{ClaimTemplate, Claims};
use crate::token::TokenRejection;

pub use mapping::{Account, RoleMapping};

/// The algorithms that ID tokens may have.
pub const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// A provider as configured in `OIDC_PROVIDERS`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcProvider {
    /// Part of the login URL.
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    #[serde(default)]
    pub client_secret: Option<Secret>,
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// The public address of the gateway; by default it is taken from the request.
    #[serde(default)]
    pub redirect_base: Option<String>,
    #[serde(default)]
    pub roles: RoleMapping,
    /// Whether addresses count as verified without the claim `email_verified`.
    #[serde(default)]
    pub trust_email: bool,
    #[serde(default)]
    pub tenant_id: Option<ClaimTemplate>,
    #[serde(default)]
    pub user_path: Option<ClaimTemplate>,
}

fn default_scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).into()
}

/// The discovery document of a provider, as far as it is used.
#[derive(Clone, Debug, Deserialize)]
pub struct Discovery {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub jwks_uri: String,
    #[serde(default)]
    pub token_endpoint_auth_methods_supported: Vec<String>,
}

/// The path of the discovery document below an issuer.
pub const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

impl OidcProvider {
    /// Reads a list of providers from JSON, or returns the reason why it cannot be used.
    pub fn parse_list(json: &str) -> Result<Vec<Self>, String> {
        let providers: Vec<Self> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        for (index, provider) in providers.iter().enumerate() {
            provider.check().map_err(|reason| format!("'{}' {reason}", provider.name))?;
            if providers[..index].iter().any(|earlier| earlier.name == provider.name) {
                return Err(format!("'{}' is listed twice", provider.name));
            }
        }
        Ok(providers)
    }

    fn check(&self) -> Result<(), String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || self.name == "callback" || !self.name.chars().all(fits) {
            return Err("needs a name of lower-case letters, digits and '-' other than 'callback'".to_owned());
        }
        let is_url = |text: &str| text.starts_with("https://") || text.starts_with("http://");
        if !is_url(&self.issuer) || !self.redirect_base.as_deref().is_none_or(is_url) {
            return Err("has an issuer or redirect_base that is not an http:// or https:// URL".to_owned());
        }
        if self.client_id.is_empty() {
            return Err("needs a client_id".to_owned());
        }
        if !self.scopes.iter().any(|scope| scope == "openid") {
            return Err("needs the scope 'openid'".to_owned());
        }
        Ok(())
    }

    /// The account of an ID token, with the roles that its claims give.
    pub fn account(&self, claims: &Claims) -> Result<Account, TokenRejection> {
        mapping::account(self, claims)
    }
}

impl Discovery {
    /// Reads the document of an issuer. It must name that issuer, else another one could take its place.
    pub fn parse(json: &[u8], issuer: &str) -> Result<Self, String> {
        let document: Self = serde_json::from_slice(json)
            .map_err(|_| "the discovery document is not one of OpenID Connect".to_owned())?;
        if document.issuer != issuer {
            return Err(format!("the discovery document is of the issuer '{}'", document.issuer));
        }
        Ok(document)
    }

    /// Whether the client authenticates with HTTP Basic, which is the default of the protocol.
    pub fn uses_basic(&self) -> bool {
        let methods = &self.token_endpoint_auth_methods_supported;
        methods.is_empty() || methods.iter().any(|method| method == "client_secret_basic")
    }
}
