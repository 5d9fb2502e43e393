"""Places a unique secret in every configuration, calls every route, and searches all output for the secrets."""

import collections
import json
import subprocess
import sys
import threading
import time

import httpx

import backends
import rig
from canaries import exercise
from canaries.app import ADMIN, ENV, YAML, CanaryApp
from harness import Suite

OWN = {
    ENV: {"key from the environment"},
    YAML: {"key from YAML", "header from YAML"},
    ADMIN: {"key from the admin API", "header from the admin API", "former key from the admin API"},
}


def main():
    suite = Suite("canaries", __doc__, quick="on SQLite only")
    suite.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both")
    options = suite.parse()
    for backend in options.backend or (["sqlite"] if options.quick else backends.NAMES):
        suite.run(backend, lambda app: run(app, backend))
    return suite.finish()


def run(test_app, backend):
    app = CanaryApp(test_app, backend)
    app.gateway.spawn()
    rig.eventually(app.gateway.is_ready, 20, what="/ready")
    streams = [Stream(app, path) for path in ("/console/stream", "/audit/log/stream")]
    ids = exercise.configure(app)
    key = ids["managed key"][1]
    rig.eventually(lambda: f"{ADMIN}/text" in app.ask("GET", "/v1/models", key).text, what="discovery")
    exercise.inference(app, key)
    exercise.foreign(app, key)
    exercise.prompts(app, key)
    paths = exercise.routes(app, ids)
    time.sleep(1.5)
    exercise.exports(app)
    for stream in streams:
        stream.stop()
    sent = {which: json.dumps(upstream.requests()).encode() for which, upstream in app.upstreams.items()}
    before = files(app.directory, backend)
    app.gateway.stop()
    test_app.note(f"{len(app.scanner.values)} secrets, {paths} paths, {len(app.answers)} answers")
    for what, hits in search(app, streams, sent, before + files(app.directory, backend)):
        test_app.check(what, *described(hits))


def described(hits):
    """One line per secret and encoding."""
    kinds = collections.Counter((name, form) for _, name, form, _ in hits)
    for (name, form), count in kinds.most_common():
        location, _, _, around = next(hit for hit in hits if hit[1:3] == (name, form))
        yield f"{count} × {name} ({form}), e.g. in {location}: …{around!r}…"


def search(app, streams, sent, found_files):
    scanner, sink = app.scanner, app.sink.received
    answers = [hit for request, data, shows in app.answers for hit in scanner.search(request, data, shows)]
    log = app.gateway.log_path.read_bytes()
    stored = [hit for path, data in found_files for hit in scanner.search(path, data)]
    followed = [hit for stream in streams for hit in scanner.search(stream.path, stream.received)]
    upstream = [hit for which, data in sent.items() for hit in scanner.search(f"requests to {which}", data, OWN[which])]
    exported = [hit for data in sink for hit in scanner.search("traces and webhooks", data)]
    size = sum(len(data) for _, data in found_files)
    app.app.note(f"{len(log)} bytes of log, {size} bytes in {len(found_files)} files, {len(sink)} traces and webhooks")
    commands = [hit for command, data in command_lines(app) for hit in scanner.search(command, data)]
    return [
        ("no secret in any answer", answers),
        ("none in the log, at its finest level", scanner.search("the log", log)),
        ("none in the files: database, write-ahead log, journal, inventory", stored),
        ("none in the live streams", followed),
        ("none in traces and webhooks", exported),
        ("none at a provider but its own", upstream),
        ("none on the command line", commands),
    ]


def files(directory, backend):
    """The files on disk, while the gateway runs and after it has ended."""
    roots = [directory / "data"] + ([directory / "postgres"] if backend == "postgres" else [])
    found = [path for root in roots for path in root.rglob("*") if path.is_file()]
    kept = []
    for path in found:
        try:
            kept.append((str(path.relative_to(directory)), path.read_bytes()))
        except OSError:
            continue
    return kept


def command_lines(app):
    """Runs the commands with the same environment, and with invalid settings that contain a secret."""
    runs = [["check"], ["keys", "list"], ["audit", "verify"], ["models"], ["--help"]]
    environments = [{}] * len(runs)
    secret = app.scanner.values["key from YAML"]
    for name in ("ENCRYPTION_KEY", "POSTGRES_URL", "HTTP_PROXY"):
        runs.append(["check"])
        environments.append({name: f"wrong {secret}", "STORAGE_TYPE": "postgres"})
    for words, changed in zip(runs, environments):
        command = [rig.binary("gatehouse"), *words]
        environment = app.gateway.settings | changed
        answer = subprocess.run(command, env=environment, cwd=app.directory, capture_output=True, timeout=60)
        yield f"gatehouse {' '.join(words)} {list(changed)[:1]}", answer.stdout + answer.stderr


class Stream:
    """Reads a live stream until it is stopped."""

    def __init__(self, app, path):
        self.path, self.received, self.ending = path, b"", threading.Event()
        self.app = app
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self):
        url = f"{self.app.gateway.http.base_url}/admin/api/v1{self.path}"
        try:
            with httpx.stream("GET", url, headers=rig.bearer(self.app.master), timeout=30, trust_env=False) as answer:
                for piece in answer.iter_bytes():
                    self.received += piece
                    if self.ending.is_set():
                        return
        except httpx.HTTPError:
            return

    def stop(self):
        self.ending.set()
        self.app.app.note(f"{len(self.received)} bytes of {self.path}")


if __name__ == "__main__":
    sys.exit(main())
