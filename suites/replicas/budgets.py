"""Budgets on four replicas: 256 workers race for one amount while replicas, database and Redis fail.

Only output has a price and its bound is known, so that the worst-case cost of a call is known from outside.
"""

import collections
import time
from decimal import Decimal

import rig
import traffic
from measure import percentile
from replicas import leases, phantoms
from replicas.cluster import KNOWN, stop_load
from replicas.rounds import FAULTS, QUICK, Round
from spend import prices, workload
from spend.race import outcome
from usage import drained_rows

# Output tokens of a call at most.
LIMIT = 20
PRICE = {name: Decimal(0) for name in ["input_per_mtok", "cached_input_per_mtok", "cache_write_per_mtok", "cache_write_1h_per_mtok"]}
PRICE |= {"output_per_mtok": Decimal("62.5"), "reasoning_output_per_mtok": Decimal("62.5")}
WORST = int(LIMIT * PRICE["output_per_mtok"] * 1000)
BEHAVIOURS = ["max-tokens", "late-30-max-tokens"]
NAMES = [*FAULTS, *QUICK, "statements"]
MODELS = [f"{behaviour}@{name}" for name in NAMES for behaviour in BEHAVIOURS]
# Statements about leases per 1,000 calls far from the cap, at 400 calls per second; they depend on time, not on calls.
STATEMENTS, AT_CALLS_PER_SECOND = 10, 400


def run(app, cluster, options):
    amount = Decimal("0.5") if options.quick else Decimal(options.amount)
    app.check("replicas lease budgets", not leases.exist(cluster) and "there is no table budget_leases")
    for name, faults in (QUICK if options.quick else FAULTS).items():
        race(app, cluster, name, faults, amount, options)
        cluster.heal()


def publish(cluster, name, amount):
    """Creates prices and the budget; returns its path and the models."""
    path = f"/replicas/{name}"
    models = [f"{behaviour}@{name}" for behaviour in BEHAVIOURS]
    for model in models:
        answer = cluster.first.admin("PUT", f"/model-pricing/openai/{model}", json=prices.document(PRICE))
        assert answer.status_code in (200, 201), answer.text
    address = f"/budgets/{path.replace('/', '%2F')}/daily"
    answer = cluster.first.admin("PUT", address, json={"amount": float(amount), "on_tight": "refuse"})
    assert answer.status_code in (200, 201), answer.text
    time.sleep(KNOWN)
    return path, models


def plan_of(path, models, pause):
    def plan(chance, request_id):
        time.sleep(chance.uniform(0.3, 1.7) * pause)
        call = traffic.Call(request_id, chance.choice(workload.FORMATS), f"openai/{chance.choice(models)}", chance.random() < 0.5)
        call.max_tokens, call.extra = LIMIT, {"x-gateway-user-path": path}
        return call

    return plan


def race(app, cluster, name, faults, amount, options):
    path, models = publish(cluster, name, amount)
    match = Round(cluster, name, path, options.seed)
    loads = cluster.load(f"{options.seed}{name}", plan_of(path, models, options.pause))
    for load in loads:
        load.start()
    # The first fault hits the race itself, the others also the time at the cap.
    for fault in faults:
        time.sleep(match.chance.uniform(0.5, 1.5))
        fault(match)
    healed = time.monotonic()
    rig.eventually(lambda: all(is_refused(load, healed) for load in loads), 180, 0.1, "the end of the budget")
    time.sleep(0 if options.quick else 3)
    per_replica = [load.stop() for load in loads]
    judge(app, cluster, match, per_replica, int(amount * 10**9))


def is_refused(load, since):
    """Whether the budget has refused the last call of every worker, and nothing else was to blame for it."""
    last = [next((call for call in reversed(calls) if call.ended), None) for calls in load.calls]
    return all(call and call.started > since and call.status == 429 for call in last)


def judge(app, cluster, match, per_replica, amount):
    calls = [call for calls in per_replica for call in calls]
    name, path = match.name, match.path
    rows = drained_rows(cluster.first, sum(call.served for call in calls), path, patience=60)
    costs = collections.Counter()
    for row in rows:
        costs[row["request_id"]] += nanos(prices.usd(row["total_cost"]))
    lines, offset = cluster.lines(name), cluster.clock_offset()
    arrivals = {line["word"]: line["began_ms"] / 1000 + offset for line in lines}
    booked = sum(costs.values())
    billed = sum(nanos(sum(prices.cost(PRICE, prices.of_line(line)))) for line in lines)
    refused = [call for call in calls if phantoms.is_refusal(call)]
    found = phantoms.find(calls, costs, arrivals, match.strandings, amount, WORST)
    waits = sorted(call.ended - call.started for call in refused)
    app.note(
        f"{name}: {len(calls)} calls, {sum(call.served for call in calls)} served, {len(refused)} refused (p50 {percentile(waits, 0.5):.2f} s, "
        f"p99 {percentile(waits, 0.99):.2f} s), of ${amount / 1e9:g} booked ${booked / 1e9:.6f}, billed ${billed / 1e9:.6f}"
    )
    for status, output in match.drains:
        app.check(f"{name}: journal drain: {output}", status and f"it ended with {status}")
    app.check(f"{name}: the ledger does not exceed the budget", booked > amount and f"by ${(booked - amount) / 1e9:.6f}")
    app.check(f"{name}: the upstream's bill does not either", billed > amount and f"by ${(billed - amount) / 1e9:.6f}")
    left = amount - booked
    app.check(f"{name}: nothing is left that a call fits into", left >= WORST and f"${left / 1e9:.6f} of ${amount / 1e9:g}")
    app.check(f"{name}: phantom refusals: {len(found)} of {len(refused)}", *map(describe, found))
    app.check(f"{name}: other calls fail only while the database is away, or their replica is paused", *strange(calls, match))
    app.check(f"{name}: no call is booked twice, none that was answered is lost", *unaccounted(calls, rows))
    spent = nanos(prices.usd(workload.budgets(cluster.first)[path]["spent"]))
    app.check(f"{name}: the budget knows what was booked", spent != booked and f"{spent} and not {booked} nano-dollars")
    judge_strandings(app, match, per_replica)


def judge_strandings(app, match, per_replica):
    for stranding in match.strandings:
        if stranding.what == "SIGSTOP":
            continue
        most = leases.slice_of(per_replica[stranding.replica], stranding.begun, WORST)
        what = f"{match.name}: {stranding.what}: stranded ${stranding.stranded / 1e9:.6f} (one slice: ${most / 1e9:.6f})"
        what += f" for {stranding.ended - stranding.begun:.1f} s"
        left = stranding.remaining and f"the lease still has ${stranding.remaining / 1e9:.6f} although its journal is drained"
        app.check(what, stranding.stranded > most and "more than a slice", left)


def strange(calls, match):
    """Answers other than success and a refusal by the budget."""
    for call in calls:
        if not call.acknowledged or call.served or outcome(call) == "429 budget_exceeded":
            continue
        is_away = any(begun <= call.ended and call.started <= ended for begun, ended in match.outages)
        if not (is_away and call.status == 503):
            yield f"{outcome(call)} {call.error_text}: {call}"


def unaccounted(calls, rows):
    count = collections.Counter(row["request_id"] for row in rows)
    for call in calls:
        if count[call.request_id] > 1 or call.served and not count[call.request_id]:
            yield f"{count[call.request_id]} rows: {call}"


def statements(app, cluster, options):
    """Counts the statements about leases of calls that are far from the cap."""
    path, models = publish(cluster, "statements", Decimal(1_000_000))
    seconds = 4 if options.quick else 60
    loads = cluster.load(f"{options.seed}statements", plan_of(path, models, options.pause))
    for load in loads:
        load.start()
    time.sleep(2.0)
    before, made, begun = cluster.metric("gatehouse_budget_lease_statements_total"), sum(load.made() for load in loads), time.monotonic()
    time.sleep(seconds)
    number, made = cluster.metric("gatehouse_budget_lease_statements_total") - before, sum(load.made() for load in loads) - made
    rate = made / (time.monotonic() - begun)
    calls = stop_load(loads)
    each = 1000 * number / max(1, made)
    # A short run has the statements of the start.
    most = (4 if options.quick else 1) * STATEMENTS * max(1.0, AT_CALLS_PER_SECOND / rate)
    app.check("every call is served", *(f"{outcome(call)}: {call}" for call in calls if not call.served))
    app.check("the statements are counted", not number and "there were none, or the metric is missing")
    app.check_at_most(f"lease statements per 1,000 calls, booking apart, at {rate:.0f} calls/s", each, most)


def describe(call):
    return f"refused after {call.ended - call.started:.2f} s: {call}"


def nanos(amount):
    return int(amount * 10**9)
