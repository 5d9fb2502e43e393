//! The measurements of the benchmark and their targets.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::load::{Load, LoadConfig, LoadReport, Stop, run_load};
use bench::report::{Against, Figures, Measurement, Report, Row};
use domain::resources::auth_key::{self, AuthKey};

use super::stage::{Actor, KEY};
use super::{Plan, scaling};
use crate::system::{SystemClock, SystemEntropy};

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// A kind of load, and the factors of nginx's value to reach.
struct Shape {
    name: &'static str,
    model: &'static str,
    stream: bool,
    body_bytes: usize,
    connections: usize,
    reach: f64,
    aim: f64,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "CPU-µs, 1 KB chat, 32 connections",
        model: "bench",
        stream: false,
        body_bytes: 1024,
        connections: 32,
        reach: 2.3,
        aim: 2.0,
    },
    Shape {
        name: "CPU-µs, 100 KB body",
        model: "bench",
        stream: false,
        body_bytes: 100 * 1024,
        connections: 32,
        reach: 2.2,
        aim: 2.0,
    },
    Shape {
        name: "CPU-µs, stream of 100, no pause",
        model: "bench-e100-g0",
        stream: true,
        body_bytes: 1024,
        connections: 32,
        reach: 1.6,
        aim: 1.5,
    },
    Shape {
        name: "CPU-µs, stream of 100, 5 ms apart, 256 streams",
        model: "bench-e100-g5",
        stream: true,
        body_bytes: 1024,
        connections: 256,
        reach: 1.25,
        aim: 1.2,
    },
];

/// All processes under test.
struct TestProcesses {
    mock: Actor,
    floor: Actor,
    gateway: Actor,
    whole: Option<Actor>,
    streams: Option<Actor>,
}

impl TestProcesses {
    fn nginx(&self, stream: bool) -> Option<&Actor> {
        if stream { self.streams.as_ref() } else { self.whole.as_ref() }
    }
}

pub async fn measure(plan: &Plan) -> io::Result<Report> {
    let directory = scratch("bench")?;
    let mut report = Report::default();
    let cast = assemble(plan, &directory).await?;
    let idle = cast.gateway.settled().await?.rss as f64 / MEBIBYTE;
    for shape in &SHAPES {
        print_progress(shape.name);
        measure_cpu(plan, &cast, shape, &mut report.measurements).await?;
        let rounds = report.rounds(shape.name, |round| round.cpu_per_request);
        report.rows.push(Row::judge(shape.name, &rounds, Against::Nginx, Some(shape.reach), Some(shape.aim)));
    }
    let rounds = report.rounds(SHAPES[0].name, |round| round.load.latency_p99);
    report.rows.push(Row::judge(
        "µs p99, 1 KB chat, 32 connections",
        &rounds,
        Against::Nginx,
        Some(1.6),
        Some(1.6),
    ));
    print_progress("a translated stream");
    report.rows.push(translated(plan, &cast).await?);
    print_progress("time to first byte and latency");
    report.rows.push(first_byte(plan, &cast).await?);
    report.rows.push(single(plan, &cast).await?);
    let itself = |gateway: f64| [Figures { gateway: Some(gateway), ..Figures::default() }];
    report.rows.push(Row::judge("MiB RSS, idle", &itself(idle), Against::Itself, Some(18.0), Some(15.0)));
    let peak = with_streams(plan, &cast).await?;
    report.rows.push(Row::judge(
        "MiB RSS, 256 streams",
        &itself(peak),
        Against::Itself,
        Some(40.0),
        Some(40.0),
    ));
    drop(cast);
    print_progress("start");
    let (starts, counted) = start(plan).await?;
    report.rows.push(Row::judge(
        "ms, start to first answer",
        &starts,
        Against::Itself,
        Some(100.0),
        Some(50.0),
    ));
    report.rows.push(Row::judge(
        "MiB RSS, idle, tokenizer loaded",
        &itself(counted),
        Against::Itself,
        None,
        None,
    ));
    if plan.full {
        print_progress("100,000 keys");
        report.rows.push(many_keys(plan).await?);
        print_progress("two workers");
        report.rows.extend(scaling::measure(plan).await?);
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(report)
}

#[expect(clippy::print_stderr, reason = "a long command says where it is")]
fn print_progress(what: &str) {
    eprintln!("bench: {what} …");
}

pub fn scratch(name: &str) -> io::Result<PathBuf> {
    let directory = std::env::temp_dir().join(format!("gatehouse-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

fn below(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let path = directory.join(name);
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

async fn assemble(plan: &Plan, directory: &Path) -> io::Result<TestProcesses> {
    let mock = Actor::mock()?;
    let nginx = |name: &str, buffering: bool| -> io::Result<Option<Actor>> {
        match Actor::nginx(&mock, &below(directory, name)?, buffering, 2) {
            Ok(actor) => Ok(Some(actor)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                print_progress("nginx is not installed, so its column stays empty");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    };
    let cast = TestProcesses {
        floor: Actor::floor(&mock)?,
        gateway: Actor::gateway(&mock, &below(directory, "data")?)?,
        whole: if plan.full { nginx("whole", true)? } else { None },
        streams: if plan.full { nginx("streams", false)? } else { None },
        mock,
    };
    for actor in [Some(&cast.gateway), Some(&cast.floor), cast.whole.as_ref(), cast.streams.as_ref()]
        .into_iter()
        .flatten()
    {
        actor.listening().await?;
    }
    Ok(cast)
}

fn load(actor: &Actor, shape: &Shape) -> LoadConfig {
    LoadConfig {
        url: actor.url.clone(),
        key: KEY.into(),
        model: shape.model.into(),
        stream: shape.stream,
        body_bytes: shape.body_bytes,
        connections: shape.connections,
        warmup: Duration::from_millis(300),
        ..LoadConfig::default()
    }
}

fn honest(report: LoadReport) -> io::Result<LoadReport> {
    match &report.first_error {
        Some(error) => {
            Err(io::Error::other(format!("{} of {} calls failed: {error}", report.errors, report.requests)))
        }
        None => Ok(report),
    }
}

/// Measures the CPU time per request. The actors take turns, so that other load on the machine affects all of them.
async fn measure_cpu(
    plan: &Plan,
    cast: &TestProcesses,
    shape: &Shape,
    measurements: &mut Vec<Measurement>,
) -> io::Result<()> {
    let actors = [
        ("gateway", Some(&cast.gateway)),
        ("floor", Some(&cast.floor)),
        ("nginx", cast.nginx(shape.stream)),
        ("direct", Some(&cast.mock)),
    ];
    for _ in 0..plan.rounds {
        for (name, actor) in actors {
            let Some(actor) = actor else { continue };
            measurements.push(under_load(plan, actor, name, shape).await?);
        }
    }
    Ok(())
}

async fn under_load(
    plan: &Plan,
    actor: &Actor,
    name: &'static str,
    shape: &Shape,
) -> io::Result<Measurement> {
    let mut load = Load::open(&load(actor, shape)).await?;
    honest(load.run(Stop::After(Duration::from_millis(300))).await)?;
    let before = actor.settled().await?;
    let report = honest(load.run(Stop::After(plan.measure)).await)?;
    let after = actor.settled().await?;
    Ok(Measurement {
        name: shape.name.to_owned(),
        actor: name,
        cpu_per_request: before.cpu_per_request(after, report.requests),
        peak_rss: after.peak_rss,
        load: report,
    })
}

async fn cpu_per_request(plan: &Plan, actor: &Actor, shape: &Shape) -> io::Result<f64> {
    Ok(under_load(plan, actor, "gateway", shape).await?.cpu_per_request)
}

/// Compares the same stream of a hundred events to a chat client, native and translated from Anthropic's format, in
/// turns.
async fn translated(plan: &Plan, cast: &TestProcesses) -> io::Result<Row> {
    let shape = Shape { model: "claude-bench-e100-g0", ..SHAPES[2] };
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let native = cpu_per_request(plan, &cast.gateway, &SHAPES[2]).await?;
        let foreign = cpu_per_request(plan, &cast.gateway, &shape).await?;
        rounds.push(Figures { gateway: Some(foreign), direct: Some(native), ..Figures::default() });
    }
    let name = "CPU-µs, stream of 100, translated, times as it is";
    Ok(Row::judge(name, &rounds, Against::Direct, Some(3.0), Some(2.0)))
}

async fn first_byte(plan: &Plan, cast: &TestProcesses) -> io::Result<Row> {
    let shape = Shape { connections: 32, ..SHAPES[3] };
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let gateway = timed(plan, &cast.gateway, &shape).await?.ttfb_p50 / 1000.0;
        let direct = timed(plan, &cast.mock, &shape).await?.ttfb_p50 / 1000.0;
        rounds.push(Figures { gateway: Some(gateway), direct: Some(direct), ..Figures::default() });
    }
    let name = "ms added to first byte, p50, 32 streams";
    Ok(Row::judge(name, &rounds, Against::MoreThanDirect, Some(1.0), Some(0.5)))
}

async fn single(plan: &Plan, cast: &TestProcesses) -> io::Result<Row> {
    let shape = Shape { connections: 1, ..SHAPES[0] };
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let mut round = Figures {
            gateway: Some(timed(plan, &cast.gateway, &shape).await?.latency_p50),
            floor: Some(timed(plan, &cast.floor, &shape).await?.latency_p50),
            direct: Some(timed(plan, &cast.mock, &shape).await?.latency_p50),
            nginx: None,
        };
        if let Some(actor) = &cast.whole {
            round.nginx = Some(timed(plan, actor, &shape).await?.latency_p50);
        }
        rounds.push(round);
    }
    let name = "µs p50, one connection, over nginx";
    Ok(Row::judge(name, &rounds, Against::MoreThanNginx, Some(20.0), Some(20.0)))
}

async fn timed(plan: &Plan, actor: &Actor, shape: &Shape) -> io::Result<LoadReport> {
    honest(run_load(LoadConfig { stop: Stop::After(plan.measure), ..load(actor, shape) }).await?)
}

/// The most memory of a gateway that was just started while streams are open.
async fn with_streams(plan: &Plan, cast: &TestProcesses) -> io::Result<f64> {
    let directory = scratch("streams")?;
    let gateway = Actor::gateway(&cast.mock, &directory)?;
    gateway.listening().await?;
    // Start-up takes more memory for a moment.
    gateway.settled().await?;
    let running = run_load(LoadConfig { stop: Stop::After(plan.measure), ..load(&gateway, &SHAPES[3]) });
    let mut running = std::pin::pin!(running);
    let mut most = 0;
    let report = loop {
        match tokio::time::timeout(Duration::from_millis(100), &mut running).await {
            Ok(report) => break report,
            Err(_) => most = most.max(gateway.cost()?.rss),
        }
    };
    honest(report?)?;
    drop(gateway);
    std::fs::remove_dir_all(directory)?;
    Ok(most as f64 / MEBIBYTE)
}

/// Time from process start to the first response on an empty data directory, and memory after the tokenizer was loaded.
async fn start(plan: &Plan) -> io::Result<(Vec<Figures>, f64)> {
    let mut rounds = Vec::new();
    let mut rss = 0.0;
    for round in 0..plan.rounds {
        let directory = scratch(&format!("start-{round}"))?;
        let began = tokio::time::Instant::now();
        let actor = Actor::demo(&directory)?;
        let config = LoadConfig {
            url: actor.url.clone(),
            key: KEY.into(),
            model: "demo-chat".into(),
            connections: 1,
            stop: Stop::Requests(1),
            ..LoadConfig::default()
        };
        honest(run_load(config).await?)?;
        let elapsed = began.elapsed().as_secs_f64() * 1000.0;
        rounds.push(Figures { gateway: Some(elapsed), ..Figures::default() });
        abandon(&actor).await?;
        rss = actor.settled().await?.rss as f64 / MEBIBYTE;
        drop(actor);
        std::fs::remove_dir_all(directory)?;
    }
    Ok((rounds, rss))
}

/// Aborts a stream as a client, so that the gateway has to estimate the usage itself and loads its tokenizer.
async fn abandon(actor: &Actor) -> io::Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let body = format!(
        r#"{{"model":"demo-chat","stream":true,"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "count me ".repeat(100_000)
    );
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut socket = tokio::net::TcpStream::connect(actor.url.trim_start_matches("http://")).await?;
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body.as_bytes()).await?;
    let mut first = [0u8; 64];
    let _ = socket.read(&mut first).await?;
    Ok(())
}

/// Compares the same call with ten keys and with a hundred thousand, in turns; the ratio is judged.
async fn many_keys(plan: &Plan) -> io::Result<Row> {
    let mock = Actor::mock()?;
    let actors = [with_keys(&mock, 10).await?, with_keys(&mock, 100_000).await?];
    compare(plan, actors, "CPU-µs with 100,000 keys, times that with 10", Some(1.05)).await
}

async fn with_keys(mock: &Actor, count: usize) -> io::Result<(Actor, PathBuf)> {
    let directory = scratch(&format!("keys-{count}"))?;
    seed(&directory, count).await?;
    Ok((Actor::gateway(mock, &directory)?, directory))
}

/// Compares 1 KB chats to two actors, in turns, and removes their directories. The CPU time of the second one, in units of
/// that of the first one, is judged if it has a limit.
pub async fn compare(
    plan: &Plan,
    actors: [(Actor, PathBuf); 2],
    name: &'static str,
    most: Option<f64>,
) -> io::Result<Row> {
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        let direct = Some(cpu_per_request(plan, &actors[0].0, &SHAPES[0]).await?);
        let gateway = Some(cpu_per_request(plan, &actors[1].0, &SHAPES[0]).await?);
        rounds.push(Figures { gateway, direct, ..Figures::default() });
    }
    for (actor, directory) in actors {
        drop(actor);
        std::fs::remove_dir_all(directory)?;
    }
    Ok(Row::judge(name, &rounds, Against::Direct, most, most))
}

/// Writes keys directly into the database that the gateway is about to open.
async fn seed(directory: &Path, count: usize) -> io::Result<()> {
    let key_file = directory.join("encryption.key");
    let sealing_key = store::load_or_create_key(&key_file, &SystemEntropy)?;
    let config = store::StoreConfig {
        backend: store::Backend::Sqlite { path: directory.join("gatehouse.db") },
        sealing_key,
        operation_timeout: Duration::from_secs(30),
        entropy: std::sync::Arc::new(SystemEntropy),
    };
    let opened =
        store::Store::open(config, std::sync::Arc::new(SystemClock)).await.map_err(io::Error::other)?;
    let keys = opened.collection::<AuthKey>();
    for number in 0..count {
        let key = key(number);
        keys.put(&key, store::Write::Create, "bench", None).await.map_err(io::Error::other)?;
    }
    opened.close().await;
    Ok(())
}

fn key(number: usize) -> AuthKey {
    let raw = auth_key::mint(&SystemEntropy);
    let key = AuthKey::new(format!("key_{number:08}"), &format!("bench {number}"), &raw);
    AuthKey { user_path: Some(format!("/bench/{number}")), ..key }
}
