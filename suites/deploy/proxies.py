"""nginx and Caddy with the configurations of deploy/, in front of two replicas and an address where nobody listens."""

import json
import os
import signal
import ssl
import subprocess
import time

import httpx

import rig
from deploy.programs import DEPLOY, PATH, faults, find, output, replace

# Milliseconds between the events of the stream.
PAUSE = 200
ADDRESSES = ("127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083")
NAME = "gateway.example.com"
LARGEST_BODY = 10 * 1024 * 1024

# Run by root, nginx would give its requests to a user who cannot reach the files of this suite.
NGINX = """
{user}daemon off;
pid nginx.pid;
error_log nginx-error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path nginx-temp;
    proxy_temp_path nginx-temp;
    include {file};
}}
"""
# This trial uses neither the ports 80 and 2019 nor a public certificate.
CADDY = "{\n    admin off\n    auto_https disable_redirects\n}\n"


def run_nginx(app):
    if not find(app, "nginx", "openssl"):
        return
    certificate, key = make_certificate(app)
    port, gateways = rig.free_port(), start_gateways(app)
    text = replace((DEPLOY / "nginx" / "gatehouse.conf").read_text(), addresses(gateways) | {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl", NAME: "localhost",
        "/etc/ssl/certs/gateway.crt": certificate, "/etc/ssl/private/gateway.key": key,
    })
    file = app.directory / "gatehouse.conf"
    file.write_text(text)
    main = app.directory / "nginx.conf"
    main.write_text(NGINX.format(file=file, user="" if os.geteuid() else "user root;\n"))
    command = ["nginx", "-p", str(app.directory), "-c", str(main)]
    app.check("nginx accepts the configuration", *faults(*command[:1], "-t", *command[1:]))
    start(app, command)
    check_proxy(app, port, certificate, gateways, notices_after=0)


def run_caddy(app):
    if not find(app, "caddy", "openssl"):
        return
    certificate, key = make_certificate(app)
    port, gateways = rig.free_port(), start_gateways(app)
    text = replace((DEPLOY / "caddy" / "Caddyfile").read_text(), addresses(gateways) | {
        f"{NAME} {{": f"https://localhost:{port} {{\n    tls {certificate} {key}",
    })
    file = app.directory / "Caddyfile"
    file.write_text(CADDY + text)
    for path in (file, DEPLOY / "compose" / "Caddyfile"):
        app.check(f"Caddy accepts {'the configuration' if path == file else 'that of compose'}", *faults(
            "caddy", "validate", "--adapter", "caddyfile", "--config", path, env=environment(app),
        ))
    start(app, ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)])
    # Caddy 2.6 of Debian 12 cannot repeat a call with a body; the next health check takes the replica out of service.
    check_proxy(app, port, certificate, gateways, notices_after=3)


def environment(app):
    return {"PATH": PATH, "HOME": str(app.directory), "XDG_DATA_HOME": str(app.directory)}


def make_certificate(app):
    certificate, key = app.directory / "gateway.crt", app.directory / "gateway.key"
    status, text = output(
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
    )
    assert status == 0, text
    return certificate, key


def start_gateways(app):
    upstream = app.upstream()
    models = ["openai/text", f"openai/drip-{PAUSE}"]
    settings = {"TRUSTED_PROXIES": "127.0.0.1", "OPENAI_MODELS": f"text,drip-{PAUSE},slow-1500"}
    gateways = [app.gateway(upstream, app.directory / name, **settings) for name in ("a", "b")]
    for gateway in gateways:
        gateway.start(models)
    return gateways


def addresses(gateways):
    """The addresses in the file, and those of this run; nobody listens on the last one."""
    ports = [gateway.port for gateway in gateways] + [rig.free_port()]
    return {old: f"127.0.0.1:{port}" for old, port in zip(ADDRESSES, ports)}


class Proxy:
    def __init__(self, process):
        self.process = process

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(app, command):
    with open(app.directory / "proxy.log", "wb") as log:
        process = subprocess.Popen(command, cwd=app.directory, env=environment(app), stdout=log, stderr=log)
    app.add(Proxy(process))


def check_proxy(app, port, certificate, gateways, notices_after):
    context = ssl.create_default_context(cafile=certificate)
    headers = rig.bearer(rig.MASTER_KEY)
    http = httpx.Client(base_url=f"https://localhost:{port}", verify=context, trust_env=False, timeout=30, headers=headers)
    rig.eventually(lambda: is_healthy(http), timeout=20, what="an answer through the proxy")
    app.check("events arrive one by one", *stream_faults(http))
    statuses = [chat(http, "openai/text").status_code for _ in range(12)]
    app.check("an address where nobody listens costs no call", *[status for status in statuses if status != 200])
    answer = chat(http, "openai/text", padding=LARGEST_BODY + 1024)
    app.check("the gateway itself refuses large bodies", refusal_fault(answer))
    app.check("an answer that is silent at first", chat(http, "openai/slow-1500").status_code != 200 and "it failed")
    gateways[0].kill()
    time.sleep(notices_after)
    statuses = [chat(http, "openai/text").status_code for _ in range(12)]
    app.check("calls go on while one of two replicas is down", *[status for status in statuses if status != 200])


def is_healthy(http):
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def chat(http, model, padding=0):
    body = {"model": model, "messages": [{"role": "user", "content": "Hello" + " " * padding}]}
    return http.post("/v1/chat/completions", json=body)


def stream_faults(http):
    """Compares the times between events with those of the upstream."""
    messages = [{"role": "user", "content": "one two three four five six"}]
    body = {"model": f"openai/drip-{PAUSE}", "stream": True, "messages": messages}
    times = []
    with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {") and json.loads(line[6:]).get("choices"):
                times.append(time.monotonic())
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    # Two events that the gateway sends at once may be among them, such as the role and the first content.
    apart = sum(gap > PAUSE / 2000 for gap in gaps)
    if len(gaps) < 4 or apart < len(gaps) - 2:
        yield f"{len(times)} events, milliseconds between them: {[round(gap * 1000) for gap in gaps]}"


def refusal_fault(answer):
    try:
        code = answer.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        code = answer.text[:200]
    return None if answer.status_code == 413 and "<" not in str(code) else f"{answer.status_code} {code}"
