//! A closed-loop load generator that reads every response to its end and checks it.

mod answer;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Uri;
use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::histogram::Histogram;
use answer::{Answer, Reader};

#[derive(Clone, Debug)]
pub struct LoadConfig {
    /// `http://host:port`, with an optional base path; `/v1/chat/completions` is appended.
    pub url: String,
    pub key: String,
    pub model: String,
    pub stream: bool,
    /// Length of the request body.
    pub body_bytes: usize,
    pub connections: usize,
    pub stop: Stop,
    pub warmup: Duration,
}

impl Default for LoadConfig {
    fn default() -> Self {
        Self {
            url: String::new(),
            key: "bench".into(),
            model: "bench-e100-g0".into(),
            stream: false,
            body_bytes: 1024,
            connections: 32,
            stop: Stop::After(Duration::from_secs(5)),
            warmup: Duration::ZERO,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Stop {
    After(Duration),
    Requests(u64),
}

/// Result of a load run; times in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoadReport {
    pub requests: u64,
    pub errors: u64,
    pub rps: f64,
    pub latency_p50: f64,
    pub latency_p99: f64,
    pub latency_p999: f64,
    pub ttfb_p50: f64,
    pub ttfb_p99: f64,
    pub bytes: u64,
    pub seconds: f64,
    /// The error of the first failed request.
    pub first_error: Option<String>,
}

/// Runs the warm-up, then the measurement.
pub async fn run_load(config: LoadConfig) -> io::Result<LoadReport> {
    let mut load = Load::open(&config).await?;
    if !config.warmup.is_zero() {
        load.run(Stop::After(config.warmup)).await;
    }
    Ok(load.run(config.stop).await)
}

/// Open connections that can run more than once, so that process statistics can be read between warm-up and
/// measurement.
pub struct Load {
    clients: Vec<Client>,
}

impl Load {
    pub async fn open(config: &LoadConfig) -> io::Result<Self> {
        let request = Arc::new(Template::new(config)?);
        let mut clients = Vec::with_capacity(config.connections);
        for _ in 0..config.connections {
            clients.push(Client::open(Arc::clone(&request)).await?);
        }
        Ok(Self { clients })
    }

    pub async fn run(&mut self, stop: Stop) -> LoadReport {
        let started = Instant::now();
        let (deadline, allowance) = match stop {
            Stop::After(duration) => (Some(started + duration), u64::MAX),
            Stop::Requests(count) => (None, count),
        };
        let allowance = Arc::new(AtomicU64::new(allowance));
        let mut running = JoinSet::new();
        for client in self.clients.drain(..) {
            running.spawn(client.run(deadline, Arc::clone(&allowance)));
        }
        let mut total = Tally::default();
        while let Some(finished) = running.join_next().await {
            if let Ok((client, tally)) = finished {
                self.clients.push(client);
                total.add(tally);
            }
        }
        total.report(started.elapsed())
    }
}

/// The bytes of the request, sent unchanged every time, and their destination.
struct Template {
    address: String,
    bytes: Vec<u8>,
    streamed: bool,
}

impl Template {
    fn new(config: &LoadConfig) -> io::Result<Self> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "the load needs an http:// URL");
        let uri: Uri = config.url.parse().map_err(|_| invalid())?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http")).ok_or_else(invalid)?;
        let path = format!("{}/v1/chat/completions", uri.path().trim_end_matches('/'));
        let body = body(config);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {authority}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            config.key,
            body.len()
        );
        let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
        Ok(Self { address, bytes: [head, body].concat().into_bytes(), streamed: config.stream })
    }
}

fn body(config: &LoadConfig) -> String {
    let with = |content: &str| {
        format!(
            r#"{{"model":"{}","stream":{},"messages":[{{"role":"user","content":"{content}"}}]}}"#,
            config.model, config.stream
        )
    };
    let frame = with("").len();
    let filler: String =
        "lorem ipsum dolor sit amet ".chars().cycle().take(config.body_bytes.saturating_sub(frame)).collect();
    with(&filler)
}

struct Client {
    template: Arc<Template>,
    stream: TcpStream,
    reader: Reader,
}

impl Client {
    async fn open(template: Arc<Template>) -> io::Result<Self> {
        let stream = TcpStream::connect(&template.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { template, stream, reader: Reader::default() })
    }

    async fn run(mut self, deadline: Option<Instant>, allowance: Arc<AtomicU64>) -> (Self, Tally) {
        let mut tally = Tally::default();
        let more = |count: u64| count.checked_sub(1);
        // Relaxed is enough: the counter only limits the number of requests and guards no other data.
        while deadline.is_none_or(|deadline| Instant::now() < deadline)
            && allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
        {
            let started = Instant::now();
            let outcome = self.call(started).await;
            tally.requests += 1;
            match outcome.and_then(|answer| answer.check(self.template.streamed)) {
                Ok(answer) => {
                    tally.latency.record(started.elapsed());
                    tally.ttfb.record(answer.first_byte);
                    tally.bytes += answer.bytes;
                    if !answer.closes {
                        continue;
                    }
                }
                Err(error) => {
                    tally.errors += 1;
                    tally.first_error.get_or_insert(error.to_string());
                }
            }
            if !self.reopen().await {
                break;
            }
        }
        (self, tally)
    }

    async fn call(&mut self, started: Instant) -> io::Result<Answer> {
        self.stream.write_all(&self.template.bytes).await?;
        self.reader.read(&mut self.stream, started).await
    }

    async fn reopen(&mut self) -> bool {
        match Self::open(Arc::clone(&self.template)).await {
            Ok(fresh) => {
                *self = fresh;
                true
            }
            Err(_) => false,
        }
    }
}

#[derive(Default)]
struct Tally {
    requests: u64,
    errors: u64,
    bytes: u64,
    latency: Histogram,
    ttfb: Histogram,
    first_error: Option<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
        self.ttfb.merge(&other.ttfb);
        self.first_error = self.first_error.take().or(other.first_error);
    }

    fn report(self, elapsed: Duration) -> LoadReport {
        LoadReport {
            requests: self.requests,
            errors: self.errors,
            rps: self.requests as f64 / elapsed.as_secs_f64().max(1e-9),
            latency_p50: self.latency.quantile(0.5),
            latency_p99: self.latency.quantile(0.99),
            latency_p999: self.latency.quantile(0.999),
            ttfb_p50: self.ttfb.quantile(0.5),
            ttfb_p99: self.ttfb.quantile(0.99),
            bytes: self.bytes,
            seconds: elapsed.as_secs_f64(),
            first_error: self.first_error,
        }
    }
}
