"""Stalled readers and slow streams on one provider, over HTTP/2 and HTTP/1.1: checks that other calls are not slowed
down."""

import datetime
import json
import multiprocessing
import pathlib
import selectors
import socket
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import http1
import rig
from harness import Case
from measure import percentile

# The provider's limit of concurrent streams.
MAX_STREAMS = 128
STALLED, SLOW = 64, 400
# Tolerance in seconds beside a p99 of a millisecond or two, and in the quick form, on a machine that may be busy.
NOISE, NOISE_QUICK = 0.005, 0.025
# Tolerance for debug builds, where encryption and framing of the attack's traffic saturate a core.
DEBUG_NOISE = 0.75


def most_p99(app, calm):
    """The bound of the p99 of honest calls during an attack, from the one before it, in seconds."""
    noise = DEBUG_NOISE if "/debug/" in rig.binary("gatehouse") else NOISE_QUICK if app.quick else NOISE
    return max(2 * calm, calm + noise)


class TlsUpstream(rig.Upstream):
    """The scripted upstream over TLS with its own certificate; the client selects the protocol."""

    def __init__(self, directory):
        self.certificate, key = write_identity(pathlib.Path(directory))
        super().__init__("--tls", self.certificate, key, MAX_STREAMS, verify=str(self.certificate))


def write_identity(directory):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    certificate_path, key_path = directory / "upstream.pem", directory / "upstream.key"
    certificate_path.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key_path.write_bytes(key.private_bytes(*encoding))
    return certificate_path, key_path


def request(model, stream):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": stream})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {rig.MASTER_KEY}\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()


class SlowStreams:
    """Streams with one event per second, each read to its end by another process: a thread of this one would take the
    interpreter from the calls whose duration is measured."""

    def __init__(self, port, count):
        context = multiprocessing.get_context("spawn")
        self.results, results = context.Pipe(duplex=False)
        self.process = context.Process(target=read_slow_streams, args=(port, count, results))
        self.process.start()
        results.close()
        self.results.recv()

    def failures(self):
        faults = self.results.recv()
        self.process.join()
        return faults


def read_slow_streams(port, count, results):
    """Opens the streams and sends None, reads them and sends what was wrong."""
    selector = selectors.DefaultSelector()
    answers, ended = {}, 0
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.sendall(request("openai/drip-1000", True))
        connection.setblocking(False)
        answers[connection] = b""
        selector.register(connection, selectors.EVENT_READ)
    results.send(None)
    deadline = time.monotonic() + 90
    while ended < count and time.monotonic() < deadline:
        for key, _ in selector.select(timeout=1):
            data = key.fileobj.recv(65536)
            answers[key.fileobj] += data
            if not data or answers[key.fileobj].endswith(b"0\r\n\r\n"):
                ended += 1
                selector.unregister(key.fileobj)
    complete = lambda answer: answer.startswith(b"HTTP/1.1 200 ") and b"data: [DONE]" in answer
    shown = lambda answer: (answer[:40] + b" ... " + answer[-200:]).decode(errors="replace")
    results.send([shown(answer) for answer in answers.values() if not complete(answer)])


def stalled_readers(port, count):
    connections = []
    for _ in range(count):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request("openai/endless", True))
        connections.append(connection)
    return connections


def honest_calls(port, count):
    """Returns the duration of each call in seconds, and the faults of those that failed."""
    seconds, faults = [], []
    with http1.Connection(port, timeout=30) as connection:
        for number in range(count):
            begun = time.monotonic()
            connection.send(request("openai/text", stream=number % 2 == 0))
            answer = connection.response("POST")
            seconds.append(time.monotonic() - begun)
            if answer.status != 200:
                faults.append(f"{answer.status} {answer.body[:200]}")
            time.sleep(0.01)
    return seconds, faults


def isolation(http2):
    def attack(app):
        upstream = app.add(TlsUpstream(app.directory))
        settings = {"UPSTREAM_HTTP2": "on" if http2 else "off", "SSL_CERT_FILE": str(upstream.certificate)}
        gateway = app.start_gateway(upstream, ["openai/text"], OPENAI_MODELS="drip-1000,endless", **settings)
        count = 150 if app.quick else 400
        honest_calls(gateway.port, 30)
        calm, faults = honest_calls(gateway.port, count)
        app.check("calls succeed before the attack", *faults)
        stalled = stalled_readers(gateway.port, STALLED)
        slow = SlowStreams(gateway.port, SLOW)
        time.sleep(2.0)
        busy, faults = honest_calls(gateway.port, count)
        app.check(f"{count} calls during {STALLED} stalled readers and {SLOW} slow streams succeed", *faults)
        app.note(f"p99 {percentile(calm, 0.99) * 1000:.1f} ms calm, {percentile(busy, 0.99) * 1000:.1f} ms during the attack")
        app.check_at_most("p99 during the attack", percentile(busy, 0.99) * 1000, most_p99(app, percentile(calm, 0.99)) * 1000, " ms")
        app.check("every slow stream is read to its end", *slow.failures())
        for connection in stalled:
            connection.close()
        state = gateway.admin("GET", "/providers/openai").json()
        health = state.get("health", state.get("provider", {}).get("health", {}))
        app.check("the provider's health is not blamed", health.get("breaker") != "closed" and f"{health}")

    return attack


CASES = [
    Case("stalled readers and slow streams on HTTP/2", isolation(http2=True)),
    Case("stalled readers and slow streams on HTTP/1.1", isolation(http2=False)),
]
