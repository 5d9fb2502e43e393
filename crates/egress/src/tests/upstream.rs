//! Scripted upstreams and a clock that the test controls.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use domain::clock::{Clock, Timestamp};
use http::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use crate::{Destination, Egress, EgressConfig, Headers, Outbound, Trust};

#[derive(Default)]
pub struct TurnedClock(AtomicU64);

impl TurnedClock {
    pub fn turn(&self, by: Duration) {
        self.0.fetch_add(by.as_micros() as u64, Ordering::SeqCst);
    }
}

impl Clock for TurnedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst) as i64)
    }

    fn tick(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst))
    }
}

pub fn egress(config: EgressConfig) -> Egress {
    Egress::new(config, Arc::new(TurnedClock::default()), TaskTracker::new()).unwrap()
}

/// Serves every connection with `script` and counts connections.
pub struct Upstream {
    pub url: String,
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl Upstream {
    pub async fn start<F, S>(script: S) -> Self
    where
        S: Fn(Peer, usize) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let tasks = TaskTracker::new();
        tasks.clone().spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let number = counter.fetch_add(1, Ordering::SeqCst);
                tasks.spawn(script(Peer { stream }, number));
            }
        });
        Self { url: format!("http://127.0.0.1:{port}"), port, connections }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn destination(&self, egress: &Egress) -> Arc<Destination> {
        egress.destination(&self.url, Trust::Operator).unwrap()
    }
}

pub struct Peer {
    pub stream: TcpStream,
}

impl Peer {
    /// Reads one request, head and announced body, as text; `None` when the client has disconnected.
    pub async fn request(&mut self) -> Option<String> {
        let mut read = Vec::new();
        loop {
            let byte = self.stream.read_u8().await.ok()?;
            read.push(byte);
            if read.ends_with(b"\r\n\r\n") {
                break;
            }
        }
        let head = String::from_utf8(read).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(head + &String::from_utf8(body).unwrap())
    }

    pub async fn say(&mut self, text: impl AsRef<[u8]>) {
        // The client may have disconnected on purpose.
        let _ = self.stream.write_all(text.as_ref()).await;
    }

    /// Waits until the client has closed or reset the connection.
    pub async fn gone(&mut self) {
        let mut buffer = [0; 256];
        while let Ok(1..) = self.stream.read(&mut buffer).await {}
    }

    pub fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }
}

pub const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

pub fn post(destination: &Arc<Destination>, path: &str, body: &[&'static str]) -> Outbound {
    Outbound {
        destination: Arc::clone(destination),
        method: Method::POST,
        path_and_query: path.to_owned(),
        headers: Headers::default(),
        body: body.iter().map(|part| Bytes::from_static(part.as_bytes())).collect::<Vec<_>>().into(),
    }
}

pub async fn text(egress: &Egress, destination: &Arc<Destination>) -> String {
    let inbound = egress.send_multiplexed(post(destination, "/", &["hello"])).await.unwrap();
    String::from_utf8(inbound.body.collect(1 << 20).await.unwrap().to_vec()).unwrap()
}
