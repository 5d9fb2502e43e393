"""Replaces three replicas behind nginx one after the other by the next version, under load: no call fails, no stream is cut,
and the accounts are exact."""

import os
import random
import subprocess
import sys
import time

import filling
import machine_time
import rig
import traffic
from deploy.programs import find
from harness import Suite
from spend import prices, workload
from upgrade import accounting
from upgrade.proxy import Nginx

REPLICAS = 3
# Quick and slow answers, and streams that last a few seconds: a replica that stops has calls of every kind.
MODELS = ["text", "text", "long-20", "slow-1500", "drip-200"]
FORMATS = ["chat", "responses", "messages"]
GRACE = 30
DELAY = 2
SCHEMA = rig.ROOT / "crates" / "store" / "tests" / "schema-0.1.0" / "postgres.sql"


def main():
    suite = Suite("upgrade", __doc__, quick="on the tables of the previous version, and this version twice")
    suite.add_argument("--rows", type=int, help="existing usage rows (default 10,000,000, quick none)")
    suite.add_argument("--workers", type=int, default=24)
    suite.add_argument("--previous", default=os.environ.get("GATEHOUSE_PREVIOUS_BIN"), help="binary of the previous version (scripts/previous.sh)")
    suite.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = suite.parse()
    options.rows = options.rows if options.rows is not None else (0 if options.quick else 10_000_000)
    if not options.quick and not options.previous:
        raise SystemExit("upgrade: name the binary of the previous version with --previous; scripts/previous.sh builds it")
    suite.note(f"{options.workers} workers, seed {options.seed}")
    suite.run("", lambda app: run(app, options))
    return suite.finish()


def run(app, options):
    if not find(app, "nginx"):
        return
    upstream = app.upstream()
    app.backend = app.database("postgres")
    gateways = make_gateways(app, upstream, options)
    before = fill(app, gateways[0], options)
    for gateway in gateways:
        gateway.start(models=["openai/text"])
    price = publish(gateways[0])
    nginx = app.add(Nginx(app.directory, gateways))
    headers = rig.bearer(rig.MASTER_KEY) | {"x-gateway-user-path": accounting.PATH}
    load = traffic.Load(nginx.port, options.workers, options.seed, plan, headers).start()
    time.sleep(2.0)
    stops = [replace(app, gateway, number) for number, gateway in enumerate(gateways, 1)]
    time.sleep(2.0)
    calls = load.stop()
    judge(app, nginx, calls, stops)
    accounting.check(app, gateways[0], upstream, calls, price, before)
    app.check("every replica has the same version", *other_versions(gateways[0]))


def make_gateways(app, upstream, options):
    settings = app.backend.settings | {
        "ENCRYPTION_KEY": "00" * 32,
        "GATEWAY_EDITION": "enterprise",
        "TRUSTED_PROXIES": "127.0.0.1",
        "OPENAI_MODELS": ",".join(sorted(set(MODELS))),
        "SHUTDOWN_GRACE": f"{GRACE}s",
        "SHUTDOWN_DELAY": f"{DELAY}s",
        # The copied rows are older than any retention.
        "USAGE_RETENTION_DAYS": "0",
    }
    gateways = [app.gateway(upstream, app.directory / f"replica-{number}", **settings) for number in range(1, REPLICAS + 1)]
    for gateway in gateways:
        gateway.executable = None if options.quick else options.previous
    return gateways


def fill(app, gateway, options):
    """Creates the tables of the previous version, with existing rows. Returns their number."""
    if options.quick:
        app.check("the tables of the previous version are there", not SCHEMA.exists() and f"{SCHEMA} is missing")
        app.backend.run(SCHEMA.read_text() if SCHEMA.exists() else "SELECT 1")
    rows = filling.fill(gateway, app.backend, options.rows) if options.rows else 0
    app.note(f"{rows} existing usage rows")
    return rows


def publish(gateway):
    """Prices for every model and a budget far away; all replicas know them after a moment."""
    price = prices.price(1, 0)
    for model in set(MODELS):
        answer = gateway.admin("PUT", f"/model-pricing/openai/{model}", json=prices.document(price))
        assert answer.status_code in (200, 201), answer.text
    workload.budget(gateway, accounting.PATH, "monthly", 1_000_000)
    time.sleep(1.5)
    return price


def plan(chance, request_id):
    time.sleep(0.02)
    return traffic.Call(request_id, chance.choice(FORMATS), f"openai/{chance.choice(MODELS)}", chance.random() < 0.6)


def replace(app, gateway, number):
    """Stops a replica with SIGTERM and starts this version in its place. Returns when it was stopping."""
    begun = time.monotonic()
    gateway.terminate()
    status = gateway.process.wait(timeout=GRACE + DELAY + 20)
    stopped = time.monotonic()
    gateway.executable = None
    watch = machine_time.Stopwatch()
    gateway.spawn()
    # The first one migrates the tables.
    rig.eventually(gateway.is_ready, 600, 0.05, f"/ready (log: {gateway.log_path})")
    app.note(f"replica {number}: ended with {status} after {stopped - begun:.1f} s, the next version ready after {watch.seconds():.2f} s")
    app.check(f"replica {number} ends with status 0", status and f"{status}")
    time.sleep(1.0)
    return begun, stopped


def judge(app, nginx, calls, stops):
    amid = [call for call in calls if any(begun <= call.ended and call.started <= ended for begun, ended in stops)]
    streams = [call for call in calls if call.stream]
    app.note(f"{len(calls)} calls, {len(streams)} streams, {len(amid)} of them while a replica was stopping")
    failed = [call for call in calls if call.acknowledged and not call.served]
    cut = [call for call in calls if not call.acknowledged]
    complaints = [f"nginx: {line}" for line in nginx.complaints()] if failed or cut else []
    shown = [f"{call.status} {call.code} {call.error_text}: {call}" for call in failed]
    app.check(f"failed calls: {len(failed)} of {len(calls)}", *shown, *(complaints if failed else []))
    app.check(f"cut answers: {len(cut)} of {len(calls)}", *(str(call) for call in cut), *(complaints if cut else []))
    app.check("calls were running while replicas stopped", not amid and "none: this run proves nothing")


def other_versions(gateway):
    """Replicas of another version, and what is wrong with the list."""
    this = subprocess.run([rig.binary("gatehouse"), "--version"], capture_output=True, text=True).stdout.split()[-1:]
    answer = gateway.admin("GET", "/runtime/replicas")
    if answer.status_code != 200:
        return [f"{answer.status_code}: {answer.text[:200]}"]
    live = [entry["version"] for entry in answer.json()["replicas"] if entry["state"] == "live"]
    print(f"upgrade: live replicas: {', '.join(live)}", flush=True)
    return [] if len(live) == REPLICAS and set(live) <= set(this) else [f"{len(live)} are live: {live}, and this is {this}"]


if __name__ == "__main__":
    sys.exit(main())
