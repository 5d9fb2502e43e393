//! The scripted upstream as a process of its own, for suites that run outside. Prints its address first.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a small command line tool")]

use std::io::Write as _;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let Some(port) = port(std::env::args().skip(1)) else {
        eprintln!("usage: scripted-upstream [--port PORT]");
        return ExitCode::from(2);
    };
    let upstream = testkit::Upstream::start_on(port).await;
    println!("{}", upstream.base_url());
    if std::io::stdout().flush().is_err() {
        return ExitCode::FAILURE;
    }
    match tokio::signal::ctrl_c().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn port(mut arguments: impl Iterator<Item = String>) -> Option<u16> {
    match arguments.next().as_deref() {
        None => Some(0),
        Some("--port") => arguments.next()?.parse().ok(),
        Some(_) => None,
    }
}
