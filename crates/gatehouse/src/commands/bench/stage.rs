//! Child processes of the benchmark: started, queried for their address, and stopped on drop.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bench::nginx::{self, NginxConfig};
use bench::process::{self, Cost};

pub const KEY: &str = "bench-key";

/// A proxy or the upstream as a child process, and its URL.
pub struct Actor {
    child: Child,
    pub url: String,
}

impl Drop for Actor {
    fn drop(&mut self) {
        if let Ok(pids) = process::tree(self.child.id()) {
            for pid in pids.into_iter().filter_map(|pid| rustix::process::Pid::from_raw(pid as i32)) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
        }
        let _ = self.child.wait();
    }
}

impl Actor {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        match line.split_once("listening on ") {
            Some((_, url)) => Ok(Self { child, url: url.trim().to_owned() }),
            None => {
                let _ = child.wait();
                Err(io::Error::other("a process of the bench did not start"))
            }
        }
    }

    pub fn mock() -> io::Result<Self> {
        Self::start(itself()?.args(["bench", "mock"]))
    }

    pub fn floor(mock: &Self) -> io::Result<Self> {
        Self::start(itself()?.args(["bench", "floor", &mock.url, KEY]))
    }

    /// The gateway with its default features: authentication, journal, usage, metrics.
    pub fn gateway(mock: &Self, data: &Path) -> io::Result<Self> {
        let mut command = itself()?;
        command.env_clear().current_dir(data).envs([
            ("PORT", "0"),
            ("GATEWAY_MASTER_KEY", KEY),
            ("OPENAI_API_KEY", "upstream-key"),
            ("OPENAI_BASE_URL", &format!("{}/v1", mock.url)),
            ("OPENAI_MODELS", "bench,bench-e100-g0,bench-e100-g5"),
            ("ANTHROPIC_API_KEY", "upstream-key"),
            ("ANTHROPIC_BASE_URL", &format!("{}/v1", mock.url)),
            ("ANTHROPIC_MODELS", "claude-bench-e100-g0"),
            ("LOG_LEVEL", "warn"),
        ]);
        Self::start(command.env("DATA_DIR", data).arg("serve"))
    }

    /// The gateway without any configuration but a data directory.
    pub fn demo(data: &Path) -> io::Result<Self> {
        let mut command = itself()?;
        command
            .env_clear()
            .current_dir(data)
            .env("DATA_DIR", data)
            .env("PORT", "0")
            .env("GATEWAY_MASTER_KEY", KEY);
        Self::start(command.arg("serve"))
    }

    pub fn nginx(mock: &Self, directory: &Path, buffering: bool, workers: usize) -> io::Result<Self> {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let upstream = mock.url.trim_start_matches("http://").to_owned();
        let line: Vec<OsString> =
            nginx::prepare(directory, &NginxConfig { port, upstream, buffering, workers })?;
        let (program, arguments) = line.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let child =
            Command::new(program).args(arguments).stdin(Stdio::null()).spawn().map_err(|error| {
                io::Error::new(error.kind(), format!("nginx could not be started: {error}"))
            })?;
        Ok(Self { child, url: format!("http://127.0.0.1:{port}") })
    }

    pub async fn listening(&self) -> io::Result<()> {
        let address = self.url.trim_start_matches("http://").to_owned();
        for _ in 0..200 {
            if tokio::net::TcpStream::connect(&address).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(io::Error::other(format!("nothing listens on {address}")))
    }

    pub fn pids(&self) -> io::Result<Vec<u32>> {
        process::tree(self.child.id())
    }

    pub fn cost(&self) -> io::Result<Cost> {
        Cost::of_tree(self.child.id())
    }

    /// The cost after the processes have become idle, which includes work after the last response such as draining the
    /// journal.
    pub async fn settled(&self) -> io::Result<Cost> {
        process::settle(&self.pids()?, Duration::from_millis(300)).await?;
        self.cost()
    }
}

fn itself() -> io::Result<Command> {
    Ok(Command::new(std::env::current_exe()?))
}
