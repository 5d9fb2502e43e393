//! The client of the admin API of a running gateway.

use std::path::Path;

use domain::secret::Secret;
use serde_json::Value;

use crate::commands::gateway_http::{GatewayHttp, GatewayKey};
use crate::commands::serve::assemble;
use crate::master_key;
use crate::settings::Settings;

pub struct GatewayClient {
    http: GatewayHttp,
    key: GatewayKey,
}

/// A request to the admin API.
pub struct GatewayRequest {
    pub method: &'static str,
    pub path: String,
    pub body: Option<String>,
    pub if_match: Option<String>,
    /// The scope that the key needs, for messages.
    pub scope: &'static str,
}

impl GatewayRequest {
    pub fn get(path: &str, scope: &'static str) -> Self {
        Self { method: "GET", path: path.to_owned(), body: None, if_match: None, scope }
    }

    pub fn post(path: &str, scope: &'static str) -> Self {
        Self { method: "POST", ..Self::get(path, scope) }
    }
}

impl GatewayClient {
    pub fn new(settings: &Settings, url: Option<&str>, key_file: Option<&Path>) -> Result<Self, String> {
        let url = match url {
            Some(url) => url.to_owned(),
            None => own_url(settings)?,
        };
        let http = GatewayHttp::new(assemble::egress_config(settings), &url)?;
        Ok(Self { http, key: find_key(settings, key_file)? })
    }

    /// The body of a successful answer.
    pub async fn send(&self, request: GatewayRequest) -> Result<String, String> {
        let GatewayRequest { method, path, body, if_match, scope } = request;
        let (status, answer) = self.http.send(method, &path, &self.key, body, if_match.as_deref()).await?;
        if status == 200 { Ok(answer) } else { Err(self.refusal(status, &answer, scope)) }
    }

    /// The error message for an answer that is an error, with the next step for the user.
    fn refusal(&self, status: u16, answer: &str, scope: &str) -> String {
        let error = serde_json::from_str::<Value>(answer).map(|answer| answer["error"].clone());
        let error = error.unwrap_or_default();
        let (url, message) = (&self.http.url, error["message"].as_str());
        match (status, message) {
            (401, _) => format!(
                "The gateway at {url} refused the key from {}. Set GATEWAY_MASTER_KEY or --key-file to a key of this gateway.",
                self.key.origin
            ),
            (403, Some(message)) => {
                format!("{message} The key from {} needs the scope {scope}.", self.key.origin)
            }
            // An error about a field is one of this route; without a field, the route itself does not exist.
            (404, _) if error["param"].is_null() => format!(
                "There is no admin API at {url}. The address includes BASE_PATH, and ADMIN_ENDPOINTS_ENABLED must not be false."
            ),
            (_, Some(message)) => message.to_owned(),
            (_, None) => format!("{url} answered {status}, and not as a gateway does: check --url."),
        }
    }
}

/// The address at which a gateway with these settings listens.
pub fn own_url(settings: &Settings) -> Result<String, String> {
    let server = &settings.server;
    if server.port == 0 {
        return Err("PORT is 0, so that the port of the gateway is not known: give its address with --url."
            .to_owned());
    }
    let host = match server.host.trim_matches(['[', ']']) {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        address if address.contains(':') => format!("[{address}]"),
        name => name.to_owned(),
    };
    Ok(format!("http://{host}:{}{}", server.port, server.base_path.0.trim_end_matches('/')))
}

/// The key in the file that was named, else the master key: the configured one, or the one in the data directory.
pub fn find_key(settings: &Settings, key_file: Option<&Path>) -> Result<GatewayKey, String> {
    if let Some(file) = key_file {
        return read_key(file).map_err(|reason| format!("The key file {} {reason}.", file.display()));
    }
    if let Some(key) = &settings.server.master_key {
        return Ok(GatewayKey { value: key.clone(), origin: "GATEWAY_MASTER_KEY".to_owned() });
    }
    let file = settings.storage.data_dir.join(master_key::FILE);
    read_key(&file).map_err(|reason| {
        format!(
            "There is no key for the gateway: {} {reason}. Set GATEWAY_MASTER_KEY, give --key-file, or run this in the \
             directory of the gateway.",
            file.display()
        )
    })
}

pub fn read_key(file: &Path) -> Result<GatewayKey, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot be read ({error})"))?;
    match text.trim() {
        "" => Err("is empty".to_owned()),
        key => Ok(GatewayKey { value: Secret::new(key), origin: file.display().to_string() }),
    }
}
