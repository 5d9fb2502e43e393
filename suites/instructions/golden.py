"""The recorded figures of a build, and how new ones compare with them."""

import json
import mmap
import pathlib
import re
import subprocess

import rig

# Difference in either direction that is accepted, in percent.
TOLERANCE = 3.0
# System calls depend a little on timing: this difference per call is accepted in any case.
SYSTEM_CALLS_TOLERANCE = 0.5
# Calls that wait for others, and are fewer if there is nothing to wait for; they are printed, but not compared.
WAITS = {"epoll_wait", "futex", "clock_nanosleep"}
UPDATE = "make suite instructions ARGS=--update"


def profile():
    """The build that is measured: the directory of its binary, `debug` or `release`."""
    return pathlib.Path(rig.binary("gatehouse")).resolve().parent.name


def path():
    return pathlib.Path(__file__).parent / f"{profile()}.json"


def load():
    return json.loads(path().read_text()) if path().exists() else {"cases": {}}


def save(figures):
    """Records these figures; those of cases that were not measured stay."""
    cases = load()["cases"] | figures
    path().write_text(json.dumps(tools() | {"cases": cases}, indent=2) + "\n")


def tools():
    """The programs that the figures depend on."""
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True).stdout.strip()
    return {"compiler": compiler(), "valgrind": valgrind}


def compiler():
    """The version of rustc that compiled the binary."""
    with open(rig.binary("gatehouse"), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = re.search(rb"rustc version [^\0]{1,60}", data)
        return found.group().decode() if found else "unknown"


def percent(value, known):
    return 100.0 * (value - known) / known if known else 0.0


def faults(figure, known):
    """Why a case differs from its recorded figures, and what to do."""
    found = []
    new, old = figure.get("system_calls"), known.get("system_calls")
    if "instructions" in figure and "instructions" in known:
        found += instruction_faults(percent(figure["instructions"], known["instructions"]))
        # Those of concurrent calls depend on timing.
        found += system_call_faults(new, old) if new and old else []
    if new and old and "sched_yield" in new and "sched_yield" not in old:
        found.append(f"{new['sched_yield']:.2f} calls of sched_yield: threads contend for a lock")
    return found


def instruction_faults(difference):
    if difference > TOLERANCE:
        yield f"{difference:+.1f} % instructions. If the change is worth that, record it with: {update()}"
    if difference < -TOLERANCE:
        yield f"{difference:+.1f} % instructions: a gain. Record it with: {update()}"


def system_call_faults(new, old):
    new, old = ({name: count for name, count in calls.items() if name not in WAITS} for calls in (new, old))
    difference = sum(new.values()) - sum(old.values())
    if abs(difference) > max(SYSTEM_CALLS_TOLERANCE, sum(old.values()) * TOLERANCE / 100):
        yield f"{difference:+.2f} system calls ({changed(new, old)}). Record it with: {update()}"


def changed(new, old):
    """The system calls whose number differs, by name."""
    pairs = [(name, old.get(name, 0), new.get(name, 0)) for name in sorted(new.keys() | old.keys())]
    return ", ".join(f"{name} {before:.2f} → {after:.2f}" for name, before, after in pairs if abs(after - before) > 0.1)


def update():
    if profile() == "debug":
        return 'GATEHOUSE_BIN=$PWD/target/debug/gatehouse make suite instructions ARGS="--quick --update"'
    return UPDATE


def other_tools(known):
    """A note for every program that is not the one of the recorded figures."""
    return [f"recorded with {known[name]}, measured with {now}" for name, now in tools().items() if known.get(name, now) != now]
