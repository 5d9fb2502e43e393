//! A scripted provider in OpenAI's chat format, on a real socket, that keeps its own bill.
//!
//! What it does is chosen by the model's name, or by a [`Script`] pushed beforehand (first in, first out):
//!
//! | Model | Behaviour |
//! |---|---|
//! | `text`, any other name | greets, repeats the last user text, with usage |
//! | `long`, `long-NNN` | 100 (NNN) content chunks |
//! | `tools`, `parallel-tools` | one or two tool calls; text once the last message is a tool's result |
//! | `reasoning` | `reasoning_content` before the text, counted as reasoning tokens |
//! | `cached` | half of the prompt counted as `cached_tokens` |
//! | `echo` | the request's body, as JSON text in the content |
//! | `empty` | a valid answer without content |
//! | `strict` | like `text`, but an unknown top-level field is 400 |
//! | `slow-NNN` | first byte after NNN ms |
//! | `drip-NNN` | NNN ms before every event |
//! | `no-usage` | never tells usage |
//! | `weird-usage` | negative and absurd counts |
//! | `usage-every-chunk` | a running usage on every chunk |
//! | `azure-first` | a first chunk without choices and id |
//! | `huge-event`, `huge-event-NNN` | one event (one body) of 64 MiB (NNN KiB) |
//! | `hang`, `hang-after-head`, `hang-mid-stream` | silence: at once, after the head, after some content |
//! | `reset-before-head`, `reset-mid-stream` | the connection is reset |
//! | `cut-mid-stream` | the connection is closed without the chunk terminator |
//! | `eof-mid-stream` | ends cleanly after some content, without a finish or `[DONE]` |
//! | `error-NNN` | that status with an error body; 429 carries `Retry-After: 30` |
//! | `error-429-NNN` | 429 with `Retry-After: NNN` |
//! | `unauthorized` | 401 |
//! | `error-in-stream` | 200, then an error object as the first event |
//! | `error-after-content` | some content, then an error object |
//! | `html`, `bad-json`, `empty-body` | 200 with a web page, a broken document, nothing |
//!
//! It refuses with 400: no model, no messages, an unknown role, a tool result without its call, a temperature
//! outside 0..2. `GET /v1/models` lists the names. `GET /bill`, `GET /requests` and `POST /reset` serve suites
//! that run outside this process.

mod behaviour;
mod bill;
mod body;
mod line;
mod render;
mod script;
mod serve;
mod validate;

#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

pub use bill::BillLine;
pub use script::{Answer, Script, Step};
pub use serve::Recorded;

/// A running upstream; it stops, and its connections break, when it is dropped.
pub struct Upstream {
    address: SocketAddr,
    house: Arc<serve::House>,
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
        let house = Arc::new(serve::House::new(address.port()));
        let task = tokio::spawn(serve::accept(listener, Arc::clone(&house))).abort_handle();
        Self { address, house, task }
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

    /// The next chat request is answered by this, whatever its model.
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
