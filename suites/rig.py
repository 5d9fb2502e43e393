"""Starts and stops the processes of a suite: the scripted upstream and the gateway."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import httpx

import machine_time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MASTER_KEY = "master-key-of-the-suites-0123456789"
PROVIDER_KEY = "sk-upstream-secret-never-to-be-seen-4711"
BACKUP_KEY = "sk-backup-secret-never-to-be-seen-4712"

# Models that the upstream serves but does not list.
EXTRA_MODELS = "drip-5,drip-20,drip-50,drip-100,slow-20,slow-1500,long-20,error-429-2,huge-event-1024,flaky-1"


def binary(name):
    """The path of a binary: GATEHOUSE_BIN and its neighbours, else the newest build."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    candidates = [target / profile / name for profile in ("debug", "release")]
    if chosen := os.environ.get("GATEHOUSE_BIN"):
        chosen = pathlib.Path(chosen)
        candidates = [chosen if name == "gatehouse" else chosen.parent / name]
    found = [path for path in candidates if path.exists()]
    if not found:
        raise SystemExit(f"{name} is not built: cargo build -p gatehouse -p testkit --bins")
    return str(max(found, key=lambda path: path.stat().st_mtime))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(probe, timeout=10.0, pause=0.02, what="the condition"):
    """Returns the first true result of `probe`; raises an AssertionError at the timeout, in seconds the machine had."""
    watch = machine_time.Stopwatch()
    while True:
        if answer := probe():
            return answer
        if watch.wall_seconds() > timeout and watch.seconds() > timeout:
            raise AssertionError(f"{what} did not come true within {timeout} s")
        time.sleep(pause)


class Upstream:
    """The scripted upstream. Its behaviours are fault scripts: see crates/testkit/src/upstream/fault_script.rs."""

    def __init__(self, *arguments, verify=True):
        self.arguments = arguments
        self.spawn()
        self.http = httpx.Client(base_url=self.url.removesuffix("/v1"), trust_env=False, verify=verify, timeout=10)

    def spawn(self):
        command = [binary("scripted-upstream"), *map(str, self.arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def set_fault(self, script=""):
        """Applies a fault script to every call from now on; the empty one clears it."""
        answer = self.http.post("/fault", content=script)
        assert answer.status_code == 200, answer.text

    def calls_since_fault(self):
        """Call times in seconds by model since the last `set_fault`, and the number of unfinished answers."""
        state = self.http.get("/fault").json()
        calls = {}
        for milliseconds, model in state["calls"]:
            calls.setdefault(model, []).append(milliseconds / 1000)
        return calls, state["unfinished"]

    def bill(self):
        return self.http.get("/bill", timeout=60).json()

    def line(self, provider_id):
        return next(line for line in self.bill() if line["id"] == provider_id)

    def requests(self):
        return self.http.get("/requests", timeout=60).json()

    def stop(self):
        self.process.kill()
        self.process.wait()


class Gateway:
    """The gateway with a data directory that outlives its process and a clean environment."""

    def __init__(self, directory, upstream=None, **settings):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.process = None
        # The path of the binary, if it is not the tested one.
        self.executable = None
        self.log_path = self.directory / "gateway.log"
        self.settings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.directory),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "DATA_DIR": str(self.directory / "data"),
            "GATEWAY_MASTER_KEY": MASTER_KEY,
        }
        if upstream:
            self.settings |= {
                "OPENAI_API_KEY": PROVIDER_KEY,
                "OPENAI_BASE_URL": upstream.url,
                "OPENAI_MODELS": EXTRA_MODELS,
                "OPENAI_BACKUP_API_KEY": BACKUP_KEY,
                "OPENAI_BACKUP_BASE_URL": upstream.url,
            }
        self.settings |= settings
        # None removes a setting.
        self.settings = {name: value for name, value in self.settings.items() if value is not None}
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", trust_env=False, timeout=30)

    def spawn(self):
        with open(self.log_path, "ab") as log:
            # It runs in another directory.
            command = [pathlib.Path(self.executable or binary("gatehouse")).resolve(), "serve"]
            self.process = subprocess.Popen(
                command, env=self.settings, cwd=self.directory, stdout=log, stderr=subprocess.STDOUT
            )

    def start(self, models=()):
        """Starts the gateway and returns the seconds until /ready; waits for the named models after that."""
        watch = machine_time.Stopwatch()
        self.spawn()
        eventually(self.is_ready, timeout=20, pause=0.002, what=f"/ready (log: {self.log_path})")
        seconds = watch.seconds()
        if models:
            eventually(lambda: set(models) <= set(self.models()), what=f"discovery of {models}")
        return seconds

    def is_ready(self):
        if self.process.poll() is not None:
            raise SystemExit(f"the gateway ended with {self.process.returncode}:\n{self.log()[-3000:]}")
        try:
            return self.http.get("/ready", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def models(self):
        answer = self.http.get("/v1/models", headers=bearer(MASTER_KEY)).json()
        return [model["id"] for model in answer["data"]]

    def log(self):
        return self.log_path.read_text(errors="replace")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()

    def admin(self, method, path, key=MASTER_KEY, **options):
        return self.http.request(method, f"/admin/api/v1{path}", headers=bearer(key), **options)

    def metrics(self):
        """The sum of the samples of each metric, by its name."""
        sums = {}
        for line in self.http.get("/metrics", headers=bearer(MASTER_KEY)).text.splitlines():
            if line and not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                name = series.partition("{")[0]
                sums[name] = sums.get(name, 0.0) + float(value)
        return sums

    def usage_log(self, **query):
        answer = self.admin("GET", "/usage/log", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def usage_rows(self, **query):
        """The whole usage log, page by page."""
        rows = []
        while True:
            page = self.usage_log(limit=200, offset=len(rows), **query)
            rows += page["entries"]
            if not page["entries"] or len(rows) >= page["total"]:
                return rows

    def usage_row(self, request_id):
        """The row of one call, once the journal has been drained."""
        rows = eventually(
            lambda: self.usage_log(search=request_id)["entries"], what=f"a usage row for {request_id}"
        )
        assert len(rows) == 1, rows
        return rows[0]


def bearer(key):
    return {"authorization": f"Bearer {key}"} if key else {}


def entries(body):
    """The records of an admin list, bare or with paging."""
    return body if isinstance(body, list) else next(value for value in body.values() if isinstance(value, list))


def remove(directory):
    shutil.rmtree(directory, ignore_errors=True)
