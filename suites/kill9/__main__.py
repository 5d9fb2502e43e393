"""Kills the gateway at random instants under load, restarts it, and compares its accounting with the upstream's bill.
"""

import argparse
import pathlib
import random
import statistics
import sys
import tempfile

import backends
import filling
import rig
import traffic
from kill9 import trail
from kill9.audit import audit

PATH = "/kill9"
READY_SECONDS = 1.0
# Fast and slow, short and long, healthy and faulty models, so that a kill meets calls in every state.
MIX = ["text", "text", "cached", "reasoning", "long", "drip-5", "drip-20", "slow-20"]
ILL = ["error-500@kill9", "every-4", "every-5-cut-mid-stream", "error-400", "no-usage"]
FORMATS = ["chat", "chat", "responses", "messages", "passthrough"]


def main():
    parser = argparse.ArgumentParser(prog="kill9", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kills per backend (default 200)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows in the books beforehand (default 10^6)")
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="repeats the instants of a run")
    parser.add_argument("--quick", action="store_true", help="5 kills on SQLite, 3 on PostgreSQL, 20000 rows")
    options = parser.parse_args()
    chosen = options.backend or backends.NAMES
    kills = {name: options.kills for name in chosen}
    if options.quick:
        options.rows, kills = 20_000, {"sqlite": 5, "postgres": 3}
    print(f"kill9: {options.workers} workers, seed {options.seed}", flush=True)
    reports = [run(name, kills[name], options) for name in chosen]
    print_table(reports)
    failed = sum(bool(report.faults) for report in reports)
    for report in reports:
        print(f"{report.backend}: ready again in ms: {distribution(report.ready_times)}")
        for fault in report.faults[:20]:
            print(f"{report.backend}: MISSED {fault}")
    print(f"lost {sum(r.lost for r in reports)} doubled {sum(r.doubled for r in reports)}")
    print(f"{len(reports) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run(name, kills, options):
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"kill9-{name}-"))
    backend = backends.start(name, directory)
    upstream = rig.Upstream()
    # Configured by name, so that a kill before the first discovery does not make them unknown.
    models = ",".join(sorted({*MIX, *ILL}))
    settings = backend.settings | {"LOGGING_ENABLED": "true", "GATEWAY_EDITION": "enterprise"}
    gateway = rig.Gateway(directory, upstream, OPENAI_MODELS=models, **settings)
    try:
        rows = filling.fill(gateway, backend, options.rows)
        print(f"kill9: {name}: {rows} rows in the books", flush=True)
        report = campaign(name, gateway, upstream, kills, options)
    except BaseException:
        print(f"kill9: the run on {name} broke off; its files stay in {directory}", file=sys.stderr)
        raise
    finally:
        gateway.stop()
        upstream.stop()
        backend.stop()
    if report.faults:
        print(f"kill9: the files of the failed run on {name} stay in {directory}")
    else:
        rig.remove(directory)
    return report


def plan(chance, request_id):
    ill = chance.random() < 0.1
    model = chance.choice(ILL if ill else MIX)
    leave = chance.randrange(6) if chance.random() < 0.08 else None
    return traffic.Call(request_id, chance.choice(FORMATS), f"openai/{model}", chance.random() < 0.6, leave)


def campaign(name, gateway, upstream, kills, options):
    chance = random.Random(f"{options.seed}-{name}")
    gateway.start(models=["openai/text"])
    # The spend so far must be restored after every kill.
    budget = gateway.admin("PUT", "/budgets/%2F/monthly", json={"amount": 1_000_000})
    assert budget.status_code in (200, 201), budget.text
    headers = rig.bearer(rig.MASTER_KEY) | {"x-gateway-user-path": PATH}
    load = traffic.Load(gateway.port, options.workers, f"{options.seed}{name[0]}", plan, headers).start()
    ready_times = []
    for number in range(1, kills + 1):
        load.stopping.wait(chance.uniform(0.05, 0.8))
        gateway.kill()
        ready_times.append(gateway.start())
        if number % 20 == 0:
            print(f"kill9: {name}: {number} kills, {load.acknowledged()} acknowledged", flush=True)
    load.stopping.wait(0.3)
    calls = load.stop()
    report = audit(name, gateway, upstream, calls, ready_times, PATH)
    if max(ready_times) > READY_SECONDS:
        late = sum(seconds > READY_SECONDS for seconds in ready_times)
        report.faults.append(f"{late} of {kills} times it was not ready again within {READY_SECONDS:g} s")
    report.faults += trail.faults(gateway, calls)
    return report


def distribution(seconds):
    found = sorted(1000 * value for value in seconds)
    marks = {f"p{share}": found[min(len(found) - 1, len(found) * share // 100)] for share in (50, 90, 95, 99)}
    marks = {"min": found[0]} | marks | {"max": found[-1], "mean": statistics.mean(found)}
    return ", ".join(f"{name} {value:.0f}" for name, value in marks.items())


def print_table(reports):
    heads = ["backend", "kills", "calls", "acknowledged", "left", "refused", "rows", "estimated", "ready p50", "ready max"]
    heads += ["lost", "doubled", "wrong", "unmarked", "unbooked"]
    rows = [report.cells() for report in reports]
    widths = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    for row in [heads, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


if __name__ == "__main__":
    sys.exit(main())
