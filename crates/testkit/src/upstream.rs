//! A scripted provider for every API format on a real socket. It keeps its own bill and validates requests like the
//! real providers.
//!
//! | Path | Format | Credential |
//! |---|---|---|
//! | `POST /v1/chat/completions` | OpenAI chat | Bearer, required only for models with a `~` |
//! | `POST /v1/responses`, `…/input_tokens`, `…/compact`; `GET`, `DELETE /v1/responses/{id}`, `GET …/input_items`, `POST …/cancel` | OpenAI Responses | Bearer |
//! | `POST /v1/messages`, `…/count_tokens` | Anthropic Messages | `x-api-key` or Bearer, and `anthropic-version` |
//! | `POST /v1beta/models/{model}:generateContent`, `:streamGenerateContent?alt=sse`, `:countTokens` | Gemini | `x-goog-api-key` or `?key=` |
//! | `POST /openai/deployments/{model}/chat/completions?api-version=`, `…/embeddings`, `…/completions` | Azure | `api-key` |
//! | `POST /ollama/v1/chat/completions`, `…/embeddings`, `…/completions` | Ollama | none |
//! | `POST /v1/embeddings`, `/v1beta/openai/embeddings`, `/v1/rerank`, `/v1/completions` | OpenAI, Jina | Bearer (Gemini's: or its own) |
//! | `GET /v1/models`, `/v1beta/models`, `/ollama/api/tags`, `/openai/models` | lists; Anthropic's shape with `anthropic-version` | as above; none for OpenAI's and Azure's |
//!
//! The answers are written in the language of [`fault_script`], which is also the form of model names: a script, or a
//! model family, `~` and a script: `claude-opus-4-8~tools`, `gpt-5-mini~reasoning`, `gemini-3-pro~parallel-tools`. The
//! family's generation determines what is rejected. A suffix after `@` creates several models with the same script:
//! `error-500@3`. Any other name is `text`. A [`FaultScript`] pushed beforehand (first in, first out) answers the next
//! request whatever its model.
//!
//! The chat format is lenient for plain names: it only rejects a missing model, missing messages, an unknown role, a
//! result without its call and a temperature outside 0..2. All other formats, and chat with a `~`, reject what the real
//! provider rejects: unknown members anywhere, wrong roles, calls without results, features a generation lacks.
//! Signatures, sealed reasoning and thought signatures are only accepted as issued. Plain names in Messages are of
//! generation 4.5.
//!
//! The prompt costs eight tokens plus one per word in every format; the completion one per piece sent. `GET /bill`,
//! `GET /requests`, `GET /calls` (number of calls per model) and `POST /reset` serve suites outside this process, as
//! does `/fault`: one script for every call, see `fault_override.rs`. Bill and calls can be filtered by model:
//! `?model=NAME`, without percent-decoding.

mod agent;
mod answer;
mod answer_builder;
mod bill;
mod body;
mod call_counts;
mod chat;
mod dialect;
mod fault_override;
mod fault_script;
mod gemini;
mod memory;
mod messages;
mod model_name;
mod models;
mod openai;
mod parsed_request;
mod plain;
mod rejection;
mod reply;
mod resettable_stream;
mod responses;
mod route;
mod sample;
mod serve;
mod state;
mod tls;
mod upstream_request;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

pub use answer::{Answer, Billed, Step};
pub use answer_builder::{RESUMABLE_TEXT, TEXT_BEFORE_CALLS};
pub use bill::BillLine;
pub use fault_script::FaultScript;
pub use serve::Recorded;
pub use tls::TlsIdentity;

/// A running upstream. Dropping it stops it and closes its connections.
pub struct Upstream {
    address: SocketAddr,
    state: Arc<state::UpstreamState>,
    task: tokio::task::AbortHandle,
}

impl Upstream {
    /// Starts on a free port of the loopback interface.
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    #[expect(clippy::disallowed_methods, reason = "the accept loop is aborted with its Upstream")]
    pub async fn start_on(port: u16) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("the upstream's port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(state::UpstreamState::new(address.port()));
        let task = tokio::spawn(serve::accept(listener, Arc::clone(&state))).abort_handle();
        Self { address, state, task }
    }

    /// Starts with TLS, with HTTP/2 and HTTP/1.1 by ALPN, at `https://localhost:PORT/v1`.
    #[expect(clippy::disallowed_methods, reason = "the accept loop is aborted with its Upstream")]
    pub async fn start_tls(port: u16, identity: &TlsIdentity) -> std::io::Result<Self> {
        let acceptor = tls::acceptor(identity)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(state::UpstreamState::new(address.port()));
        let accepting = tls::accept(listener, acceptor, identity.max_streams, Arc::clone(&state));
        let task = tokio::spawn(accepting).abort_handle();
        Ok(Self { address, state, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bill: one line per billed answer, in order of arrival.
    pub fn bill(&self) -> Vec<BillLine> {
        self.state.bill.lines()
    }

    /// The last ten thousand requests, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests()
    }

    /// Queues an answer for the next request, whatever its model.
    pub fn push(&self, script: FaultScript) {
        self.state.push(script);
    }

    /// Clears the bill, the requests and the queued scripts.
    pub fn reset(&self) {
        self.state.reset();
    }

    /// Stops listening: new connections are refused, open ones are closed.
    pub fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop();
    }
}
