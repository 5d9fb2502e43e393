"""The functions in which a case spends its instructions, by callgrind_annotate.

Function names need a binary with symbols and line tables, which do not change its code:
CARGO_PROFILE_RELEASE_DEBUG=line-tables-only make suite instructions ARGS="--profile chat-1k"
"""

import re
import subprocess

from instructions import golden
from instructions.runs import Bench
from instructions.tracers import InstructionCounter
from instructions.upstream import LockstepUpstream

FUNCTIONS = 60
LINE = re.compile(r"^ *([\d,]+) \(\s*([\d.]+)%\)\s+(.*)$")


def print_profile(app, case):
    """Prints the functions with the most instructions, with those that they call and without."""
    bench = Bench(app, app.add(LockstepUpstream()), InstructionCounter, dict(case.settings))
    short, long = case.calls(golden.profile())
    bench.cost(case, short, long, 1)
    # The long run is first. Per call it includes a small share of the timers.
    dump = bench.gateway.directory / "callgrind.out.1"
    bench.stop()
    for title, option in (("with the functions that they call", "yes"), ("without the functions that they call", "no")):
        print(f"\n{case.name}: instructions per call of functions, {title}\n")
        for cost, share, name in functions(dump, option)[:FUNCTIONS]:
            print(f"{cost / long:>12,.0f}  {share:>6} %  {name}")
    app.check("the profile has functions")


def functions(dump, inclusive):
    command = ["callgrind_annotate", f"--inclusive={inclusive}", "--threshold=100", dump]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = []
    for line in text.splitlines():
        if match := LINE.match(line):
            cost, share, name = match.groups()
            # `file:function [object]`
            name = re.sub(r" \[[^\]]*\]$", "", name.strip())
            name = name.partition(":")[2] or name
            if "PROGRAM TOTALS" not in name:
                found.append((int(cost.replace(",", "")), share, name))
    return found
