"""Connections that send nothing useful: one byte, a close, an endless head, or nothing at all."""

import contextlib
import socket
import time

import rig
from abuse.stage import Case, cpu_share, open_files, rss_bytes


def connect(port, data=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    if data:
        connection.sendall(data)
    return connection


@contextlib.contextmanager
def held(port, count, data=b""):
    """That many open connections, each with `data` sent."""
    connections = []
    try:
        for _ in range(count):
            connections.append(connect(port, data))
        yield connections
    finally:
        for connection in connections:
            connection.close()


def one_byte(stage):
    """A client that sends the first byte of the HTTP/2 preface and stops."""
    gateway = stage.gateway()
    count = 1_000 if stage.quick else 5_000
    with held(gateway.port, count, b"P"):
        time.sleep(0.5)
        share = cpu_share(gateway, 3.0)
        stage.check_at_most(f"CPU of {count} connections that sent one byte", share * 100, 5.0, " % of a core")
        stage.check("/health answers", gateway.http.get("/health").status_code != 200 and "it does not")


def opened_and_closed(stage):
    """Connections that are closed after one byte must give their slot back at once, not at the header timeout."""
    limit = 500 if stage.quick else 10_000
    gateway = stage.gateway(MAX_CONNECTIONS=str(limit))
    files = open_files(gateway)
    for _ in range(limit + 100):
        connect(gateway.port, b"P").close()
    begun = time.monotonic()
    answer = gateway.http.get("/health", timeout=10)
    stage.check(f"/health answers after {limit + 100} connections were opened and closed", answer.status_code != 200 and "it does not")
    stage.check_at_most("time to that answer", time.monotonic() - begun, 2.0, " s")
    time.sleep(0.5)
    stage.check_at_most("file handles that stay open", open_files(gateway) - files, 10)


CASES = [
    Case("one-byte connections", one_byte),
    Case("connections opened and closed", opened_and_closed),
]
