"""Connections without a useful request: one byte, a close, an endless head, or nothing at all."""

import contextlib
import resource
import socket
import statistics
import time

import rig
from abuse.upstreams import honest_calls, most_p99
from harness import Case
from measure import anonymous_bytes, cpu_share, open_files, percentile, rss_bytes


def connect(port, data=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    if data:
        connection.sendall(data)
    return connection


@contextlib.contextmanager
def held(port, count, data=b""):
    """Holds that many connections open, each with `data` sent."""
    connections = []
    try:
        for _ in range(count):
            connections.append(connect(port, data))
        yield connections
    finally:
        for connection in connections:
            connection.close()


def one_byte(app):
    """Sends only the first byte of the HTTP/2 preface."""
    gateway = app.start_gateway()
    count = 1_000 if app.quick else 5_000
    with held(gateway.port, count, b"P"):
        time.sleep(0.5)
        share = cpu_share(gateway, 3.0)
        app.check_at_most(f"CPU of {count} connections that sent one byte", share * 100, 5.0, " % of a core")
        app.check("/health answers", gateway.http.get("/health").status_code != 200 and "it does not")


def opened_and_closed(app):
    """Checks that connections closed after one byte release their slot at once, not at the header timeout."""
    limit = 500 if app.quick else 10_000
    gateway = app.start_gateway(MAX_CONNECTIONS=str(limit))
    files = open_files(gateway)
    for _ in range(limit + 100):
        connect(gateway.port, b"P").close()
    begun = time.monotonic()
    answer = gateway.http.get("/health", timeout=10)
    app.check(f"/health answers after {limit + 100} connections were opened and closed", answer.status_code != 200 and "it does not")
    app.check_at_most("time to that answer", time.monotonic() - begun, 2.0, " s")
    time.sleep(0.5)
    app.check_at_most("file handles that stay open", open_files(gateway) - files, 10)


# Bounds by build profile: the state of async functions is larger without optimisation.
KIB_PER_CONNECTION = {"release": 16.0, "debug": 24.0}


def idle_keep_alive(app):
    """Measures the memory of an idle keep-alive connection after one call, and the time of calls beside them."""
    raise_file_limit()
    # Opening them takes a while, in which none may be closed.
    settings = {"MAX_CONNECTIONS": "9100", "HEADER_TIMEOUT": "600s"}
    gateway = app.start_gateway(app.upstream(), models=["openai/text"], **settings)
    count = 1_000 if app.quick else 9_000
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {rig.MASTER_KEY}\r\n"
    body = '{"model": "openai/text", "messages": [{"role": "user", "content": "hi"}]}'
    request = f"{head}content-length: {len(body)}\r\n\r\n{body}".encode()
    # Warms up everything that is created on first use.
    for connection in [connect(gateway.port, request) for _ in range(50)]:
        read_answer(connection)
        connection.close()
    calm = honest_p99(app, gateway, "before")
    time.sleep(1.0)
    before = anonymous_bytes(gateway)
    with held(gateway.port, 0) as connections:
        for _ in range(count):
            connections.append(connect(gateway.port, request))
            read_answer(connections[-1])
        time.sleep(1.0)
        each = (anonymous_bytes(gateway) - before) / count / 1024
        app.check(f"/health answers beside {count} connections", gateway.http.get("/health").status_code != 200 and "it does not")
        busy = honest_p99(app, gateway, f"beside {count} idle connections")
    app.check_at_most(f"p99 of a call beside {count} idle connections, before {calm * 1000:.1f} ms", busy * 1000, most_p99(app, calm) * 1000, " ms")
    profile = "debug" if "/debug/" in rig.binary("gatehouse") else "release"
    app.check_at_most(f"memory of each of {count} idle connections ({profile} build)", each, KIB_PER_CONNECTION[profile], " KiB")


def honest_p99(app, gateway, when):
    """The p99 of calls in seconds: the median of rounds, because a machine is not equally busy all the time."""
    rounds, count = (3, 100) if app.quick else (5, 400)
    measured, faults = zip(*(honest_calls(gateway.port, count) for _ in range(rounds)))
    app.check(f"{rounds} rounds of {count} calls {when} succeed", *(fault for each in faults for fault in each))
    return statistics.median(percentile(seconds, 0.99) for seconds in measured)


def raise_file_limit():
    """Raises the number of files that this process and the gateway may open to the most that is allowed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def read_answer(connection):
    received = b""
    while b"\r\n\r\n" not in received or not received.rstrip().endswith(b"}"):
        data = connection.recv(65536)
        assert data, f"the connection was closed: {received[:300]}"
        received += data
    assert received.startswith(b"HTTP/1.1 200 "), received[:300]


def was_refused(connection):
    """Whether the head was rejected. A connection closed while data is still sent may be reset before the answer is
    read."""
    try:
        return connection.recv(100)[:13] in (b"HTTP/1.1 431 ", b"")
    except ConnectionError:
        return True


def large_heads(app):
    """Checks that endless heads are rejected at 64 KiB, before authentication."""
    gateway = app.start_gateway()
    count = 100 if app.quick else 500
    before, peak = rss_bytes(gateway), 0
    head = b"GET /health HTTP/1.1\r\nhost: gateway\r\nx-large: " + b"x" * 380_000
    with held(gateway.port, 0) as connections:
        for _ in range(count):
            connection = connect(gateway.port)
            connections.append(connection)
            with contextlib.suppress(ConnectionError):
                connection.sendall(head)
            peak = max(peak, rss_bytes(gateway))
        refused = sum(was_refused(connection) for connection in connections)
    app.check(f"{count} heads of 380 KB are refused", refused < count * 0.9 and f"only {refused} were")
    app.check_at_most("memory during them, per connection", (peak - before) / count / 1024, 96, " KiB")


CASES = [
    Case("one-byte connections", one_byte),
    Case("connections opened and closed", opened_and_closed),
    Case("idle keep-alive connections", idle_keep_alive),
    Case("heads of 380 KB", large_heads),
]
