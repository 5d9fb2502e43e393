//! A scripted provider in every dialect, on a real socket, that keeps its own bill and refuses what the real ones do.
//!
//! | Path | Dialect | Credential |
//! |---|---|---|
//! | `POST /v1/chat/completions` | OpenAI chat | Bearer, asked for with a `~` in the model only |
//! | `POST /v1/responses`, `…/input_tokens`, `…/compact`; `GET`, `DELETE /v1/responses/{id}`, `GET …/input_items`, `POST …/cancel` | OpenAI Responses | Bearer |
//! | `POST /v1/messages`, `…/count_tokens` | Anthropic Messages | `x-api-key` or Bearer, and `anthropic-version` |
//! | `POST /v1beta/models/{model}:generateContent`, `:streamGenerateContent?alt=sse`, `:countTokens` | Gemini | `x-goog-api-key` or `?key=` |
//! | `POST /openai/deployments/{model}/chat/completions?api-version=`, `…/embeddings`, `…/completions` | Azure | `api-key` |
//! | `POST /ollama/v1/chat/completions`, `…/embeddings`, `…/completions` | Ollama | none |
//! | `POST /v1/embeddings`, `/v1beta/openai/embeddings`, `/v1/rerank`, `/v1/completions` | OpenAI, Jina | Bearer (Gemini's: or its own) |
//! | `GET /v1/models`, `/v1beta/models`, `/ollama/api/tags`, `/openai/models` | lists; Anthropic's shape with `anthropic-version` | as above, OpenAI's and Azure's open |
//!
//! A model is named by a behaviour, or by a family, `~` and a behaviour: `claude-opus-4-8~tools`,
//! `gpt-5-mini~reasoning`, `gemini-3-pro~parallel-tools`. The family's generation decides what is refused. What follows an
//! `@` makes one behaviour many models: `error-500@3`. A [`Script`] pushed beforehand (first in, first out) answers the
//! next request whatever its model.
//!
//! | Behaviour | What it does |
//! |---|---|
//! | `text`, any other name | greets, repeats the last text, with usage |
//! | `long`, `long-NNN` | 100 (NNN) pieces of content |
//! | `tools`, `parallel-tools` | one or two calls of the first (or the forced) tool; `The tools said: …` once the last turn is results |
//! | `reasoning` | reasoning before the text. Chat: `reasoning_content` always, but for `gpt-5…~` and `o…~` counted and not shown; elsewhere when the request asked for it, as it does before the calls of `tools`, `agent` and `schema` |
//! | `redacted` | reasoning that cannot be read (Messages: `redacted_thinking`) |
//! | `cached` | half of the prompt read from a cache; Messages: some written to one as well, for 5 minutes and for an hour |
//! | `echo` | the request's body, as JSON text in the content |
//! | `empty` | a valid answer without content |
//! | `schema` | the smallest value that satisfies the request's JSON schema, or the forced tool's |
//! | `see` | `I see 2 images: image/png 68 bytes, …` |
//! | `agent` | asked to `write the file NAME with CONTENT`, calls the agent's own file or shell tool; `Done.` once there are results; text without tools |
//! | `stop`, `max-tokens` | ended by the first stop sequence, by the limit |
//! | `refusal`, `content-filter` | the model refuses; a filter cuts it off (Gemini: a blocked prompt, a blocked candidate) |
//! | `strict` | like `text`, but an unknown top-level field of the chat format is 400 |
//! | `slow-NNN`, `late-NNN-BEHAVIOUR` | first byte after NNN ms; the same before that behaviour |
//! | `drip-NNN` | NNN ms before every event |
//! | `no-usage`, `weird-usage` | never tells usage; tells negative and absurd counts |
//! | `usage-every-chunk`, `azure-first` | chat: a running usage on every chunk; a first chunk without choices and id |
//! | `huge-event`, `huge-event-NNN` | one text of 64 MiB (NNN KiB) in one event (one body) |
//! | `hang`, `hang-after-head`, `hang-before-content`, `hang-mid-stream` | silence: at once, after the head, after all that comes before content, after some content |
//! | `reset-before-head`, `…-before-content`, `…-mid-stream` | the connection is reset |
//! | `cut-before-head`, `…-before-content`, `…-mid-stream` | the connection is closed without the chunk terminator |
//! | `eof-before-content`, `eof-mid-stream` | ends cleanly, without any end the dialect has |
//! | `error-NNN` | that status with the dialect's error body; 429 carries `Retry-After: 30` |
//! | `error-NNN-FORM` | the same with `Retry-After` as a number of seconds, `date-SS` (a date that far ahead), `past`, `absurd` (ten years), `garbage` or `none`; with `ms-MM`, `retry-after-ms: MM` |
//! | `insufficient-quota` | 429 that no waiting helps (Messages: 400) |
//! | `unauthorized` | 401 |
//! | `error-in-stream` | 200, then an error before any content (Messages: after `message_start`; Responses: an `error` event after `response.in_progress`) |
//! | `error-after-content` | some content, then an error (Responses: `response.failed`) |
//! | `html`, `bad-json`, `bad-sse`, `empty-body` | 200 with a web page, a broken document, what is neither event nor document, nothing |
//! | `truncated-json`, `bad-event-mid-stream` | half of the document (some content, then half an event) and an orderly end; some content, then an event of broken JSON |
//! | `wrong-type`, `swapped` | a right answer as `text/plain`; a document for a stream and a stream for a document |
//! | `sse-crlf`, `sse-cr`, `sse-bom`, `sse-lines`, `sse-comments` | the same events with other line ends, a byte order mark, data on two lines, comments between them |
//! | `pings`, `ping-events`, `ping-flood` | nothing but comments, or ping events, every 20 ms, or as fast as they are taken; documents: spaces |
//! | `endless` | a stream of the same word, as fast as it is taken |
//! | `bytewise`, `bytewise-NNN` | every byte in a write of its own, NNN ms apart |
//! | `gzip-bomb` | 256 MiB of spaces, packed to 1.7 MB |
//! | `flaky-N`, `flaky-N-BEHAVIOUR` | the first N calls of this name are `error-500` (that behaviour), the others `text` |
//! | `every-N`, `every-N-BEHAVIOUR` | every N-th call of this name is `error-500` (that behaviour), the others `text` |
//! | `recovers-NNN`, `recovers-NNN-BEHAVIOUR` | `error-503` (that behaviour) until NNN ms after its first call, then `text` |
//! | `tattle-NNN`, `tattle-page`, `tattle-stream` | an error that repeats every header of the request, the credential too, in its message and its own headers: with that status, as a web page, inside a 200 |
//! | `saga-N` | tells the text that the request holds, dies the N-th death it names, goes on where another stopped: see `saga.rs` |
//! | `tale`, `tale-again`, `tale-anew` | the same text every time; its rest when asked for that: as such, with the quoted words again, from the beginning |
//! | `tale-thought`, `tale-call`, `tale-calls` | it with reasoning before; one or two calls behind a text |
//! | `tale…-cut-NNN`, `-reset-`, `-eof-`, `-hang-`, `-error-` | such an answer broken after NNN characters of text (pieces, where there is more than text) |
//!
//! The chat format is lenient for plain names: it refuses no model, no messages, an unknown role, a result without its
//! call, a temperature outside 0..2. Everything else, and chat with a `~`, refuses as the real provider does: unknown
//! members anywhere, wrong roles, calls without results, what a generation lacks. Signatures, sealed reasoning and
//! thought signatures are taken back only as they were issued. Plain names in Messages are of generation 4.5.
//!
//! The prompt costs eight and one for each word, in every dialect; the completion one for each piece sent. `GET /bill`,
//! `GET /requests`, `GET /calls` (how often each model was called) and `POST /reset` serve suites that run outside this
//! process, as does `/mood`: one fault for every call, see `mood.rs`. Bill and calls can be asked for one model:
//! `?model=NAME`, as it is written, nothing decoded.

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
mod house;
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

/// A running upstream; it stops, and its connections break, when it is dropped.
pub struct Upstream {
    address: SocketAddr,
    house: Arc<house::House>,
    task: tokio::task::AbortHandle,
}

impl Upstream {
    /// On a free port of the loopback interface.
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    #[expect(clippy::disallowed_methods, reason = "the accept loop is aborted with its Upstream")]
    pub async fn start_on(port: u16) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("the upstream's port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let house = Arc::new(house::House::new(address.port()));
        let task = tokio::spawn(serve::accept(listener, Arc::clone(&house))).abort_handle();
        Self { address, house, task }
    }

    /// Over TLS, with HTTP/2 and HTTP/1.1 by ALPN, at `https://localhost:PORT/v1`.
    #[expect(clippy::disallowed_methods, reason = "the accept loop is aborted with its Upstream")]
    pub async fn start_tls(port: u16, identity: &TlsIdentity) -> std::io::Result<Self> {
        let acceptor = tls::acceptor(identity)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let house = Arc::new(house::House::new(address.port()));
        let accepting = tls::accept(listener, acceptor, identity.max_streams, Arc::clone(&house));
        let task = tokio::spawn(accepting).abort_handle();
        Ok(Self { address, house, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// One line per answer that cost something, in the order of arrival.
    pub fn bill(&self) -> Vec<BillLine> {
        self.house.bill.lines()
    }

    /// The last ten thousand requests, in the order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.house.requests()
    }

    /// The next request for an answer is answered by this, whatever its model.
    pub fn push(&self, script: Script) {
        self.house.push(script);
    }

    /// Forgets the bill, the requests and what was pushed.
    pub fn reset(&self) {
        self.house.reset();
    }

    /// From now on nobody listens there: connecting is refused, open connections break.
    pub fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop();
    }
}
