"""A gateway with a canary in every secret setting, and a record of all its output."""

import http.server
import json
import threading

import httpx

import rig
from canaries import canary

ENV, YAML, ADMIN = "openai", "yamlprov", "adminprov"
MODELS = ["text", "long-20", "leak-401", "leak-400", "leak-403", "leak-429", "leak-500", "leak-page", "leak-stream", "error-500", "cut-mid-stream", "html"]


class Sink:
    """HTTP server that records traces and webhooks sent to it."""

    def __init__(self):
        self.received = received = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                received.append(f"{self.path}\n{self.headers}".encode() + body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_PUT = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


class CanaryApp:
    def __init__(self, app, backend):
        self.app, self.directory, self.scanner = app, app.directory, canary.SecretScanner()
        # (request, response bytes, canaries that it may contain)
        self.answers = []
        add = self.scanner.add
        options = {"password": add("PostgreSQL password", canary.plain("postgres"))} if backend == "postgres" else {}
        database = app.database(backend, **options)
        self.sink = app.add(Sink())
        self.upstreams = {name: app.upstream() for name in (ENV, YAML, ADMIN)}
        self.master = add("master key", canary.make("master"))
        self.write_yaml()
        self.gateway = app.gateway(**database.settings, **self.settings())

    def settings(self):
        add = self.scanner.add
        proxy = f"http://proxyuser:{add('proxy password', canary.plain('proxy'))}@127.0.0.1:{rig.free_port()}"
        return {
            "GATEWAY_MASTER_KEY": self.master,
            "GATEWAY_EDITION": "enterprise",
            "ENCRYPTION_KEY": add("encryption key", canary.secrets.token_hex(32)),
            "OPENAI_API_KEY": add("key from the environment", canary.make("env")),
            "OPENAI_BASE_URL": self.upstreams[ENV].url,
            "OPENAI_MODELS": ",".join(MODELS),
            "HTTP_PROXY": proxy,
            "HTTPS_PROXY": proxy,
            "NO_PROXY": "127.0.0.1,localhost",
            "LOG_LEVEL": "trace",
            "LOGGING_ENABLED": "true",
            "LOGGING_LOG_BODIES": "true",
            "LOGGING_LOG_HEADERS": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.sink.url,
            "RETRY_MAX_RETRIES": "0",
        }

    def write_yaml(self):
        key = self.scanner.add("key from YAML", canary.make("yaml"))
        header = self.scanner.add("header from YAML", canary.make("yamlheader"))
        provider = {"type": "openai", "api_key": key, "base_url": self.upstreams[YAML].url, "models": MODELS, "headers": {"x-team-secret": header}}
        # JSON is valid YAML.
        far = {"type": "openai", "api_key": key, "base_url": "http://far.invalid/v1", "models": ["text"]}
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "gatehouse.yaml").write_text(json.dumps({"providers": {YAML: provider, "far": far}}))

    def ask(self, method, path, key="", shows=(), headers=None, **options):
        """Sends a request and records the answer; `shows` are the canaries that this answer may contain."""
        headers = (rig.bearer(key) if key else {}) | (headers or {})
        try:
            answer = self.gateway.http.request(method, path, headers=headers, **options)
        except httpx.RemoteProtocolError as cut:
            self.answers.append((f"{method} {path} (cut)", str(cut).encode(), shows))
            return None
        head = f"{answer.status_code}\n" + "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
        self.answers.append((f"{method} {path}", head.encode() + b"\n\n" + answer.content, shows))
        return answer

    def admin(self, method, path, shows=(), **options):
        return self.ask(method, f"/admin/api/v1{path}", self.master, shows, **options)
