//! A Redis server for one test, which can be frozen, flushed and restarted.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A process of `redis-server` on a port of its own, without persistence. It ends with this value.
pub struct RedisServer {
    port: u16,
    password: Option<&'static str>,
    process: Child,
}

impl RedisServer {
    pub async fn start(password: Option<&'static str>) -> Self {
        let port = free_port();
        let server = Self { port, password, process: spawn(port, password) };
        server.wait().await;
        server
    }

    pub fn url(&self) -> String {
        self.url_with(self.password)
    }

    /// The URL with another password.
    pub fn url_with(&self, password: Option<&str>) -> String {
        let user = password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{user}127.0.0.1:{}/0", self.port)
    }

    /// Stops the process without ending it: connections stay open, and nothing is answered.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    /// Deletes all data.
    pub fn flush(&self) {
        self.command(&["FLUSHALL"]);
    }

    /// Ends the process, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill().expect("redis-server runs");
        self.process.wait().expect("redis-server ends");
    }

    /// Starts the process again on the same port, without the data.
    pub async fn restart(&mut self) {
        self.kill();
        self.process = spawn(self.port, self.password);
        self.wait().await;
    }

    /// The output of a command of `redis-cli`.
    pub fn command(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.port.to_string()]);
        if let Some(password) = self.password {
            command.args(["--no-auth-warning", "-a", password]);
        }
        let output = command.args(words).output().expect("redis-cli is installed");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status().expect("kill is installed");
        assert!(status.success(), "{signal} cannot be sent");
    }

    async fn wait(&self) {
        for _ in 0..200 {
            if self.command(&["PING"]) == "PONG" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        assert_eq!(self.command(&["PING"]), "PONG", "redis-server does not answer on port {}", self.port);
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("the listener has an address").port()
}

fn spawn(port: u16, password: Option<&str>) -> Child {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    if let Some(password) = password {
        command.args(["--requirepass", password]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("redis-server is installed")
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // SIGKILL also ends a frozen process.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
