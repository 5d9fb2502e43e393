"""A revoked key is refused by every replica within a second: with change notices, without them, and while they hang."""

import os
import signal
import threading
import time

import httpx

import rig
from replicas.cluster import create_key

MOST_SECONDS = 1.0
PAUSE = 0.01


def run(app, cluster, options):
    rounds = 1 if options.quick else 10
    cases = {"with notices": Notices, "LISTEN connections closed": ClosedListeners, "LISTEN connections frozen": FrozenListeners}
    for name, kind in cases.items():
        with kind(cluster) as notices:
            app.check(f"{name}: connections found", notices.fault())
            measured = [measure(cluster, number % len(cluster.replicas)) for number in range(rounds)]
        worst = [max(times) for times in zip(*measured)]
        figures = ", ".join(f"{seconds:.3f}" for seconds in worst)
        app.check_at_most(f"{name}: revoked everywhere, of {rounds} keys, per replica {figures} s; the slowest", max(worst), MOST_SECONDS, " s")


def measure(cluster, by):
    """Revokes a key at one replica. Returns, per replica, the seconds until the start of the last call that it accepted."""
    made = create_key(cluster, name="to be revoked", user_path="/replicas/revoked")
    probes = [Probe(replica, made["key"]) for replica in cluster.replicas]
    for probe in probes:
        probe.start()
    rig.eventually(lambda: all(probe.accepted for probe in probes), what="every replica to know the key")
    answer = cluster.replicas[by].admin("DELETE", f"/auth-keys/{made['id']}")
    assert answer.status_code == 204, answer.text
    revoked = time.monotonic()
    rig.eventually(lambda: all(probe.refused for probe in probes), what="every replica to refuse the key")
    for probe in probes:
        probe.stop()
    return [max(0.0, probe.accepted - revoked) for probe in probes]


class Probe:
    """Calls a replica with a key all the time."""

    def __init__(self, replica, key):
        self.http = httpx.Client(base_url=replica.http.base_url, trust_env=False, timeout=10, headers=rig.bearer(key))
        # The starts of the last call that was accepted, and of the first one after it that was not.
        self.accepted = self.refused = 0.0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._call, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.ending.set()
        self.thread.join(timeout=15)

    def _call(self):
        while not self.ending.wait(PAUSE):
            begun = time.monotonic()
            status = self.http.get("/v1/models").status_code
            if status == 200:
                self.accepted, self.refused = begun, 0.0
            elif self.accepted:
                self.refused = begun


class Notices:
    def __init__(self, cluster):
        self.cluster, self.database = cluster, cluster.database

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def fault(self):
        return None

    def listeners(self):
        """The database's processes of connections that have just begun to listen."""
        asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'gatehouse' AND query ILIKE 'LISTEN%'"
        return [int(row[0]) for row in self.database.run(asked)]


class ClosedListeners(Notices):
    """Closes the connections again and again, as soon as they are there."""

    def __enter__(self):
        self.closed = 0
        # A connection that listens for longer has another last query.
        self.database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatehouse'")
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._close, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + 5.0
        while self.fault() and time.monotonic() < deadline:
            time.sleep(0.1)
        return self

    def _close(self):
        while not self.ending.wait(0.02):
            asked = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'gatehouse' AND query ILIKE 'LISTEN%'"
            self.closed += int(self.database.run(asked)[0][0])

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def fault(self):
        wanted = len(self.cluster.replicas)
        return self.closed < wanted and f"{self.closed} of at least {wanted}"


class FrozenListeners(Notices):
    """Stops the processes behind the connections: they stay open, and no notice arrives."""

    def __enter__(self):
        self.database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatehouse'")
        self.frozen = []
        try:
            rig.eventually(lambda: len(self.listeners()) >= len(self.cluster.replicas), 5, 0.1, "listeners")
        except AssertionError:
            pass
        self.frozen = self.listeners()
        for process in self.frozen:
            os.kill(process, signal.SIGSTOP)
        return self

    def __exit__(self, *_):
        for process in self.frozen:
            try:
                os.kill(process, signal.SIGCONT)
            except ProcessLookupError:
                pass

    def fault(self):
        wanted = len(self.cluster.replicas)
        return len(self.frozen) < wanted and f"{len(self.frozen)} of at least {wanted}"
