"""The CPU time of a replica per call: on a path with a budget, which is leased, and on one without."""

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
    address = f"/budgets/{LEASED.replace('/', '%2F')}/daily"
    for address, document in [(f"/model-pricing/{MODEL}", prices.document(PRICE)), (address, {"amount": AMOUNT})]:
        answer = replica.admin("PUT", address, json=document)
        assert answer.status_code in (200, 201), answer.text
    time.sleep(KNOWN)
    for path in (PLAIN, LEASED):
        make(replica, path, options.calls)
    rounds = []
    for number in range(options.rounds):
        # The order alternates: a background task of one round may end in the next one.
        order = (PLAIN, LEASED) if number % 2 == 0 else (LEASED, PLAIN)
        seconds = {path: make(replica, path, options.calls) for path in order}
        rounds.append((seconds[PLAIN], seconds[LEASED]))
    leased = replica.metrics()["gatehouse_budget_lease_granted_usd"]
    app.check("the budget is leased", leased <= 0 and "nothing is leased")
    report(app, "on a path with a leased budget", rounds, MOST_QUICK if app.quick else MOST)
