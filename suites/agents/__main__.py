"""Runs Claude Code, Codex, opencode, Gemini CLI and Qwen Code headless through the gateway: tasks on every upstream
format, a wrong key, thinking with a model alias, limits that a run fits into, and configuration by `gatehouse connect`."""

import pathlib
import subprocess
import sys

import rig
from agents import connect, limits, thinking, wrong_key
from agents.programs import AGENTS
from agents.run import HOMES, AgentsApp, Run, ask
from agents.tasks import TASKS
from agents.vendors import VENDORS, audit
from harness import Suite, print_table

CASES = ["tasks", "wrong-key", "thinking", "limits", "connect"]
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
    suite = Suite("agents", __doc__, quick="one upstream per agent, and no limits unless asked for")
    suite.add_argument("--only", action="append", choices=CASES, help="default: all")
    suite.add_argument("--agent", action="append", choices=[agent.name for agent in AGENTS], help="default: all")
    suite.add_argument("--upstream", action="append", choices=[vendor.name for vendor in VENDORS], help="default: all")
    options = suite.parse()
    if options.quick and (options.agent or options.upstream):
        suite.parser.error("--quick chooses the agents and their upstreams itself")
    commands = installed()
    suite.run("", lambda app: run(app, suite, commands))
    return suite.finish()


def run(test_app, suite, commands):
    app = AgentsApp(test_app, commands, **limits.settings())
    runs = []
    for run in plan(suite.options, app):
        print("  ".join(run.cells()), flush=True)
        suite.count(run.faults)
        runs.append(run)
    test_app.keep_files = any(run.faults for run in runs)
    report(runs)


def installed():
    """The directory of the agents' commands, which are installed on first use."""
    script = subprocess.run([rig.ROOT / "scripts" / "agents.sh"], stdout=subprocess.PIPE, text=True)
    if script.returncode:
        raise SystemExit("agents: the agents are not installed (see above)")
    return pathlib.Path(script.stdout.strip())


def plan(options, app):
    """Yields all runs, each executed on demand."""
    # Limits need two runs of every program.
    wanted = options.only or (CASES if not options.quick else [case for case in CASES if case != "limits"])
    if "tasks" in wanted:
        yield from tasks(options, app)
    pairs = list(programs(options))
    if "wrong-key" in wanted:
        yield from (wrong_key.run(agent, vendor, app) for agent, vendor in pairs)
    if "thinking" in wanted and any(agent.name == "claude-code" for agent, _ in pairs):
        thinking.prepare(app)
        yield from (thinking.run(case, app) for case in thinking.names())
    if "connect" in wanted:
        yield from (connect.run(agent, vendor, app) for agent, vendor in pairs)
    if "limits" in wanted:
        limits.prepare(app, VENDORS)
        yield from (limits.run(agent, vendor, app) for agent, vendor in pairs)


def tasks(options, app):
    for agent in AGENTS:
        for vendor in VENDORS:
            if options.quick:
                chosen = QUICK.get(agent.name) == vendor.name
            else:
                chosen = agent.name in (options.agent or [agent.name])
                chosen = chosen and vendor.name in (options.upstream or [vendor.name])
            if chosen:
                yield from (carry_out(agent, vendor, task, app) for task in TASKS)


def programs(options):
    for agent in AGENTS:
        upstream = PROGRAMS.get(agent.name)
        chosen = upstream and agent.name in (options.agent or [agent.name])
        if chosen:
            yield agent, next(vendor for vendor in VENDORS if vendor.name == upstream)


def carry_out(agent, vendor, task, app):
    run = Run(agent.name, vendor.name, task.name)
    workspace = app.workspace(f"{agent.name}-{vendor.name}-{task.name}", vendor.model)
    app.upstream.http.post("/reset")
    run.judge(lambda: list(task.faults(ask(agent, workspace, app, task.prompt, run), workspace.project)))
    lines = app.upstream.bill()
    run.calls = len(lines)
    run.faults += audit(vendor, lines, app.gateway)
    if run.calls < task.least_calls:
        run.faults.append(f"{run.calls} calls, at least {task.least_calls} are needed")
    if not any(task.prompt.split("\n")[0] in str(request) for request in app.upstream.requests()):
        run.faults.append("no upstream request holds the prompt")
    if not run.faults:
        rig.remove(workspace.home)
    return run


def report(runs):
    print()
    print_table(["agent", "upstream", "case", "result", "seconds", "calls", ""], [run.cells() for run in runs], right=False)
    failed = [run for run in runs if run.faults]
    for run in failed:
        print(f"\n{run.agent} on {run.upstream}, {run.case}:")
        print("\n".join(f"  {fault}" for fault in run.faults))
        print("\n".join(f"    | {line[:500]}" for line in run.evidence.splitlines()))
    if failed:
        print(f"\nagents: the homes of the agents stay in {HOMES}")


if __name__ == "__main__":
    sys.exit(main())
