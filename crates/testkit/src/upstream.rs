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
//! A model name is a behaviour, or a family, `~` and a behaviour: `claude-opus-4-8~tools`, `gpt-5-mini~reasoning`,
//! `gemini-3-pro~parallel-tools`. The family's generation determines what is rejected. A suffix after `@` creates
//! several models with the same behaviour: `error-500@3`. A [`Script`] pushed beforehand (first in, first out) answers
//! the next request whatever its model.
//!
//! | Behaviour | Effect |
//! |---|---|
//! | `text`, any other name | greets, repeats the last text, with usage |
//! | `long`, `long-NNN` | 100 (NNN) pieces of content |
//! | `tools`, `parallel-tools` | one or two calls of the first (or the forced) tool; `The tools said: …` once the last turn is results |
//! | `reasoning` | reasoning before the text. Chat: always as `reasoning_content`, except for `gpt-5…~` and `o…~`, where it is counted but not shown; other formats: if requested, as also before the calls of `tools`, `agent` and `schema` |
//! | `redacted` | unreadable reasoning (Messages: `redacted_thinking`) |
//! | `cached` | half of the prompt read from a cache; Messages: also some 5-minute and 1-hour cache writes |
//! | `echo` | the request's body, as JSON text in the content |
//! | `empty` | a valid answer without content |
//! | `schema` | the smallest value that satisfies the request's JSON schema, or the forced tool's |
//! | `see` | `I see 2 images: image/png 68 bytes, …` |
//! | `agent` | on `write the file NAME with CONTENT`, calls the agent's own file or shell tool; `Done.` once there are results; text without tools |
//! | `stop`, `max-tokens` | ended by the first stop sequence, by the limit |
//! | `refusal`, `content-filter` | a refusal by the model; an answer cut by a filter (Gemini: a blocked prompt, a blocked candidate) |
//! | `strict` | like `text`, but an unknown top-level field of the chat format is 400 |
//! | `slow-NNN`, `late-NNN-BEHAVIOUR` | first byte after NNN ms; the same before that behaviour |
//! | `drip-NNN` | NNN ms before every event |
//! | `no-usage`, `weird-usage` | no usage; negative and implausible counts |
//! | `usage-every-chunk`, `azure-first` | chat: running usage on every chunk; a first chunk without choices and id |
//! | `huge-event`, `huge-event-NNN` | one text of 64 MiB (NNN KiB) in one event (one body) |
//! | `hang`, `hang-after-head`, `hang-before-content`, `hang-mid-stream` | no more bytes: at once, after the head, right before the content, after some content |
//! | `reset-before-head`, `…-before-content`, `…-mid-stream` | connection reset |
//! | `cut-before-head`, `…-before-content`, `…-mid-stream` | connection closed without the chunk terminator |
//! | `eof-before-content`, `eof-mid-stream` | clean end of the body without the format's terminal event |
//! | `error-NNN` | that status with the format's error body; 429 has `Retry-After: 30` |
//! | `error-NNN-FORM` | the same with `Retry-After` as a number of seconds, `date-SS` (a date that far ahead), `past`, `absurd` (ten years), `garbage` or `none`; with `ms-MM`, `retry-after-ms: MM` |
//! | `insufficient-quota` | non-retryable 429 (Messages: 400) |
//! | `unauthorized` | 401 |
//! | `error-in-stream` | 200, then an error before any content (Messages: after `message_start`; Responses: an `error` event after `response.in_progress`) |
//! | `error-after-content` | some content, then an error (Responses: `response.failed`) |
//! | `html`, `bad-json`, `bad-sse`, `empty-body` | 200 with a web page, a malformed document, neither events nor a document, an empty body |
//! | `truncated-json`, `bad-event-mid-stream` | half of the document (some content, then half an event) and a clean end; some content, then an event of malformed JSON |
//! | `wrong-type`, `swapped` | a valid answer as `text/plain`; a document instead of a stream and vice versa |
//! | `sse-crlf`, `sse-cr`, `sse-bom`, `sse-lines`, `sse-comments` | the same events with other line ends, a byte order mark, data on two lines, comments between them |
//! | `pings`, `ping-events`, `ping-flood` | only comments, or ping events, every 20 ms, or as fast as they are read; documents: spaces |
//! | `endless` | a stream of the same word, as fast as it is read |
//! | `bytewise`, `bytewise-NNN` | a separate write for every byte, NNN ms apart |
//! | `gzip-bomb` | 256 MiB of spaces, compressed to 1.7 MB |
//! | `flaky-N`, `flaky-N-BEHAVIOUR` | the first N calls of this name are `error-500` (that behaviour), the others `text` |
//! | `every-N`, `every-N-BEHAVIOUR` | every N-th call of this name is `error-500` (that behaviour), the others `text` |
//! | `recovers-NNN`, `recovers-NNN-BEHAVIOUR` | `error-503` (that behaviour) until NNN ms after its first call, then `text` |
//! | `tattle-NNN`, `tattle-page`, `tattle-stream` | an error that repeats every request header, including the credential, in its message and its own headers: with that status, as a web page, inside a 200 |
//! | `saga-N` | sends the text contained in the request, fails with the N-th fault it specifies, continues an interrupted answer: see `saga.rs` |
//! | `tale`, `tale-again`, `tale-anew` | a fixed text; a continuation request gets the rest, the rest with the quoted words repeated, or the text from the beginning |
//! | `tale-thought`, `tale-call`, `tale-calls` | the text with reasoning before it; one or two calls after a text |
//! | `tale…-cut-NNN`, `-reset-`, `-eof-`, `-hang-`, `-error-` | such an answer interrupted after NNN characters of text (pieces, if there is more than text) |
//!
//! The chat format is lenient for plain names: it only rejects a missing model, missing messages, an unknown role, a
//! result without its call and a temperature outside 0..2. All other formats, and chat with a `~`, reject what the real
//! provider rejects: unknown members anywhere, wrong roles, calls without results, features a generation lacks.
//! Signatures, sealed reasoning and thought signatures are only accepted as issued. Plain names in Messages are of
//! generation 4.5.
//!
//! The prompt costs eight tokens plus one per word in every format; the completion one per piece sent. `GET /bill`,
//! `GET /requests`, `GET /calls` (number of calls per model) and `POST /reset` serve suites outside this process, as
//! does `/mood`: one fault for every call, see `mood.rs`. Bill and calls can be filtered by model: `?model=NAME`,
//! without percent-decoding.

mod agent;
mod asked;
mod behaviour;
mod bill;
mod body;
mod chat;
mod desk;
mod dialect;
mod failing;
mod generate;
mod line;
mod mangled;
mod memory;
mod messages;
mod models;
mod moment;
mod mood;
mod name;
mod openai;
mod plain;
mod refusal;
mod reply;
mod responses;
mod route;
mod saga;
mod sample;
mod script;
mod serve;
mod state;
mod tattle;
mod tls;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

pub use behaviour::{LOOK, TALE};
pub use bill::BillLine;
pub use script::{Answer, Billed, Script, Step};
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
    pub fn push(&self, script: Script) {
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
