"""Kills the gateway at random instants under load, restarts it, and compares its accounting with the upstream's bill.
"""

import random
import statistics
import sys

import backends
import filling
import rig
import traffic
from harness import Suite, print_table
from kill9 import audit_log
from kill9.accounting import audit

PATH = "/kill9"
READY_SECONDS = 1.0
# Fast and slow, short and long, healthy and faulty models, so that a kill meets calls in every state.
MIX = ["text", "text", "cached", "reasoning", "long", "drip-5", "drip-20", "slow-20"]
FAULTY = ["error-500@kill9", "every-4", "every-5-cut-mid-stream", "error-400", "no-usage"]
FORMATS = ["chat", "chat", "responses", "messages", "passthrough"]


def main():
    suite = Suite("kill9", __doc__, quick="5 kills on SQLite, 3 on PostgreSQL, 20000 rows")
    suite.add_argument("--kills", type=int, default=200, help="kills per backend (default 200)")
    suite.add_argument("--rows", type=int, default=1_000_000, help="existing usage rows (default 10^6)")
    suite.add_argument("--workers", type=int, default=16)
    suite.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both")
    suite.add_argument("--seed", type=int, default=random.randrange(2**32), help="repeats the instants of a run")
    options = suite.parse()
    chosen = options.backend or backends.NAMES
    kills = {name: options.kills for name in chosen}
    if options.quick:
        options.rows, kills = 20_000, {"sqlite": 5, "postgres": 3}
    suite.note(f"{options.workers} workers, seed {options.seed}")
    reports = []
    for name in chosen:
        suite.run(name, lambda app: reports.append(run(app, name, kills[name], options)))
    show(reports)
    return suite.finish()


def run(app, name, kills, options):
    backend, upstream = app.database(name), app.upstream()
    # Configured by name, so that a kill before the first discovery does not make them unknown.
    models = ",".join(sorted({*MIX, *FAULTY}))
    settings = backend.settings | {"LOGGING_ENABLED": "true", "GATEWAY_EDITION": "enterprise"}
    gateway = app.gateway(upstream, OPENAI_MODELS=models, **settings)
    rows = filling.fill(gateway, backend, options.rows)
    app.note(f"{rows} existing usage rows")
    report = campaign(name, gateway, upstream, kills, options)
    app.check("every acknowledged call is accounted exactly once", *report.faults)
    return report


def plan(chance, request_id):
    is_faulty = chance.random() < 0.1
    model = chance.choice(FAULTY if is_faulty else MIX)
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
    report.faults += audit_log.faults(gateway, calls)
    return report


def distribution(seconds):
    found = sorted(1000 * value for value in seconds)
    marks = {f"p{share}": found[min(len(found) - 1, len(found) * share // 100)] for share in (50, 90, 95, 99)}
    marks = {"min": found[0]} | marks | {"max": found[-1], "mean": statistics.mean(found)}
    return ", ".join(f"{name} {value:.0f}" for name, value in marks.items())


def show(reports):
    heads = ["backend", "kills", "calls", "acknowledged", "left", "refused", "rows", "estimated", "ready p50", "ready max"]
    print_table([*heads, "lost", "doubled", "wrong", "unmarked", "unbooked"], [report.cells() for report in reports])
    for report in reports:
        print(f"{report.backend}: ready again in ms: {distribution(report.ready_times)}")
    print(f"lost {sum(r.lost for r in reports)} doubled {sum(r.doubled for r in reports)}")


if __name__ == "__main__":
    sys.exit(main())
