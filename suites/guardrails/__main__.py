"""Measures the cost of guardrails: CPU per call, time to first byte of streams, webhooks that fail, and patterns.

Rounds with and without guardrails alternate in one gateway, so that a busy machine disturbs both alike. Whether a stream
is redacted like the whole text is proved by the tests of `crates/guardrails` and `crates/pipeline`.
"""

import sys

from guardrails import cpu, first_byte, patterns, webhooks
from harness import Case, Suite

CASES = [
    Case("first-byte", first_byte.run),
    Case("cpu", cpu.run),
    Case("cpu-before", cpu.run_before),
    Case("cpu-cache-hit", cpu.run_cache_hit),
    Case("webhooks", webhooks.run),
    Case("patterns", patterns.run),
]


def main():
    suite = Suite(
        "guardrails", __doc__, quick="few calls, and only limits that a slow machine keeps, too",
        only="cases whose name contains this text",
    )
    suite.add_argument("--rounds", type=int, help="rounds of the CPU measurement; default 12, quick 3")
    suite.add_argument("--calls", type=int, help="calls of each round; default 1000, quick 60")
    suite.add_argument("--before", metavar="BINARY", help="an older gateway that calls without guardrails are compared with")
    options = suite.parse()
    options.rounds = options.rounds or (3 if options.quick else 12)
    options.calls = options.calls or (60 if options.quick else 1000)
    for case in CASES:
        if suite.selects(case.name):
            suite.run(case.name, case.act)
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
