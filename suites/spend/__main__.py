"""A hundred thousand calls with every kind of fault, then races: every token and nano-dollar must be accounted for."""

import random
import sys
import time

import backends
import rig
import traffic
from harness import Suite
from spend import accounting, agent, cache, limits, passthrough, race, workload
from usage import drained_rows


PARTS = {
    "accounting": None,
    "race": race.run,
    "limits": limits.run,
    "passthrough": passthrough.run,
    "agent": agent.run,
    "cache": cache.run,
}


def main():
    suite = Suite("spend", __doc__, quick="3000 calls on SQLite, 2 kills, short races")
    suite.add_argument("--calls", type=int, help="default 100000, half of them on each backend")
    suite.add_argument("--kills", type=int)
    suite.add_argument("--workers", type=int, default=32)
    suite.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both; quick: SQLite")
    suite.add_argument("--only", choices=list(PARTS), action="append", help="default: all")
    suite.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = suite.parse()
    chosen = options.backend or (["sqlite"] if options.quick else backends.NAMES)
    options.calls = (options.calls or (3000 if options.quick else 100_000)) // len(chosen)
    options.kills = options.kills if options.kills is not None else (2 if options.quick else 10)
    suite.note(f"seed {options.seed}")
    for name, part in PARTS.items():
        if not suite.selects(name):
            continue
        if part:
            suite.run("", lambda app: run(app, "sqlite", part, options))
            continue
        for backend in chosen:
            suite.run(backend, lambda app: run(app, backend, long_run, options))
    return suite.finish()


def run(app, backend, part, options):
    """Runs a part on its own gateway; its checks are pairs of a text and its faults."""
    database, upstream = app.database(backend), app.upstream()
    further = [model for name in race.NAMES for model in race.models_of(name)] + limits.MODELS + passthrough.MODELS
    settings = workload.settings(upstream, further)
    settings |= cache.SETTINGS if part is cache.run else {}
    gateway = app.start_gateway(upstream, models=["openai/text"], **database.settings, **settings)
    for what, faults in part(gateway, upstream, options):
        app.check(what, *faults)


def long_run(gateway, upstream, options):
    workload.configure(gateway)
    tariff = workload.Tariff(gateway)
    tariff.publish()
    load = traffic.Load(gateway.port, options.workers, options.seed, workload.plan, most=options.calls).start()
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
    found = accounting.Accounting(calls, rows, upstream.bill(), tariff)
    served = sum(call.served for call in calls)
    retried = sum(len(lines) > 1 for lines in found.by_word.values())
    elsewhere = sum(row["provider_name"] == "openai-backup" for row in rows)
    left = sum(call.leave is not None and not call.acknowledged for call in calls)
    print(f"spend: {len(calls)} calls in {seconds:.0f} s: {served} served, {left} left, {options.kills} kills, {len(rows)} rows")
    print(f"spend: {elsewhere} served after failover, {retried} billed more than once, {len(found.exact)} rows exact")
    for line in accounting.describe(found.errors()):
        print(f"spend: {line}")
    return [
        ("every acknowledged call has a row", found.lost()),
        ("no call and no answer has two", found.doubled()),
        ("no row without its call", found.foreign()),
        ("token for token what the upstream billed", found.unequal()),
        ("everything the upstream finished is booked", found.unbooked()),
        ("estimates are marked, and only they", found.unmarked()),
        ("every cost is right to the nano-dollar, before and after the change of prices", found.mispriced()),
        ("the sums of the reports and the budgets are those of the rows", accounting.sums(gateway, rows)),
    ]


if __name__ == "__main__":
    sys.exit(main())
