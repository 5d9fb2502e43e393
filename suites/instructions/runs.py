"""Runs of a case of different length in one gateway, and the cost per call as their difference."""

import contextlib
import sqlite3
import time

import http1
import rig
from instructions.cases import EVENTS, MODEL
from instructions.upstream import marker

WRONG_KEY = "gk_" + "0" * 40
# Seconds until the drainer has read the first call of a run and waits for the database.
FIRST_BATCH = 0.3
# The drainer gives up waiting for a locked database after 5 s.
LONGEST = 4.0
# Calls before the first run: they fill caches, pools and the allocator.
WARM_UP = 10


class Bench:
    """A gateway under a tracer, with its upstream and its keys."""

    def __init__(self, app, upstream, tracer, settings):
        self.upstream = upstream
        directory = app.directory / f"{tracer.__name__}-{len(app.processes)}"
        provider = {"OPENAI_API_KEY": rig.PROVIDER_KEY, "OPENAI_BASE_URL": upstream.url}
        self.gateway = app.add(tracer(directory, **provider, **settings))
        self.gateway.start(models=[MODEL])
        self.keys = {
            "managed": self.new_key(name="managed"),
            "limited": self.new_key(name="limited", rate_limits={"requests_per_day": 1}),
            "wrong": WRONG_KEY,
        }
        self.use_up(self.keys["limited"])
        self.database = sqlite3.connect(directory / "data" / "gatehouse.db", isolation_level=None, timeout=60)
        # An idle connection that times out during a run would be counted.
        self.gateway.http.close()

    def stop(self):
        self.database.close()
        self.gateway.stop()

    def new_key(self, **fields):
        answer = self.gateway.admin("POST", "/auth-keys", json=fields)
        assert answer.status_code == 201, answer.text
        return answer.json()["key"]

    def use_up(self, key):
        """Makes the one call that the limited key may make."""
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
        answer = self.gateway.http.post("/v1/chat/completions", headers=rig.bearer(key), json=body)
        assert answer.status_code == 200, answer.text

    def rows(self):
        return self.database.execute("SELECT count(*) FROM usage").fetchone()[0]

    def cost(self, case, short, long, repeats):
        """The counts per call of each repeat: the difference of a long and a short run that take equally long."""
        with http1.Connection(self.gateway.port, timeout=120) as connection:
            for _ in range(WARM_UP if long > WARM_UP else long):
                self.call(connection, case)
            time.sleep(FIRST_BATCH)
            self.settle()
            return [self.difference(connection, case, short, long) for _ in range(repeats)]

    def difference(self, connection, case, short, long):
        seconds, more = self.run(connection, case, long)
        _, less = self.run(connection, case, short, seconds)
        names = more.keys() | less.keys()
        return {name: (more.get(name, 0) - less.get(name, 0)) / (long - short) for name in names}

    def run(self, connection, case, calls, least=0.0):
        """Makes calls until they are booked, for at least `least` seconds; returns the seconds and the counts."""
        # A checkpoint by the gateway would otherwise fall into some of the runs.
        self.database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        before = self.rows()
        self.gateway.begin()
        begun = time.monotonic()
        with self.one_batch(case) as first:
            first(lambda: self.call(connection, case))
            for _ in range(calls - 1):
                self.call(connection, case)
        if case.booked:
            rig.eventually(lambda: self.rows() >= before + calls, 60, pause=0.05, what=f"booking of {calls} calls")
            assert self.rows() == before + calls, f"{self.rows() - before} rows for {calls} calls"
        # Timers of the gateway cost the same in runs of the same duration.
        time.sleep(max(0.0, begun + least - time.monotonic()))
        seconds = time.monotonic() - begun
        return seconds, self.gateway.end()

    @contextlib.contextmanager
    def one_batch(self, case):
        """Books the first call of a run in one transaction and all others in a second one, whatever time they take.

        The drainer reads the first call and then waits for the database, which is locked until the last call was made.
        """
        if not case.booked:
            yield lambda call: call()
            return

        def first(call):
            call()
            time.sleep(FIRST_BATCH)

        begun = time.monotonic()
        self.database.execute("BEGIN IMMEDIATE")
        try:
            yield first
        finally:
            self.database.execute("ROLLBACK")
        seconds = time.monotonic() - begun
        assert seconds < LONGEST, f"{case.name}: the calls took {seconds:.1f} s, more than {LONGEST:g} s: make fewer"

    def settle(self):
        """Waits until no more rows are added."""
        known = -1
        while known != (known := self.rows()):
            time.sleep(3 * FIRST_BATCH)

    def call(self, connection, case):
        headers = {"authorization": f"Bearer {self.keys[case.key]}"}
        if case.body:
            headers["content-type"] = "application/json"
        connection.request(case.method, case.path, headers, case.body)
        if case.streams:
            self.read_stream(connection)
            return
        response = connection.response(case.method)
        assert response.status == case.status, f"{response.status}: {response.body[:500]}"

    def read_stream(self, connection):
        """Reads a stream event by event: the next one is sent when this one has arrived."""
        response = connection.head()
        assert response.status == 200, f"{response.status}: {connection.buffer[:500]}"
        for number in range(EVENTS):
            connection._until(marker(number).encode())
            self.upstream.advance()
        connection._until(b"\r\n0\r\n\r\n")
