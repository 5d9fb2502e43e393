"""Runs Claude Code, Codex, opencode, Gemini CLI and Qwen Code headless through the gateway: tasks on every upstream
format, a wrong key, thinking with a model alias, and limits that a run fits into."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import rig
from agents import limits, thinking, wrong_key
from agents.books import VENDORS, audit
from agents.programs import AGENTS
from agents.running import HOMES, Run, Stage, ask
from agents.tasks import TASKS

CASES = ["tasks", "wrong-key", "thinking", "limits"]
# Each agent on a foreign upstream format, and every ingress once: opencode takes seconds to start.
QUICK = {
    "claude-code": "openai",
    "codex-sse": "gemini",
    "codex-ws": "anthropic",
    "opencode-chat": "gemini",
    "opencode-gemini": "anthropic",
    "gemini-cli": "openai",
    "qwen-code": "anthropic",
}
# The five programs, each on its native format, for the cases besides the tasks.
PROGRAMS = {
    "claude-code": "anthropic",
    "codex-sse": "openai",
    "opencode-chat": "openai",
    "gemini-cli": "gemini",
    "qwen-code": "openai",
}


def main():
    parser = argparse.ArgumentParser(prog="agents", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one upstream per agent, and no limits unless asked for")
    parser.add_argument("--only", action="append", choices=CASES, help="default: all")
    parser.add_argument("--agent", action="append", choices=[agent.name for agent in AGENTS], help="default: all")
    parser.add_argument("--upstream", action="append", choices=[vendor.name for vendor in VENDORS], help="default: all")
    options = parser.parse_args()
    if options.quick and (options.agent or options.upstream):
        parser.error("--quick chooses the agents and their upstreams itself")
    commands = installed()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="agents-"))
    upstream = rig.Upstream()
    settings = {name: value for vendor in VENDORS for name, value in vendor.settings(upstream).items()}
    gateway = rig.Gateway(directory / "gateway", **settings, **limits.settings())
    stage = Stage(commands, directory, gateway, upstream)
    runs = []
    try:
        gateway.start(models=[f"{vendor.name}/{vendor.model}" for vendor in VENDORS])
        for run in plan(options, stage):
            print("  ".join(run.cells()), flush=True)
            runs.append(run)
    finally:
        gateway.stop()
        upstream.stop()
    report(runs, directory)
    return 1 if any(run.faults for run in runs) else 0


def installed():
    """The directory of the agents' commands, which are installed on first use."""
    script = subprocess.run([rig.ROOT / "scripts" / "agents.sh"], stdout=subprocess.PIPE, text=True)
    if script.returncode:
        raise SystemExit("agents: the agents are not installed (see above)")
    return pathlib.Path(script.stdout.strip())


def plan(options, stage):
    """Yields all runs, each executed on demand."""
    # Limits need two runs of every program.
    wanted = options.only or (CASES if not options.quick else [case for case in CASES if case != "limits"])
    if "tasks" in wanted:
        yield from tasks(options, stage)
    pairs = list(programs(options))
    if "wrong-key" in wanted:
        yield from (wrong_key.run(agent, vendor, stage) for agent, vendor in pairs)
    if "thinking" in wanted and any(agent.name == "claude-code" for agent, _ in pairs):
        thinking.prepare(stage)
        yield from (thinking.run(case, stage) for case in thinking.names())
    if "limits" in wanted:
        limits.prepare(stage, VENDORS)
        yield from (limits.run(agent, vendor, stage) for agent, vendor in pairs)


def tasks(options, stage):
    for agent in AGENTS:
        for vendor in VENDORS:
            if options.quick:
                chosen = QUICK.get(agent.name) == vendor.name
            else:
                chosen = agent.name in (options.agent or [agent.name])
                chosen = chosen and vendor.name in (options.upstream or [vendor.name])
            if chosen:
                yield from (carry_out(agent, vendor, task, stage) for task in TASKS)


def programs(options):
    for agent in AGENTS:
        upstream = PROGRAMS.get(agent.name)
        chosen = upstream and agent.name in (options.agent or [agent.name])
        if chosen:
            yield agent, next(vendor for vendor in VENDORS if vendor.name == upstream)


def carry_out(agent, vendor, task, stage):
    run = Run(agent.name, vendor.name, task.name)
    seat = stage.seat(f"{agent.name}-{vendor.name}-{task.name}", vendor.model)
    stage.upstream.http.post("/reset")
    run.judge(lambda: list(task.faults(ask(agent, seat, stage, task.prompt, run), seat.project)))
    lines = stage.upstream.bill()
    run.calls = len(lines)
    run.faults += audit(vendor, lines, stage.gateway)
    if run.calls < task.least_calls:
        run.faults.append(f"{run.calls} calls, at least {task.least_calls} are needed")
    if not any(task.prompt.split("\n")[0] in str(request) for request in stage.upstream.requests()):
        run.faults.append("no upstream request holds the prompt")
    if not run.faults:
        rig.remove(seat.home)
    return run


def report(runs, directory):
    heads = ["agent", "upstream", "case", "result", "seconds", "calls", ""]
    rows = [heads, *(run.cells() for run in runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    failed = [run for run in runs if run.faults]
    for run in failed:
        print(f"\n{run.agent} on {run.upstream}, {run.case}:")
        print("\n".join(f"  {fault}" for fault in run.faults))
        print("\n".join(f"    | {line[:500]}" for line in run.evidence.splitlines()))
    if failed:
        print(f"\nagents: the gateway's log and the projects stay in {directory}, the homes in {HOMES}")
    else:
        rig.remove(directory)
    print(f"{len(runs) - len(failed)} passed, {len(failed)} failed")


if __name__ == "__main__":
    sys.exit(main())
