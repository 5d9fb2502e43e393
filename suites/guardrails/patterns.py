"""The time of searches with patterns on 1 and 2 MiB, printed by the example `pattern_figures` of crates/guardrails."""

import pathlib
import re
import subprocess

import rig

UNITS = {"s": 1000.0, "ms": 1.0, "µs": 0.001}
TIME = r"([0-9.]+)(s|ms|µs)"
LINE = re.compile(rf"^(.+?) +{TIME} +{TIME} +{TIME} +([0-9.]+)$")
# Milliseconds for 1 MiB, and the ratio of 2 MiB to 1 MiB.
MOST_NESTED, MOST_PATTERNS, MOST_RATIO = 50, 250, 2.2
# Of as many runs the smallest times count.
RUNS = 3


def run(app):
    directory = pathlib.Path(rig.binary("gatehouse")).parent
    path = directory / "examples" / "pattern_figures"
    if app.quick or directory.name == "debug":
        app.suite.skip(app.name, "needs a release build; the tests `linear_time` of crates/guardrails hold the ratios in any build")
        return
    if not path.exists():
        raise SystemExit("pattern_figures is not built: cargo build --release -p guardrails --example pattern_figures")
    figures = {}
    for _ in range(RUNS):
        for name, single, double in measured(path):
            best = figures.setdefault(name, [single, double])
            best[:] = min(best[0], single), min(best[1], double)
    for name, (single, double) in figures.items():
        app.check_at_most(f"{name} on 1 MiB", single, MOST_NESTED if name.startswith("(a+)+$") else MOST_PATTERNS, " ms")
        app.check_at_most(f"{name}, 2 MiB to 1 MiB", double / single, MOST_RATIO, " ×")


def measured(path):
    """Names, and milliseconds for 1 and 2 MiB."""
    lines = subprocess.run([path], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    for line in lines:
        match = LINE.match(line)
        assert match, line
        name, _, _, single, unit, double, double_unit, _ = match.groups()
        yield name, float(single) * UNITS[unit], float(double) * UNITS[double_unit]
