"""Kills the gateway at random instants under load, restarts it, and holds its books against the upstream's bill."""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import rig
from kill9.audit import audit
from kill9.load import MIX, Load

POSTGRES = rig.ROOT / "scripts" / "postgres.sh"


def main():
    parser = argparse.ArgumentParser(prog="kill9", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="kills per backend (default 50)")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--backend", choices=["sqlite", "postgres"], action="append", help="default: both")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="repeats the instants of a run")
    options = parser.parse_args()
    print(f"kill9: {options.kills} kills per backend, {options.workers} workers, seed {options.seed}", flush=True)
    reports = [run(backend, options) for backend in options.backend or ["sqlite", "postgres"]]
    print_table(reports)
    for report in reports:
        for fault in report.faults[:20]:
            print(f"{report.backend}: {fault}")
    print(f"lost {sum(r.lost for r in reports)} doubled {sum(r.doubled for r in reports)}")
    failed = sum(bool(report.faults) for report in reports)
    print(f"{len(reports) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run(backend, options):
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"kill9-{backend}-"))
    # PostgreSQL runs as a user of its own, who must be able to walk through here.
    directory.chmod(0o755)
    settings, stop_database = database(backend, directory)
    upstream = rig.Upstream()
    # Named, so that a kill before the first discovery does not make them unknown.
    gateway = rig.Gateway(directory, upstream, OPENAI_MODELS=",".join(sorted(set(MIX))), **settings)
    try:
        report = campaign(backend, gateway, upstream, options)
    except BaseException:
        print(f"kill9: the run on {backend} broke off; its files stay in {directory}", file=sys.stderr)
        raise
    finally:
        gateway.stop()
        upstream.stop()
        stop_database()
    if report.faults:
        print(f"kill9: the files of the failed run on {backend} stay in {directory}")
    else:
        rig.remove(directory)
    return report


def campaign(backend, gateway, upstream, options):
    chance = random.Random(f"{options.seed}-{backend}")
    gateway.start(models=["openai/text"])
    load = Load(gateway.port, options.workers, options.seed)
    load.start()
    ready_times = []
    for number in range(1, options.kills + 1):
        load.run_for(chance.uniform(0.05, 0.8))
        gateway.kill()
        ready_times.append(gateway.start())
        if number % 10 == 0:
            print(f"kill9: {backend}: {number} kills, {load.acknowledged()} acknowledged", flush=True)
    load.run_for(0.3)
    calls = load.stop()
    return audit(backend, gateway, upstream, calls, ready_times)


def database(backend, directory):
    """The settings for a fresh database, and what ends it."""
    if backend == "sqlite":
        return {}, lambda: None
    cluster = str(directory / "postgres")
    # The server goes on running with what it inherits, so its output must not be our pipe.
    with open(directory / "postgres.out", "w+") as output:
        started = subprocess.run([POSTGRES, "start", cluster], stdout=output)
        output.seek(0)
        lines = output.read().split()
    if started.returncode or not lines:
        raise SystemExit("kill9: PostgreSQL could not be started. Install it with: sudo apt-get install postgresql")

    def stop():
        subprocess.run([POSTGRES, "stop", cluster], stdout=subprocess.DEVNULL)

    return {"STORAGE_TYPE": "postgres", "POSTGRES_URL": lines[-1]}, stop


def print_table(reports):
    heads = ["backend", "kills", "calls", "acknowledged", "rows", "estimated", "ready p50", "ready max"]
    heads += ["lost", "doubled", "wrong", "unmarked", "unbooked"]
    rows = [report.cells() for report in reports]
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    for row in [heads, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


if __name__ == "__main__":
    sys.exit(main())
