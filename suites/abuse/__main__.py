"""Hostile clients and slow readers: checks that CPU, memory and latency stay bounded during an attack."""

import sys

from abuse import bodies, connections, readers, records, tenants, upstreams
from harness import Suite

# One module per group of cases; each has a list `CASES`.
GROUPS = [connections, readers, upstreams, bodies, records, tenants]


def main():
    suite = Suite("abuse", __doc__, quick="smaller attacks, in about two minutes", only="cases whose name contains this text")
    suite.parse()
    cases = [case for group in GROUPS for case in group.CASES if suite.selects(case.name)]
    suite.note(f"{len(cases)} cases")
    for case in cases:
        suite.run(case.name, case.act)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
