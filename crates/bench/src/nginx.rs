//! nginx as the reference: a plain reverse proxy with keep-alive, configured in a directory of its own.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct NginxConfig {
    pub port: u16,
    /// `host:port` of the upstream.
    pub upstream: String,
    /// Whether nginx buffers responses, as by default; off for streams.
    pub buffering: bool,
    pub workers: usize,
}

/// Writes the configuration to `directory` and returns the command line that starts nginx in the foreground.
pub fn prepare(directory: &Path, config: &NginxConfig) -> io::Result<Vec<OsString>> {
    let directory = fs::canonicalize(directory)?;
    for name in ["body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        fs::create_dir_all(directory.join(name))?;
    }
    let path = directory.join("nginx.conf");
    fs::write(&path, render(&directory, config))?;
    let mut command: Vec<OsString> =
        vec![binary().into_os_string(), "-p".into(), directory.clone().into_os_string()];
    command.extend([
        "-c".into(),
        path.into_os_string(),
        "-e".into(),
        directory.join("error.log").into_os_string(),
    ]);
    command.extend(["-g".into(), "daemon off;".into()]);
    Ok(command)
}

/// The nginx binary. Debian installs it outside of an ordinary user's search path.
fn binary() -> PathBuf {
    ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"]
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from("nginx"))
}

fn render(directory: &Path, config: &NginxConfig) -> String {
    let NginxConfig { port, upstream, workers, .. } = config;
    let buffering = if config.buffering { "on" } else { "off" };
    let at = |name: &str| directory.join(name).display().to_string();
    format!(
        r#"worker_processes {workers};
pid "{pid}";
error_log "{error_log}" warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_max_body_size 64m;
    client_body_buffer_size 1m;
    client_body_temp_path "{body}";
    proxy_temp_path "{proxy}";
    fastcgi_temp_path "{fastcgi}";
    uwsgi_temp_path "{uwsgi}";
    scgi_temp_path "{scgi}";
    upstream mock {{
        server {upstream};
        keepalive 64;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        tcp_nodelay on;
        location / {{
            proxy_pass http://mock;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering {buffering};
        }}
    }}
}}
"#,
        pid = at("nginx.pid"),
        error_log = at("error.log"),
        body = at("body"),
        proxy = at("proxy"),
        fastcgi = at("fastcgi"),
        uwsgi = at("uwsgi"),
        scgi = at("scgi"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_passes_nginx_own_check() {
        let directory = tempfile::tempdir().unwrap();
        let config =
            NginxConfig { port: 18099, upstream: "127.0.0.1:18098".into(), buffering: false, workers: 2 };
        let command = prepare(directory.path(), &config).unwrap();
        let text = fs::read_to_string(directory.path().join("nginx.conf")).unwrap();
        assert!(text.contains("proxy_buffering off;") && text.contains("server 127.0.0.1:18098;"));
        if !Path::new(&command[0]).exists() {
            return;
        }
        let output = std::process::Command::new(&command[0]).args(&command[1..]).arg("-t").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
