//! `gatehouse explain`: shows how a running gateway would handle a request, without making the call.

mod summary;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::gateway_client::{GatewayClient, GatewayRequest};
use super::{block_on, run_with_settings};

const EXAMPLES: &str = "\
Examples:
  gatehouse explain --model gpt-4o --message Hello
  gatehouse explain --model fast --message Hello --header 'X-Gateway-User-Path: /team' --as-key key_0195
  gatehouse explain --path /v1/messages --body request.json --json";

const PATH: &str = "/admin/api/v1/explain";
const SCOPE: &str = "admin:explain:read";

/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// File with the JSON body of the request; - reads standard input
    #[arg(long, value_name = "FILE", required_unless_present = "model",
        conflicts_with_all = ["model", "message", "stream"])]
    body: Option<PathBuf>,
    /// Model of a chat request that needs no file
    #[arg(long, value_name = "NAME", requires = "message")]
    model: Option<String>,
    /// Text of the user in this request
    #[arg(long, value_name = "TEXT", requires = "model")]
    message: Option<String>,
    /// Stream the answer to this request
    #[arg(long, requires = "model")]
    stream: bool,
    /// Path of the call, with its query; by default /v1/chat/completions
    #[arg(long, value_name = "PATH", conflicts_with = "model")]
    path: Option<String>,
    /// Header of the request; may be given several times
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Id of the key that would make the call; by default the key that is used here
    #[arg(long, value_name = "ID")]
    as_key: Option<String>,
    /// Address of the gateway, with its base path; by default that of the settings
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with the key to use, which needs the scope admin:explain:read; by default GATEWAY_MASTER_KEY, then
    /// master.key in the data directory
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Print the answer of the gateway as JSON
    #[arg(long)]
    json: bool,
}

/// The body of `POST /admin/api/v1/explain`.
#[derive(Serialize)]
struct ExplainRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    headers: BTreeMap<&'a str, &'a str>,
    body: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_key_id: Option<&'a str>,
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn run(config: Option<&Path>, options: &Options) -> ExitCode {
    run_with_settings(config, |settings| {
        let request = request(options, &mut std::io::stdin().lock())?;
        let client = GatewayClient::new(settings, options.url.as_deref(), options.key_file.as_deref())?;
        let answer = block_on(
            client.send(GatewayRequest { body: Some(request), ..GatewayRequest::post(PATH, SCOPE) }),
        )?;
        print!("{}", output(&answer, options.json)?);
        Ok(())
    })
}

/// The text to print for an answer.
fn output(answer: &str, as_json: bool) -> Result<String, String> {
    if as_json {
        return Ok(format!("{answer}\n"));
    }
    let explanation: Value =
        serde_json::from_str(answer).map_err(|error| format!("The answer is not JSON: {error}."))?;
    Ok(summary::text(&explanation))
}

/// The request to the gateway, as JSON.
fn request(options: &Options, standard_input: &mut impl Read) -> Result<String, String> {
    let request = ExplainRequest {
        path: options.path.as_deref(),
        headers: headers(&options.headers)?,
        body: body(options, standard_input)?,
        as_key_id: options.as_key.as_deref(),
    };
    serde_json::to_string(&request).map_err(|error| format!("The request cannot be written: {error}."))
}

/// The body of the call: that of a file, unchanged, or a chat request.
fn body(options: &Options, standard_input: &mut impl Read) -> Result<Box<RawValue>, String> {
    let Some(file) = &options.body else {
        let mut chat = json!({
            "model": options.model,
            "messages": [{"role": "user", "content": options.message}],
        });
        if options.stream {
            chat["stream"] = true.into();
        }
        return serde_json::value::to_raw_value(&chat).map_err(|error| error.to_string());
    };
    let text = if file.as_os_str() == STANDARD_INPUT {
        let mut text = String::new();
        standard_input.read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let text = text.map_err(|error| format!("{} cannot be read: {error}.", file.display()))?;
    RawValue::from_string(text)
        .map_err(|error| format!("The body in {} is not JSON: {error}.", file.display()))
}

fn headers(given: &[(String, String)]) -> Result<BTreeMap<&str, &str>, String> {
    let mut headers = BTreeMap::new();
    for (name, value) in given {
        if headers.insert(&**name, &**value).is_some() {
            return Err(format!("The header '{name}' is given twice. Give it once."));
        }
    }
    Ok(headers)
}

/// Reads a header as curl does: `Name: value`.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("not of the form 'Name: value'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
