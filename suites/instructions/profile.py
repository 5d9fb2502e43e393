"""The functions in which a case spends its instructions.

Function names need a binary with symbols, which do not change its code; with line tables, callgrind_annotate and
kcachegrind can also show the source:
CARGO_PROFILE_RELEASE_DEBUG=line-tables-only make suite instructions ARGS="--profile chat-1k"
"""

import collections
import re

from instructions import golden, runs
from instructions.bench import Bench
from instructions.tracers import InstructionCounter
from instructions.upstream import LockstepUpstream

FUNCTIONS = 60
# `fn=(12) name` defines a function, `fn=(12)` refers to it; `cfn` is one that is called.
FUNCTION = re.compile(r"^(c?fn)=\((\d+)\)(?: (.*))?$")


def print_profile(app, case):
    """Prints the functions with the most instructions per call, with those that they call and without."""
    bench = Bench(app, app.add(LockstepUpstream()), InstructionCounter, case)
    short, long = case.calls(golden.profile())
    runs.cost(bench, case, short, long, 1)
    gateway = bench.gateway
    # The last two runs are a long and a short one.
    more, less = (functions(gateway.directory / f"callgrind.out.{gateway.dumps - back}") for back in (1, 0))
    bench.stop()
    for title, which in (("with the functions that they call (inclusive)", 0), ("without the functions that they call (self)", 1)):
        costs = {name: (cost - less[which][name]) / (long - short) for name, cost in more[which].items()}
        total = sum((more[1] - less[1]).values()) / (long - short)
        print(f"\n{case.name}: {total:,.0f} instructions per call, by function, {title}\n")
        for name in sorted(costs, key=costs.get, reverse=True)[:FUNCTIONS]:
            print(f"{costs[name]:>12,.0f}  {100 * costs[name] / total:5.1f} %  {name}")
    app.keep_files = True
    app.check(f"the profile has functions (callgrind file: {gateway.directory}/callgrind.out.{gateway.dumps - 1})", not more[1] and "none")


def functions(path):
    """Inclusive and self cost by function name. Instances of a generic function have one name."""
    names, inclusive, self_cost = {}, collections.Counter(), collections.Counter()
    caller = callee = None
    is_call = False
    with open(path) as lines:
        for line in lines:
            if match := FUNCTION.match(line):
                kind, number, name = match.groups()
                if name:
                    # The level of a recursion is appended as '2.
                    names[number] = re.sub(r"'\d+$", "", name)
                if kind == "fn":
                    caller = names[number]
                else:
                    callee = names[number]
            elif line.startswith("calls="):
                is_call = True
            elif line[:1] in "0123456789+-*":
                cost = int(line.split()[-1])
                if not is_call:
                    self_cost[caller] += cost
                if not is_call or callee != caller:
                    inclusive[caller] += cost
                is_call = False
    return inclusive, self_cost
