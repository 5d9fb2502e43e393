"""One run of an agent: its environment, start and end, and the report."""

import dataclasses
import os
import signal
import subprocess
import threading
import time

import rig
from agents.programs import AgentError, Workspace, environment_of
from agents.vendors import VENDORS

PATIENCE = 60
# Agents restrict some operations below the system's temporary directory, so their homes are here. Their projects are
# not: agents would treat this repository as their own.
HOMES = rig.ROOT / ".cache" / "agents" / "homes"


class AgentsApp:
    """Shared state of all runs: the agents' commands, and a gateway with a provider of each format."""

    def __init__(self, app, commands, **settings):
        self.commands, self.directory = commands, app.directory
        self.upstream = app.upstream()
        settings |= {name: value for vendor in VENDORS for name, value in vendor.settings(self.upstream).items()}
        models = [f"{vendor.name}/{vendor.model}" for vendor in VENDORS]
        self.gateway = app.start_gateway(models=models, directory=app.directory / "gateway", **settings)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.gateway.port}"

    def workspace(self, name, model, **different):
        workspace = Workspace(HOMES / name, self.directory / name, self.address, rig.MASTER_KEY, model)
        workspace = dataclasses.replace(workspace, **different)
        rig.remove(workspace.home)
        workspace.home.mkdir(parents=True)
        workspace.project.mkdir()
        return workspace


@dataclasses.dataclass
class Run:
    agent: str
    upstream: str
    case: str
    seconds: float = 0.0
    calls: int = 0
    faults: list = dataclasses.field(default_factory=list)
    evidence: str = ""
    # Measured values for the report.
    figures: str = ""

    def cells(self):
        verdict = "FAIL" if self.faults else "pass"
        return [self.agent, self.upstream, self.case, verdict, f"{self.seconds:.1f}", str(self.calls), self.figures]

    def judge(self, check):
        """Adds the faults that `check` finds; an unreadable answer counts as one."""
        try:
            self.faults += check()
        except (AgentError, ValueError, LookupError, StopIteration) as fault:
            self.faults.append(f"{type(fault).__name__}: {fault}")


def start(agent, workspace, commands, prompt, *, more=(), environment=None):
    """Starts the agent's process; `more` are additional arguments."""
    arguments, own = agent.prepare(workspace)
    return subprocess.Popen(
        [commands / agent.command, *more, *arguments, prompt],
        cwd=workspace.project,
        env=environment_of(workspace, own | (environment or {}), commands),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process, run):
    """Waits for the process and its children to end and returns the output."""
    patience = threading.Timer(PATIENCE, end, [process])
    patience.start()
    begun = time.monotonic()
    output, errors = process.communicate()
    patience.cancel()
    end(process)
    seconds = time.monotonic() - begun
    run.seconds += seconds
    run.evidence = errors[-2000:] + output[-2000:]
    if seconds >= PATIENCE:
        raise AgentError(f"it did not end within {PATIENCE} s")
    return output, errors


def ask(agent, workspace, app, prompt, run, **different):
    """Runs the agent and returns its answer."""
    process = start(agent, workspace, app.commands, prompt, **different)
    output, errors = finish(process, run)
    if process.returncode:
        raise AgentError(f"it ended with {process.returncode}")
    return agent.answer(output, errors)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
