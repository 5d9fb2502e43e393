"""Claude Code, Codex and opencode, run without a terminal through the gateway against every upstream format."""

import argparse
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import rig
from agents.books import VENDORS, audit
from agents.programs import AGENTS, Misread, Seat, environment_of
from agents.tasks import TASKS

PATIENCE = 60
# Agents refuse some things below the system's temporary directory, so their homes are here. Their projects must not be:
# they would take this repository for theirs.
HOMES = rig.ROOT / ".cache" / "agents" / "homes"
# Each on a format that it does not speak itself, and every ingress once: opencode takes seconds to start.
QUICK = {
    "claude-code": "openai",
    "codex-sse": "gemini",
    "codex-ws": "anthropic",
    "opencode-chat": "gemini",
    "opencode-gemini": "anthropic",
}


@dataclasses.dataclass
class Run:
    agent: object
    vendor: object
    task: object
    seconds: float = 0.0
    calls: int = 0
    faults: list = dataclasses.field(default_factory=list)
    evidence: str = ""

    def cells(self):
        verdict = "FAIL" if self.faults else "pass"
        names = [self.agent.name, self.vendor.name, self.task.name]
        return [*names, verdict, f"{self.seconds:.1f}", str(self.calls)]


def main():
    parser = argparse.ArgumentParser(prog="agents", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one upstream per agent")
    parser.add_argument("--agent", action="append", choices=[agent.name for agent in AGENTS], help="default: all")
    parser.add_argument("--upstream", action="append", choices=[vendor.name for vendor in VENDORS], help="default: all")
    options = parser.parse_args()
    if options.quick and (options.agent or options.upstream):
        parser.error("--quick chooses the agents and their upstreams itself")
    commands = installed()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agents-"))
    upstream = rig.Upstream()
    settings = {name: value for vendor in VENDORS for name, value in vendor.settings(upstream).items()}
    gateway = rig.Gateway(directory / "gateway", **settings)
    try:
        gateway.start(models=[f"{vendor.name}/{vendor.model}" for vendor in VENDORS])
        runs = [carry_out(run, commands, directory, gateway, upstream) for run in plan(options)]
    finally:
        gateway.stop()
        upstream.stop()
    report(runs, directory)
    return 1 if any(run.faults for run in runs) else 0


def installed():
    """The directory of the agents' commands; the first time, they are fetched."""
    script = subprocess.run([rig.ROOT / "scripts" / "agents.sh"], stdout=subprocess.PIPE, text=True)
    if script.returncode:
        raise SystemExit("agents: the agents are not installed (see above)")
    return pathlib.Path(script.stdout.strip())


def plan(options):
    for agent in AGENTS:
        for vendor in VENDORS:
            if options.quick:
                chosen = QUICK.get(agent.name) == vendor.name
            else:
                chosen = agent.name in (options.agent or [agent.name])
                chosen = chosen and vendor.name in (options.upstream or [vendor.name])
            if chosen:
                yield from (Run(agent, vendor, task) for task in TASKS)


def carry_out(run, commands, directory, gateway, upstream):
    name = f"{run.agent.name}-{run.vendor.name}-{run.task.name}"
    seat = Seat(HOMES / name, directory / name, f"http://127.0.0.1:{gateway.port}", rig.MASTER_KEY, run.vendor.model)
    rig.remove(seat.home)
    seat.home.mkdir(parents=True)
    seat.project.mkdir()
    upstream.http.post("/reset")
    try:
        answer = ask(run, seat, commands)
        run.faults += run.task.faults(answer, seat.project)
    except (Misread, ValueError, LookupError) as fault:
        run.faults.append(f"{type(fault).__name__}: {fault}")
    lines = upstream.bill()
    run.calls = len(lines)
    run.faults += audit(run.vendor, lines, gateway)
    if run.calls < run.task.least_calls:
        run.faults.append(f"{run.calls} calls, at least {run.task.least_calls} are needed")
    if not any(run.task.prompt.split("\n")[0] in str(request) for request in upstream.requests()):
        run.faults.append("no upstream request holds the prompt")
    print("  ".join(run.cells()), flush=True)
    if not run.faults:
        rig.remove(seat.home)
    return run


def ask(run, seat, commands):
    """What the agent answered. It and all that it started are gone afterwards."""
    arguments, environment = run.agent.prepare(seat)
    process = subprocess.Popen(
        [commands / run.agent.command, *arguments, run.task.prompt],
        cwd=seat.project,
        env=environment_of(seat, environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    patience = threading.Timer(PATIENCE, end, [process])
    patience.start()
    begun = time.monotonic()
    output, errors = process.communicate()
    patience.cancel()
    end(process)
    run.seconds = time.monotonic() - begun
    run.evidence = errors[-2000:] + output[-2000:]
    if run.seconds >= PATIENCE:
        raise Misread(f"it did not end within {PATIENCE} s")
    if process.returncode:
        raise Misread(f"it ended with {process.returncode}")
    return run.agent.answer(output, errors)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def report(runs, directory):
    heads = ["agent", "upstream", "task", "result", "seconds", "calls"]
    rows = [heads, *(run.cells() for run in runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    failed = [run for run in runs if run.faults]
    for run in failed:
        print(f"\n{run.agent.name} on {run.vendor.name}, {run.task.name}:")
        print("\n".join(f"  {fault}" for fault in run.faults))
        print("\n".join(f"    | {line[:500]}" for line in run.evidence.splitlines()))
    if failed:
        print(f"\nagents: the gateway's log and the projects stay in {directory}, the homes in {HOMES}")
    else:
        rig.remove(directory)
    print(f"{len(runs) - len(failed)} passed, {len(failed)} failed")


if __name__ == "__main__":
    sys.exit(main())
