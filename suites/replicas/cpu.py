"""The CPU time of a replica per call on a path with a budget, which is leased: beside the same budget in an older gateway that
had no leases, which is judged, and beside a path without a budget."""

import statistics
import time

from guardrails.cpu import MODEL, make, report
from replicas.budgets import PRICE
from replicas.cluster import KNOWN
from spend import prices

PLAIN, LEASED = "/replicas-cpu/plain", "/replicas-cpu/leased"
AMOUNT = 1_000_000
MOST, MOST_QUICK = 1.05, 6.0


def run(app, cluster, options):
    """Compares calls of 1 KB in one replica, in interleaved rounds. The other replicas are idle."""
    replica = cluster.first
    set_budget(replica)
    rounds = alternate(options, lambda: make(replica, PLAIN, options.calls), lambda: make(replica, LEASED, options.calls))
    leased = replica.metrics()["gatehouse_budget_lease_granted_usd"]
    app.check("the budget is leased", leased <= 0 and "nothing is leased")
    if app.quick:
        report(app, "on a path with a leased budget, beside no budget", rounds, MOST_QUICK)
    else:
        app.note(beside_no_budget(rounds))
    if options.before:
        older = start_older(app, cluster, options.before)
        set_budget(older)
        rounds = alternate(options, lambda: make(older, LEASED, options.calls), lambda: make(replica, LEASED, options.calls))
        report(app, "with a leased budget, beside the same budget in the older gateway", rounds, MOST_QUICK if app.quick else MOST)
    else:
        app.suite.skip("cpu: beside an older gateway", "no older binary: --before")


def beside_no_budget(rounds):
    """What a budget costs at all is not bounded, only what leases add to it."""
    plain, leased = (1e6 * statistics.median(values) for values in zip(*rounds))
    ratio = statistics.median(after / before for before, after in rounds)
    return f"CPU of a call on a path with a leased budget, beside no budget: {leased:.1f} µs and {plain:.1f} µs, {ratio:.3f} × (not judged)"


def set_budget(gateway):
    address = f"/budgets/{LEASED.replace('/', '%2F')}/daily"
    for address, document in [(f"/model-pricing/{MODEL}", prices.document(PRICE)), (address, {"amount": AMOUNT})]:
        answer = gateway.admin("PUT", address, json=document)
        assert answer.status_code in (200, 201), answer.text
    time.sleep(KNOWN)


def start_older(app, cluster, binary):
    """An older gateway on a PostgreSQL of its own."""
    directory = app.directory / "older"
    directory.mkdir(mode=0o755)
    database = app.database("postgres")
    database.run("ALTER ROLE gatehouse SET synchronous_commit = on")
    settings = database.settings | {"GATEWAY_EDITION": "enterprise", "ENCRYPTION_KEY": "00" * 32, "OPENAI_MODELS": "text"}
    older = app.gateway(cluster.upstream, directory, **settings)
    older.executable = binary
    older.start(models=[MODEL])
    return older


def alternate(options, first, second):
    """The CPU seconds of both in each round. The order alternates: a background task of one may end in the other."""
    rounds = []
    for number in range(-1, options.rounds):
        order = (first, second) if number % 2 == 0 else (second, first)
        seconds = {measure: measure() for measure in order}
        # The round before the first one warms up.
        if number >= 0:
            rounds.append((seconds[first], seconds[second]))
    return rounds
