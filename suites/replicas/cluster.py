"""Four gateways on one PostgreSQL and one Redis, and what a suite does to them: kill, pause, restart, freeze, flush."""

import os
import pathlib
import signal
import subprocess
import time

import rig
import traffic

REPLICAS = 4
WORKERS = 64
# Seconds between attempts to connect to a replica that is down; many workers would take the machine from the others.
RECONNECT = 0.2
# Seconds until every replica knows a change.
KNOWN = 1.2


class Replica(rig.Gateway):
    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        if self.is_running():
            self.resume()
        super().stop()

    @property
    def journals(self):
        """The names of the journals in the data directory: those of the process and of earlier ones that are not drained."""
        directory = pathlib.Path(self.settings["DATA_DIR"]) / "journal"
        return sorted(path.name for path in directory.iterdir() if path.is_dir()) if directory.exists() else []

    def drain_journal(self, data_directory):
        """Runs `gatehouse journal drain` as on another machine. Returns its exit status and its output."""
        command = [rig.binary("gatehouse"), "journal", "drain", str(pathlib.Path(self.settings["DATA_DIR"]) / "journal")]
        settings = self.settings | {"DATA_DIR": str(data_directory)}
        answer = subprocess.run(command, env=settings, cwd=self.directory, capture_output=True, text=True, timeout=60)
        return answer.returncode, (answer.stdout + answer.stderr).strip()


class Cluster:
    def __init__(self, app, models):
        self.database = app.database("postgres")
        # The script turns it off. Replicas rely on what the database has confirmed, also after its restart.
        self.database.run("ALTER ROLE gatehouse SET synchronous_commit = on")
        self.redis, self.upstream = app.redis(), app.upstream()
        self.directory = app.directory
        settings = self.database.settings | self.redis.settings | {
            "GATEWAY_EDITION": "enterprise",
            "ENCRYPTION_KEY": "00" * 32,
            "OPENAI_MODELS": ",".join(models),
        }
        self.replicas = [
            app.add(Replica(app.directory / f"replica-{number}", self.upstream, **settings)) for number in range(1, REPLICAS + 1)
        ]
        for replica in self.replicas:
            replica.start(models=["openai/text"])

    @property
    def first(self):
        return self.replicas[0]

    def heal(self):
        """Ends every fault, and waits until all replicas are ready."""
        if not (self.database.data / "postmaster.pid").exists():
            self.database.revive()
        self.database.thaw()
        self.redis.thaw()
        self.redis.revive()
        for replica in self.replicas:
            if replica.is_running():
                replica.resume()
            else:
                replica.start()
        for replica in self.replicas:
            rig.eventually(lambda: is_ok(replica), 30, 0.05, f"/ready of port {replica.port} to say ok")

    def load(self, seed, plan, key=rig.MASTER_KEY, workers=WORKERS):
        """Workers on each replica."""
        headers = rig.bearer(key)
        return [
            traffic.Load(replica.port, workers, f"{seed}r{number}", plan, headers, pause=RECONNECT)
            for number, replica in enumerate(self.replicas, 1)
        ]

    def clock_offset(self):
        """Seconds to add to a time of the upstream's bill to get one of this process."""
        word = f"clock-{os.urandom(4).hex()}"
        body = {"model": "text", "messages": [{"role": "user", "content": word}]}
        before = time.monotonic()
        self.upstream.http.post("/v1/chat/completions", json=body)
        line = next(line for line in self.upstream.bill() if line["word"] == word)
        return before - line["began_ms"] / 1000

    def lines(self, suffix):
        """The bill of the models with this suffix."""
        return [line for line in self.upstream.bill() if line["model"].endswith(f"@{suffix}")]

    def metric(self, name):
        return sum(replica.metrics().get(name, 0.0) for replica in self.replicas)


def is_ok(replica):
    return replica.is_ready() and replica.http.get("/ready").json()["status"] == "ok"


def stop_load(loads):
    for load in loads:
        load.stopping.set()
    return [call for load in loads for call in load.stop()]


def create_key(cluster, **fields):
    answer = cluster.first.admin("POST", "/auth-keys", json=fields)
    assert answer.status_code == 201, answer.text
    return answer.json()
