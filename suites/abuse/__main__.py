"""Hostile clients and slow readers: checks that CPU, memory and latency stay bounded during an attack."""

import argparse
import sys
import traceback

from abuse import bodies, connections, readers, records, soak, upstreams
from abuse.stage import Stage

# One module per group of cases; each has a list `CASES`.
GROUPS = [connections, readers, upstreams, bodies, records, soak]


def main():
    parser = argparse.ArgumentParser(prog="abuse", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller attacks, in about two minutes")
    parser.add_argument("--only", action="append", help="cases whose name contains this text")
    options = parser.parse_args()
    cases = [case for group in GROUPS for case in group.CASES]
    chosen = [case for case in cases if not options.only or any(text in case.name for text in options.only)]
    print(f"abuse: {len(chosen)} cases", flush=True)
    passed = failed = 0
    for case in chosen:
        for what, wrong in run(case, options.quick):
            print(f"{'MISSED' if wrong else 'ok    '} {case.name}: {what}", flush=True)
            for detail in wrong[:6]:
                print(f"         {detail}"[:600], flush=True)
            passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run(case, quick):
    """Runs one case and returns its checks as (what, faults). A case that raises counts as one failed check."""
    stage = Stage(case.name, quick)
    broken = []
    try:
        case.attack(stage)
    except Exception:
        broken = traceback.format_exc().strip().splitlines()[-6:]
    finally:
        stage.close(keep_files=bool(broken or any(wrong for _, wrong in stage.checks)))
    return stage.checks + ([("ran to its end", broken)] if broken else [])


if __name__ == "__main__":
    sys.exit(main())
