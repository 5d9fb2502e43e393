//! `gatehouse bench`: measures the gateway under load next to a direct call, the baseline proxy and nginx.

mod rows;
mod scaling;
mod stage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bench::mock::MockConfig;
use clap::{Args, Subcommand};
use tokio::net::TcpListener;

#[derive(Args)]
pub struct Options {
    /// Also measure nginx (it must be installed), 100,000 keys and two workers
    #[arg(long)]
    full: bool,
    /// Seconds per measurement
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Measurements per value; the median is reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Also write the result as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// Parts of the benchmark that run as separate processes, so that their CPU time can be told apart.
#[derive(Subcommand)]
enum Part {
    /// Serve the mock upstream
    #[command(hide = true)]
    Mock,
    /// Serve the baseline proxy
    #[command(hide = true)]
    Floor { upstream: String, key: String },
}

pub struct Plan {
    pub full: bool,
    pub measure: Duration,
    pub rounds: usize,
}

#[expect(clippy::print_stderr, clippy::print_stdout, reason = "the table is the answer to the command")]
pub fn run(options: &Options) -> ExitCode {
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().enable_all().build() else {
        return ExitCode::FAILURE;
    };
    let plan = Plan {
        full: options.full,
        measure: Duration::from_secs_f64(options.seconds.clamp(0.1, 600.0)),
        rounds: options.rounds.clamp(1, 100),
    };
    let outcome = runtime.block_on(async {
        match &options.part {
            Some(Part::Mock) => mock().await.map(|()| None),
            Some(Part::Floor { upstream, key }) => floor(upstream, key).await.map(|()| None),
            None => rows::measure(&plan).await.map(Some),
        }
    });
    match outcome {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(report)) => {
            println!("{}\n{}", report.details(), report.table());
            match options.json.as_deref().map(|path| write(path, &report)) {
                Some(Err(error)) => {
                    eprintln!("The result could not be written: {error}");
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            }
        }
        Err(error) => {
            eprintln!("The bench failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(path: &Path, report: &bench::report::Report) -> std::io::Result<()> {
    std::fs::write(path, report.json()?)
}

async fn mock() -> std::io::Result<()> {
    bench::mock::serve_mock(announced().await?, MockConfig::default()).await
}

async fn floor(upstream: &str, key: &str) -> std::io::Result<()> {
    bench::baseline_proxy::serve_floor(announced().await?, upstream, key).await
}

#[expect(clippy::print_stdout, reason = "the parent process reads the address from here")]
async fn announced() -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(listener)
}
