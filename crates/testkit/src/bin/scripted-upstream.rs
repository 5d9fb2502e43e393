//! The scripted upstream as a separate process, for suites outside Cargo. Prints its address first.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a small command line tool")]

use std::io::Write as _;
use std::process::ExitCode;

use testkit::{TlsIdentity, Upstream};

const USAGE: &str = "usage: scripted-upstream [--port PORT] [--tls CERTIFICATE KEY MAX_STREAMS]";

#[derive(Default)]
struct Options {
    port: u16,
    tls: Option<TlsIdentity>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(options) = options(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (_upstream, url) = match &options.tls {
        None => {
            let upstream = Upstream::start_on(options.port).await;
            let url = upstream.base_url();
            (upstream, url)
        }
        Some(identity) => match Upstream::start_tls(options.port, identity).await {
            Ok(upstream) => {
                let url = format!("https://localhost:{}/v1", upstream.address().port());
                (upstream, url)
            }
            Err(error) => {
                eprintln!("scripted-upstream: {error}");
                return ExitCode::FAILURE;
            }
        },
    };
    println!("{url}");
    if std::io::stdout().flush().is_err() {
        return ExitCode::FAILURE;
    }
    match tokio::signal::ctrl_c().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => options.port = arguments.next()?.parse().ok()?,
            "--tls" => {
                let (certificate, key) = (arguments.next()?.into(), arguments.next()?.into());
                options.tls =
                    Some(TlsIdentity { certificate, key, max_streams: arguments.next()?.parse().ok()? });
            }
            _ => return None,
        }
    }
    Some(options)
}
