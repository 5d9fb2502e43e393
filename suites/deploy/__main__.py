"""Checks every file of deploy/ with the program that reads it: image, chart, unit, proxies, alerts, dashboard."""

import sys

from deploy import chart, compose, image, monitoring, proxies, unit
from harness import Case, Suite

CASES = [
    Case("compose", compose.run),
    Case("chart", chart.run),
    Case("unit", unit.run),
    Case("monitoring", monitoring.run),
    Case("nginx", proxies.run_nginx),
    Case("caddy", proxies.run_caddy),
    Case("image", image.run),
]


def main():
    quick = "without the sizes of the shipped binary and its image"
    suite = Suite("deploy", __doc__, quick=quick, only="cases whose name contains this text")
    suite.add_argument("--shipped", metavar="BINARY", help="the binary of `make release`, whose size and image are checked")
    suite.parse()
    for case in CASES:
        if suite.selects(case.name):
            suite.run(case.name, case.act)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
