"""Counts the instructions and system calls of the gateway per call and compares them with the recorded figures.

Each figure is the difference of a long and a short run of sequential calls on one connection, divided by the difference
of their numbers of calls. It includes all threads and the booking of the calls in SQLite.
"""

import contextlib
import os
import shutil
import statistics
import sys
import time

from harness import Suite
from instructions import cases, golden, profile, runs
from instructions.bench import Bench
from instructions.tracers import InstructionCounter, SystemCallCounter
from instructions.upstream import LockstepUpstream

PROGRAMS = ("valgrind", "strace")
# A case that differs from its recorded figures is measured again, at most this often in all.
ATTEMPTS = 5
# System calls that are rarer than this per call are timers and other threads.
LEAST = 0.02
# The most instructions of a call with a token, by those of the same call with a key.
TOKEN_RATIO = 1.1


def main():
    suite = Suite(
        "instructions", __doc__, quick="one repeat, instructions only, without the cases that resemble others",
        only="cases whose name contains this text",
    )
    suite.add_argument("--repeats", type=int, help="default 5; quick, unless it updates: 1")
    suite.add_argument("--update", action="store_true", help="record the figures instead of comparing them")
    suite.add_argument("--profile", metavar="CASE", help="print the functions in which a case spends its instructions")
    options = suite.parse()
    options.repeats = options.repeats or (1 if options.quick and not options.update else 5)
    if missing := [program for program in PROGRAMS if not shutil.which(program)]:
        raise SystemExit(f"instructions: {', '.join(missing)} is missing; scripts/program.sh NAME installs it")
    if options.profile:
        case = next((case for case in cases.ALL if case.name == options.profile), None)
        if not case:
            raise SystemExit(f"instructions: unknown case; one of {', '.join(case.name for case in cases.ALL)}")
        suite.run("", lambda app: profile.print_profile(app, case))
        return suite.finish()
    # The runs of a busy machine could take too long to be booked together; all processes of the suite inherit this.
    with contextlib.suppress(PermissionError):
        os.nice(-10)
    chosen = [case for case in cases.ALL if suite.selects(case.name) and (case.quick or not options.quick)]
    suite.run("", lambda app: run(app, chosen, options))
    return suite.finish()


def run(app, chosen, options):
    known = golden.load()
    figures = measure(app, chosen, options, known)
    print_table(chosen, figures, known)
    print_system_calls(chosen, figures)
    note_cache_hit(app, figures)
    check_token(app, figures)
    if options.update:
        golden.save({name: recorded(figure) for name, figure in figures.items()})
        app.check(f"the figures are recorded in {golden.path().name}")
        return
    notes = golden.other_tools(known)
    for case in chosen:
        old = known["cases"].get(case.name)
        if not old:
            app.check(f"{case.name}: has recorded figures", f"none in {golden.path().name}: {golden.update()}")
            continue
        faults = golden.faults(figures[case.name], old)
        app.check(f"{case.name}: within {golden.TOLERANCE:g} % of the recorded figures", *faults, *(notes if faults else []))


def measure(app, chosen, options, known):
    """The figures of every case, by name. Cases with the same settings, guardrail and budget share a gateway."""
    figures = {case.name: {} for case in chosen}
    upstream = app.add(LockstepUpstream())
    # A gateway that accepts tokens is another one.
    shared = lambda case: (case.settings, case.guardrail, case.budget, case.key == "token")
    for settings in dict.fromkeys(shared(case) for case in chosen):
        group = [case for case in chosen if shared(case) == settings]
        bench = Bench(app, upstream, InstructionCounter, group[0])
        for case in [case for case in group if case.connections == 1]:
            figures[case.name] |= instructions(app, bench, case, options, known["cases"].get(case.name))
        bench.stop()
        if options.quick:
            continue
        bench = Bench(app, upstream, SystemCallCounter, group[0])
        for case in group:
            figures[case.name]["system_calls"] = system_calls(bench, case, options)
        bench.stop()
    return figures


def instructions(app, bench, case, options, known):
    """The median and the spread of the instructions per call."""
    begun = time.monotonic()
    short, long = case.calls(golden.profile())
    values = []
    for _ in range(ATTEMPTS):
        values += [cost["instructions"] for cost in runs.cost(bench, case, short, long, options.repeats)]
        figure = {"instructions": statistics.median(values), "spread": 100 * (max(values) - min(values)) / min(values)}
        if options.update or not known or not golden.faults(figure, known):
            break
    app.note(f"{case.name}: {figure['instructions']:.0f} instructions, {len(values)} repeats of {short} and {long} calls "
             f"in {time.monotonic() - begun:.0f} s, spread {figure['spread']:.2f} %")
    return figure


def system_calls(bench, case, options):
    """The median of the system calls per call, by name."""
    short, long = case.calls("release")
    costs = runs.cost(bench, case, short, long, options.repeats)
    names = sorted({name for cost in costs for name in cost})
    medians = {name: statistics.median(cost.get(name, 0.0) for cost in costs) for name in names}
    return {name: round(value, 3) for name, value in medians.items() if value >= LEAST}


def note_cache_hit(app, figures):
    """Compares a call that is answered from the cache with the same call that is not.

    The CPU time is checked by the suite `guardrails`. Here the system calls that a hit saves do not count, and valgrind
    hides the processor's instructions for SHA-256, with which the cache key is hashed.
    """
    hit, call = (figures.get(name, {}).get("instructions") for name in ("cached-chat-1k", "chat-1k"))
    if hit and call:
        app.note(f"a cache hit takes {hit / call:.2f} times the instructions of a call, without its system calls")


def check_token(app, figures):
    """A call with a token may cost a tenth more than one with a key: its signature is verified once."""
    token, key = (figures.get(name, {}).get("instructions") for name in ("chat-1k-token", "chat-1k"))
    if token and key:
        app.check_at_most("instructions of a call with a token, by those with a key", token / key, TOKEN_RATIO)


def recorded(figure):
    return {name: round(value) if name == "instructions" else value for name, value in figure.items() if name != "spread"}


def print_table(chosen, figures, known):
    print("\n| Case | Instructions per call | Recorded | Difference | Spread | System calls per call | sched_yield per call |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in chosen:
        figure, old = figures[case.name], known["cases"].get(case.name, {}).get("instructions")
        value, calls = figure.get("instructions"), figure.get("system_calls")
        cells = [
            case.name,
            f"{value:,.0f}" if value else "–",
            f"{old:,}" if old else "–",
            f"{golden.percent(value, old):+.2f} %" if value and old else "–",
            f"{figure['spread']:.2f} %" if value else "–",
            f"{sum(calls.values()):.2f}" if calls else "–",
            f"{calls.get('sched_yield', 0):.2f}" if calls else "–",
        ]
        print(f"| {' | '.join(cells)} |")
    print(flush=True)


def print_system_calls(chosen, figures):
    counted = {case.name: figures[case.name].get("system_calls") for case in chosen}
    if not all(counted.values()):
        return
    sums = {name: sum(calls.get(name, 0) for calls in counted.values()) for calls in counted.values() for name in calls}
    names = sorted(sums, key=sums.get, reverse=True)
    print(f"| System calls per call | {' | '.join(names)} |")
    print(f"|---|{'--:|' * len(names)}")
    for case, calls in counted.items():
        print(f"| {case} | {' | '.join(f'{calls.get(name, 0):.2f}' for name in names)} |")
    print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
