//! Value types of the settings of identity and tokens.

use identity::oidc::OidcProvider;
use identity::password;
use identity::token_issuer::TokenIssuer;

use super::value::Value;
use super::{Settings, SettingsFault};

/// The issuers of `TOKEN_ISSUERS`.
#[derive(Clone, Debug, Default)]
pub struct TokenIssuers {
    pub list: Vec<TokenIssuer>,
    /// The reason why the list cannot be used; reported with the other faults.
    error: Option<String>,
}

/// The providers of `OIDC_PROVIDERS`.
#[derive(Clone, Debug, Default)]
pub struct OidcProviders {
    pub list: Vec<OidcProvider>,
    error: Option<String>,
}

impl Value for TokenIssuers {
    const KIND: &'static str = "a list of issuers";
    const STRUCTURED: bool = true;

    fn parse(text: &str) -> Option<Self> {
        Some(match listed(text).map(TokenIssuer::parse_list) {
            None => Self::default(),
            Some(Ok(list)) => Self { list, error: None },
            Some(Err(error)) => Self { list: Vec::new(), error: Some(error) },
        })
    }
}

impl Value for OidcProviders {
    const KIND: &'static str = "a list of OpenID Connect providers";
    const SECRET: bool = true;
    const STRUCTURED: bool = true;

    fn parse(text: &str) -> Option<Self> {
        Some(match listed(text).map(OidcProvider::parse_list) {
            None => Self::default(),
            Some(Ok(list)) => Self { list, error: None },
            Some(Err(error)) => Self { list: Vec::new(), error: Some(error) },
        })
    }
}

fn listed(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Faults of lists that cannot be used, and of settings that need another.
pub fn faults(settings: &Settings) -> Vec<SettingsFault> {
    let (identity, tokens) = (&settings.identity, &settings.tokens);
    let mut faults = Vec::new();
    let mut report = |name: &str, message: String| faults.push(SettingsFault::new(name, message));
    if let Some(error) = &identity.oidc_providers.error {
        report("identity.oidc_providers (OIDC_PROVIDERS)", format!("cannot be used: {error}"));
    }
    if let Some(error) = &tokens.issuers.error {
        report("tokens.issuers (TOKEN_ISSUERS)", format!("cannot be used: {error}"));
    }
    match (&identity.admin_email, &identity.admin_password) {
        (Some(_), None) => report(
            "identity.admin_password (IDENTITY_ADMIN_PASSWORD)",
            "is needed together with IDENTITY_ADMIN_EMAIL".to_owned(),
        ),
        (None, Some(_)) => report(
            "identity.admin_email (IDENTITY_ADMIN_EMAIL)",
            "is needed together with IDENTITY_ADMIN_PASSWORD".to_owned(),
        ),
        (_, Some(password)) => {
            if let Some(weakness) = password::weakness(password.reveal()) {
                report(
                    "identity.admin_password (IDENTITY_ADMIN_PASSWORD)",
                    format!("is refused: {weakness}"),
                );
            }
        }
        (None, None) => {}
    }
    faults
}

#[cfg(test)]
mod tests;
