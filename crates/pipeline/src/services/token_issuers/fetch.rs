//! Requests for the documents of an issuer.

use egress::Egress;
use identity::key_set::KeySet;
use identity::oidc::{DISCOVERY_PATH, Discovery};
use identity::token_issuer::TokenIssuer;

use crate::services::json_document;

/// The key set of an issuer, at its configured or discovered address.
pub async fn keys(egress: &Egress, issuer: &TokenIssuer) -> Result<KeySet, String> {
    let address = match &issuer.jwks_url {
        Some(address) => address.clone(),
        None => {
            let address = format!("{}{DISCOVERY_PATH}", issuer.issuer.trim_end_matches('/'));
            let document = json_document::get(egress, &address).await?;
            Discovery::parse(&document, &issuer.issuer)?.jwks_uri
        }
    };
    KeySet::parse(&json_document::get(egress, &address).await?)
}
