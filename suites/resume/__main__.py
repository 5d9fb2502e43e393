"""Interrupts streams at random offsets of their text; another model continues, and the client must see one unbroken
answer."""

import argparse
import collections
import concurrent.futures
import os
import random
import sys
import time

import rig
from resume import cases, clients
from resume.stage import Stage

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


def main():
    parser = argparse.ArgumentParser(prog="resume", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40 kills instead of 500")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seed", type=int, help="repeats the texts and offsets of a run; the quick form always has the same")
    options = parser.parse_args()
    options.kills = options.kills or (40 if options.quick else 500)
    if options.seed is None:
        options.seed = 7 if options.quick else random.randrange(2**32)
    print(f"resume: {options.kills} kills, seed {options.seed}", flush=True)
    few = max(6, options.kills // 12)
    on, off = Stage(), Stage(RESUME_STREAMS="false")
    failed = 1
    try:
        groups = play(on, "on", options, [
            ("kills", cases.kills, options.kills),
            ("calls cut in their arguments", cases.calls, 2 * few),
            ("who should go on cannot", cases.detours, few),
            ("nobody left", cases.hopeless, few),
            ("nobody dies", cases.untouched, few),
        ])
        groups += play(off, "off", options, [("resume is off", cases.hopeless, few)])
        passed, failed = report(groups)
    finally:
        on.stop(keep=failed)
        off.stop(keep=failed)
    if failed:
        print(f"resume: the gateways' files stay in {on.directory} and {off.directory}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def play(stage, name, options, wanted):
    stage.start()
    chance = random.Random(f"{options.seed}-{name}")
    groups = [(title, make(stage, chance, count)) for title, make, count in wanted]
    everything = [case for _, group in groups for case in group]
    begun = time.monotonic()

    def perform(case):
        order = case.saga.order()
        try:
            case.told = clients.listen(stage, case.client, case.model, order, case.request_id, bool(case.saga.calls))
            case.judge()
        except Exception as fault:
            case.faults.append(f"{type(fault).__name__}: {fault}")

    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(perform, everything))
    seconds = time.monotonic() - begun
    try:
        rig.eventually(lambda: stage.gateway.usage_log(limit=1)["total"] >= len(everything), what="the usage rows")
    except AssertionError as late:
        print(f"resume: {late}")
    rows = stage.rows()
    for case in everything:
        case.judge_row(rows.get(case.request_id, []))
    print(f"resume: {len(everything)} streams with resume {name} in {seconds:.0f} s", flush=True)
    return groups


def report(groups):
    passed = failed = 0
    for title, group in groups:
        wrong = [case for case in group if case.faults]
        whole = sum(bool(case.told and case.told.ends == 1 and not case.told.error) for case in group)
        doubled, lost = sum(case.doubled for case in group), sum(case.lost for case in group)
        print(
            f"{'MISSED' if wrong else 'ok    '} {title}: {len(group)} streams, {whole} told to their end,"
            f" {doubled} characters doubled, {lost} lost, {len(wrong)} wrong"
        )
        for case in wrong[:8]:
            print(f"         {case.name}: {case.faults[0][:700]}")
        if wrong:
            tell_apart(group, wrong)
        passed, failed = passed + (not wrong), failed + bool(wrong)
    return passed, failed


def tell_apart(group, wrong):
    """Prints the distribution of the failed cases."""
    views = {
        "client": lambda case: case.client,
        "first": lambda case: case.path[0],
        "then": lambda case: case.path[-1],
        "death": lambda case: case.saga.how.split("+")[0],
        "manner": lambda case: case.saga.manner_name,
    }
    for view, key in views.items():
        every, bad = collections.Counter(map(key, group)), collections.Counter(map(key, wrong))
        print(f"         by {view}: " + ", ".join(f"{name} {bad[name]}/{every[name]}" for name in sorted(every)))


if __name__ == "__main__":
    sys.exit(main())
