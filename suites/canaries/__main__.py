"""Places a unique secret in every configuration, calls every route, and searches all output for the secrets."""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import httpx

import backends
import rig
from canaries import tour
from canaries.house import ADMIN, ENV, YAML, House

OWN = {
    ENV: {"key from the environment"},
    YAML: {"key from YAML", "header from YAML"},
    ADMIN: {"key from the admin API", "header from the admin API", "former key from the admin API"},
}


def main():
    parser = argparse.ArgumentParser(prog="canaries", description=__doc__)
    parser.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both")
    parser.add_argument("--quick", action="store_true", help="on SQLite only")
    options = parser.parse_args()
    chosen = options.backend or (["sqlite"] if options.quick else backends.NAMES)
    passed = failed = 0
    for name in chosen:
        for what, hits in run(name):
            passed, failed = passed + (not hits), failed + bool(hits)
            print(f"{'MISSED' if hits else 'ok    '} {name}: {what}")
            kinds = collections.Counter((canary, form) for _, canary, form, _ in hits)
            for (canary, form), count in kinds.most_common(12):
                place, _, _, around = next(hit for hit in hits if hit[1:3] == (canary, form))
                print(f"         {count} × {canary} ({form}), e.g. in {place}: …{around!r}…"[:700])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run(name):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="canaries-"))
    house = House(name, directory)
    try:
        house.gateway.spawn()
        rig.eventually(house.gateway.is_ready, 20, what="/ready")
        streams = [Stream(house, path) for path in ("/console/stream", "/audit/log/stream")]
        ids = tour.furnish(house)
        key = ids["managed key"][1]
        rig.eventually(lambda: f"{ADMIN}/text" in house.ask("GET", "/v1/models", key).text, what="discovery")
        tour.inference(house, key)
        tour.foreign(house, key)
        tour.prompts(house, key)
        paths = tour.routes(house, ids)
        time.sleep(1.5)
        tour.exports(house)
        for stream in streams:
            stream.stop()
        heard = {which: json.dumps(upstream.requests()).encode() for which, upstream in house.upstreams.items()}
        before = files(directory, name)
        house.gateway.stop()
        print(f"canaries: {name}: {len(house.cage.values)} secrets, {paths} paths, {len(house.answers)} answers", flush=True)
        return search(house, streams, heard, before + files(directory, name))
    finally:
        house.stop()
        rig.remove(directory)


def search(house, streams, heard, found_files):
    cage = house.cage
    answers = [hit for place, data, shows in house.answers for hit in cage.search(place, data, shows)]
    log = house.gateway.log_path.read_bytes()
    stored = [hit for place, data in found_files for hit in cage.search(place, data)]
    followed = [hit for stream in streams for hit in cage.search(stream.path, stream.taken)]
    upstream = [hit for which, data in heard.items() for hit in cage.search(f"requests to {which}", data, OWN[which])]
    sent = [hit for data in house.sink.taken for hit in cage.search("traces and webhooks", data)]
    size = sum(len(data) for _, data in found_files)
    print(f"canaries: {len(log)} bytes of log, {size} bytes in {len(found_files)} files, {len(house.sink.taken)} traces and webhooks")
    commands = [hit for place, data in command_lines(house) for hit in cage.search(place, data)]
    return [
        ("no secret in any answer", answers),
        ("none in the log, at its finest level", cage.search("the log", log)),
        ("none in the files: database, write-ahead log, journal, inventory", stored),
        ("none in the live streams", followed),
        ("none in traces and webhooks", sent),
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


def command_lines(house):
    """Runs the commands with the same environment, and with invalid settings that contain a secret."""
    runs = [["check"], ["keys", "list"], ["audit", "verify"], ["models"], ["--help"]]
    environments = [{}] * len(runs)
    secret = house.cage.values["key from YAML"]
    for name in ("ENCRYPTION_KEY", "POSTGRES_URL", "HTTP_PROXY"):
        runs.append(["check"])
        environments.append({name: f"wrong {secret}", "STORAGE_TYPE": "postgres"})
    for words, changed in zip(runs, environments):
        command = [rig.binary("gatehouse"), *words]
        environment = house.gateway.settings | changed
        answer = subprocess.run(command, env=environment, cwd=house.directory, capture_output=True, timeout=60)
        yield f"gatehouse {' '.join(words)} {list(changed)[:1]}", answer.stdout + answer.stderr


class Stream:
    """Reads a live stream until the end of the tour."""

    def __init__(self, house, path):
        self.path, self.taken, self.ending = path, b"", threading.Event()
        self.house = house
        self.thread = threading.Thread(target=self._follow, daemon=True)
        self.thread.start()

    def _follow(self):
        url = f"{self.house.gateway.http.base_url}/admin/api/v1{self.path}"
        try:
            with httpx.stream("GET", url, headers=rig.bearer(self.house.master), timeout=30, trust_env=False) as answer:
                for piece in answer.iter_bytes():
                    self.taken += piece
                    if self.ending.is_set():
                        return
        except httpx.HTTPError:
            return

    def stop(self):
        self.ending.set()
        print(f"canaries: {len(self.taken)} bytes of {self.path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
