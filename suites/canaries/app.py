"""A gateway with a canary in every secret setting, and a record of all its output."""

import http.server
import json
import threading

import httpx

import backends
import rig
from canaries import secrets

ENV, YAML, ADMIN = "openai", "yamlprov", "adminprov"
MODELS = ["text", "long-20", "tattle-401", "tattle-400", "tattle-403", "tattle-429", "tattle-500", "tattle-page", "tattle-stream", "error-500", "cut-mid-stream", "html"]


class Sink:
    """HTTP server that records traces and webhooks sent to it."""

    def __init__(self):
        self.taken = taken = []

        class Taker(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                taken.append(f"{self.path}\n{self.headers}".encode() + body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_PUT = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


class House:
    def __init__(self, backend, directory):
        self.directory, self.cage = directory, secrets.Cage()
        # (request, response bytes, canaries that it may contain)
        self.answers = []
        self.sink = Sink()
        self.upstreams = {name: rig.Upstream() for name in (ENV, YAML, ADMIN)}
        add = self.cage.add
        self.master = add("master key", secrets.make("master"))
        options = {"password": add("PostgreSQL password", secrets.plain("postgres"))} if backend == "postgres" else {}
        self.database = backends.start(backend, directory, **options)
        proxy = f"http://proxyuser:{add('proxy password', secrets.plain('proxy'))}@127.0.0.1:{rig.free_port()}"
        encryption = secrets.secrets.token_hex(32)
        add("encryption key", encryption)
        settings = {
            "GATEWAY_MASTER_KEY": self.master,
            "GATEWAY_EDITION": "enterprise",
            "ENCRYPTION_KEY": encryption,
            "OPENAI_API_KEY": add("key from the environment", secrets.make("env")),
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
        self.write_yaml()
        self.gateway = rig.Gateway(directory, **self.database.settings, **settings)

    def write_yaml(self):
        key = self.cage.add("key from YAML", secrets.make("yaml"))
        header = self.cage.add("header from YAML", secrets.make("yamlheader"))
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

    def stop(self):
        self.gateway.stop()
        for upstream in self.upstreams.values():
            upstream.stop()
        self.database.stop()
        self.sink.stop()
