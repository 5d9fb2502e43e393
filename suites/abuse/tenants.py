"""One tenant's abuse beside another's calls: floods of keys, hanging calls and slow uploads; and what a failover costs.

Calm and abuse alternate, and the median of the rounds counts, because a machine is not equally busy all the time.
"""

import json
import multiprocessing
import secrets
import selectors
import socket
import statistics
import time

import http1
import rig
from abuse.upstreams import most_p99
from harness import Case
from measure import percentile, rss_bytes

MIB = 1 << 20
# Calls per second of a flood: more would measure how the machine shares its cores.
FLOOD_RATE = 200
CHAT = "/v1/chat/completions"


def question(model, stream=False):
    return json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}).encode()


def head_of(key, length):
    return f"POST {CHAT} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n".encode()


class Attack:
    """An attack by another process, so that it does not take the interpreter from the calls that are measured."""

    def __init__(self, target, *arguments):
        context = multiprocessing.get_context("spawn")
        self.results, results = context.Pipe()
        self.process = context.Process(target=target, args=(results, *arguments))

    def __enter__(self):
        self.process.start()
        # The attack has begun.
        self.results.recv()
        return self

    def __exit__(self, *_):
        self.results.send(None)
        self.report = self.results.recv() if self.results.poll(20) else None
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.process.kill()


def flood(results, port, keys, rate):
    """Calls with the next of `keys`, or with a new unknown key each; reports the number of answers by status."""
    statuses, connection, number = {}, None, 0
    results.send(None)
    while not results.poll(1 / rate):
        key = keys[number % len(keys)] if keys else f"gk_{secrets.token_urlsafe(37)[:49]}"
        number += 1
        try:
            connection = connection or http1.Connection(port)
            answer = connection.ask("POST", CHAT, rig.bearer(key), question("openai/text"))
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            if answer.closes:
                raise http1.Broken("closed")
        except http1.Broken:
            connection.close()
            connection = None
    results.send(statuses)


def occupy(results, port, key, hanging, uploads):
    """Holds calls that a provider never answers and bodies that arrive byte by byte; reports how many the gateway closed."""
    selector, slow, closed = selectors.DefaultSelector(), [], 0
    for number in range(hanging + uploads):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        body = question("openai/hang", stream=number % 2 == 0)
        connection.sendall(head_of(key, len(body)) + body if number < hanging else head_of(key, MIB) + b'{"model": "')
        slow += [connection] if number >= hanging else []
        selector.register(connection, selectors.EVENT_READ)
    results.send(None)
    while not results.poll(0.2):
        for connection in list(slow):
            try:
                connection.sendall(b"x")
            except OSError:
                slow.remove(connection)
        for ready, _ in selector.select(timeout=0):
            closed += 1
            selector.unregister(ready.fileobj)
    results.send(closed)


def honest_calls(port, key, model, count):
    """The seconds of each call, and the faults of those that failed."""
    seconds, faults = [], []
    with http1.Connection(port, timeout=30) as connection:
        for number in range(count):
            begun = time.monotonic()
            answer = connection.ask("POST", CHAT, rig.bearer(key), question(model, stream=number % 2 == 0))
            seconds.append(time.monotonic() - begun)
            if answer.status != 200:
                faults.append(f"{answer.status} {answer.body[:200]}")
            time.sleep(0.01)
    return seconds, faults


class Comparison:
    """Durations of honest calls in alternating rounds."""

    def __init__(self, app, gateway):
        self.app, self.gateway = app, gateway
        self.rounds, self.count = (2, 100) if app.quick else (5, 400)
        self.key = create_key(gateway, name="honest", user_path="/honest", tenant_id="honest")
        self.faults = []
        self.calls("openai/text")
        self.calm, self.busy = [], []

    def calls(self, model):
        seconds, faults = honest_calls(self.gateway.port, self.key, model, self.count)
        self.faults += faults
        return seconds

    def run(self, attack, model="openai/text"):
        for _ in range(self.rounds):
            self.calm.append(self.calls("openai/text"))
            if attack is None:
                self.busy.append(self.calls(model))
                continue
            with attack() as under:
                time.sleep(0.5)
                self.busy.append(self.calls(model))
            self.report = under.report
        return self

    def judge(self, what):
        p50, p99 = ([statistics.median(percentile(calls, share) for calls in rounds) * 1000 for rounds in (self.calm, self.busy)] for share in (0.5, 0.99))
        self.app.check(f"{self.rounds} rounds of {self.count} calls succeed", *self.faults)
        self.app.note(f"p50 {p50[0]:.1f} ms calm, {p50[1]:.1f} ms {what}; p99 {p99[0]:.1f} ms, {p99[1]:.1f} ms")
        self.app.check_at_most(f"p99 {what}, calm {p99[0]:.1f} ms", p99[1], most_p99(self.app, p99[0] / 1000) * 1000, " ms")


def create_key(gateway, **fields):
    answer = gateway.admin("POST", "/auth-keys", json=fields)
    assert answer.status_code == 201, answer.text
    return answer.json()["key"]


def start(app, **settings):
    models = {"OPENAI_MODELS": "text,hang,every-2-error-503", "OPENAI_BACKUP_MODELS": "text"}
    gateway = app.start_gateway(app.upstream(), models=["openai/text"], GATEWAY_EDITION="enterprise", **models, **settings)
    for tenant in ("honest", "hostile"):
        answer = gateway.admin("PUT", f"/tenants/{tenant}", json={"name": tenant})
        assert answer.status_code == 201, answer.text
    return gateway


def key_flood(app):
    """Calls with a new unknown key each cost neither memory nor the time of others."""
    gateway = start(app, LOGGING_ENABLED="true")
    comparison = Comparison(app, gateway)
    before = rss_bytes(gateway)
    comparison.run(lambda: Attack(flood, gateway.port, [], FLOOD_RATE)).judge("during a flood of unknown keys")
    app.check(f"they are refused: {comparison.report}", set(comparison.report or {0: 0}) - {401} and "not with 401")
    app.check_at_most("memory more than before", (rss_bytes(gateway) - before) / MIB, 10.0, " MiB")


def limited_flood(app):
    """A tenant far above its rate limits, with many keys, does not slow down another."""
    gateway = start(app)
    comparison = Comparison(app, gateway)
    limits = {"requests_per_minute": 1, "tokens_per_minute": 10}
    keys = [create_key(gateway, name=f"flood {number}", tenant_id="hostile", rate_limits=limits) for number in range(50)]
    comparison.run(lambda: Attack(flood, gateway.port, keys, FLOOD_RATE)).judge("during a flood of a limited tenant")
    app.check(f"it is refused: {comparison.report}", not (comparison.report or {}).get(429) and "not with 429")


def head_of_line(app):
    """Calls that hang at the provider and slow uploads of a tenant do not block those of another at the same provider."""
    gateway = start(app)
    comparison = Comparison(app, gateway)
    key = create_key(gateway, name="occupier", tenant_id="hostile")
    hanging, uploads = (100, 50) if app.quick else (400, 200)
    comparison.run(lambda: Attack(occupy, gateway.port, key, hanging, uploads)).judge(f"beside {hanging} hanging calls and {uploads} slow uploads")
    app.note(f"{comparison.report} of them were closed by the gateway meanwhile")


def failover(combo, selectors_of_combo, what):
    def measure(app):
        # A retry at the same target would wait before it.
        gateway = start(app, RETRY_MAX_RETRIES="0", OPENAI_DEAD_API_KEY="sk-dead", OPENAI_DEAD_BASE_URL=f"http://127.0.0.1:{rig.free_port()}/v1", OPENAI_DEAD_MODELS="text")
        answer = gateway.admin("POST", "/combos", json={"name": combo, "selectors": selectors_of_combo})
        assert answer.status_code in (200, 201), answer.text
        Comparison(app, gateway).run(None, model=combo).judge(f"with {what}")

    return measure


CASES = [
    Case("key flood", key_flood),
    Case("flood of a limited tenant", limited_flood),
    Case("head-of-line blocking between tenants", head_of_line),
    Case("failover from a dead provider", failover("dead-first", ["openai-dead/text", "openai/text"], "a dead provider first")),
    Case("failover from a flapping provider", failover("flapping-first", ["openai/every-2-error-503", "openai-backup/text"], "a provider first that fails every other call")),
]
