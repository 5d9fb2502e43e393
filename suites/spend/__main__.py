"""A hundred thousand calls with every kind of fault, then races: every token and nano-dollar must be accounted for."""

import argparse
import pathlib
import random
import sys
import tempfile
import time

import backends
import rig
import traffic
from kill9.audit import drained_rows
from spend import agent, books, limits, passthrough, race, stage


def main():
    parser = argparse.ArgumentParser(prog="spend", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3000 calls on SQLite, 2 kills, short races")
    parser.add_argument("--calls", type=int, help="default 100000, half of them on each backend")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both; quick: SQLite")
    parser.add_argument("--only", choices=["books", "race", "limits", "passthrough", "agent"], action="append")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    chosen = options.backend or (["sqlite"] if options.quick else backends.NAMES)
    parts = options.only or ["books", "race", "limits", "passthrough", "agent"]
    options.calls = (options.calls or (3000 if options.quick else 100_000)) // len(chosen)
    options.kills = options.kills if options.kills is not None else (2 if options.quick else 10)
    print(f"spend: seed {options.seed}", flush=True)
    checks = []
    if "books" in parts:
        for name in chosen:
            checks += [(f"{name}: {what}", faults) for what, faults in staged(name, long_run, options)]
    if "race" in parts:
        checks += staged("sqlite", race.run, options)
    if "limits" in parts:
        checks += staged("sqlite", limits.run, options)
    if "passthrough" in parts:
        checks += staged("sqlite", passthrough.run, options)
    if "agent" in parts:
        checks += staged("sqlite", agent.run, options)
    for what, faults in checks:
        print(f"{'MISSED' if faults else 'ok    '} {what}")
        for fault in faults[:8]:
            print(f"         {fault}"[:700])
    failed = sum(bool(faults) for _, faults in checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


def staged(name, part, options):
    """Runs a part on its own gateway and returns its checks, each a text and its faults."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="spend-"))
    backend = backends.start(name, directory)
    upstream = rig.Upstream()
    further = [model for name in race.NAMES for model in race.models_of(name)] + limits.MODELS + passthrough.MODELS
    gateway = rig.Gateway(directory, upstream, **backend.settings, **stage.settings(upstream, further))
    checks = None
    try:
        gateway.start(models=["openai/text"])
        checks = part(gateway, upstream, options)
    finally:
        gateway.stop()
        upstream.stop()
        backend.stop()
        if checks is None or any(faults for _, faults in checks):
            print(f"spend: the files of the run stay in {directory}", file=sys.stderr)
        else:
            rig.remove(directory)
    return checks


def long_run(gateway, upstream, options):
    stage.equip(gateway)
    tariff = stage.Tariff(gateway)
    tariff.publish()
    load = traffic.Load(gateway.port, options.workers, options.seed, stage.plan, most=options.calls).start()
    chance = random.Random(options.seed)
    begun = time.monotonic()
    for number in range(options.kills + 1):
        share = (number + chance.uniform(0.3, 0.9)) / (options.kills + 1)
        rig.eventually(lambda: load.made() >= share * options.calls, 3600, 0.05, "the load to go on")
        if number == options.kills // 2:
            tariff.change()
        else:
            gateway.kill()
            gateway.start()
    calls = load.join(timeout=3600)
    seconds = time.monotonic() - begun
    acknowledged = sum(call.acknowledged for call in calls)
    rows = drained_rows(gateway, acknowledged, "/spend", patience=60)
    found = books.Books(calls, rows, upstream.bill(), tariff)
    served = sum(call.served for call in calls)
    retried = sum(len(lines) > 1 for lines in found.by_word.values())
    elsewhere = sum(row["provider_name"] == "openai-backup" for row in rows)
    left = sum(call.leave is not None and not call.acknowledged for call in calls)
    print(f"spend: {len(calls)} calls in {seconds:.0f} s: {served} served, {left} left, {options.kills} kills, {len(rows)} rows")
    print(f"spend: {elsewhere} served after failover, {retried} billed more than once, {len(found.exact)} rows exact")
    for line in books.describe(found.errors()):
        print(f"spend: {line}")
    return [
        ("every acknowledged call has a row", found.lost()),
        ("no call and no answer has two", found.doubled()),
        ("no row without its call", found.foreign()),
        ("token for token what the upstream billed", found.unequal()),
        ("everything the upstream finished is booked", found.unbooked()),
        ("estimates are marked, and only they", found.unmarked()),
        ("every cost is right to the nano-dollar, before and after the change of prices", found.mispriced()),
        ("the sums of the reports and the budgets are those of the rows", books.sums(gateway, rows)),
    ]


if __name__ == "__main__":
    sys.exit(main())
