"""Four replicas with 64 workers each on one PostgreSQL and one Redis, under kills, pauses, restarts, flushes and freezes:
no budget is overspent, no call is refused while there is room, limits hold, and a revoked key is refused everywhere."""

import os
import random
import sys

from harness import Suite
from replicas import budgets, cpu, limits, revocation
from replicas.cluster import Cluster

PARTS = {
    "revocation": revocation.run,
    "statements": budgets.statements,
    "cpu": cpu.run,
    "budgets": budgets.run,
    "limits": limits.run,
}


def main():
    suite = Suite("replicas", __doc__, quick="smaller budgets, fewer faults and shorter stages, in about a minute")
    suite.add_argument("--only", choices=list(PARTS), action="append", help="default: all")
    suite.add_argument("--amount", default="4", help="amount of each budget in US dollars (default 4)")
    suite.add_argument("--pause", type=float, help="mean pause of a worker between calls in seconds (default 0.5, quick 1)")
    suite.add_argument("--rounds", type=int, help="interleaved rounds of the part cpu (default 20, quick 3)")
    suite.add_argument("--calls", type=int, help="calls of each round (default 1,000, quick 100)")
    suite.add_argument("--before", metavar="BINARY", help="an older gateway without leases, with which the part cpu compares (scripts/previous.sh)")
    suite.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = suite.parse()
    options.before = options.before or (None if options.quick else os.environ.get("GATEHOUSE_PREVIOUS_BIN"))
    options.pause = options.pause or (1.0 if options.quick else 0.5)
    options.rounds = options.rounds or (3 if options.quick else 20)
    options.calls = options.calls or (100 if options.quick else 1000)
    suite.note(f"seed {options.seed}")
    chosen = {name: part for name, part in PARTS.items() if suite.selects(name)}
    suite.run("", lambda app: run(app, chosen, options))
    return suite.finish()


def run(app, parts, options):
    """Runs all parts on one cluster; a part that raises does not end the others."""
    cluster = Cluster(app, ["text", *budgets.MODELS, *limits.MODELS])
    for name, part in parts.items():
        app.suite.run(name, lambda part_app: part(part_app, cluster, options))
        cluster.heal()
    app.keep_files = app.keep_files or bool(app.suite.failed)


if __name__ == "__main__":
    sys.exit(main())
