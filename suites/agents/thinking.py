"""Claude Code with a model alias, thinking and a tool call: later turns must contain the earlier thinking.

It drops the thinking blocks of turns whose `model` is not the one it requested. Anthropic, and therefore the scripted
upstream, rejects tool results if the thinking before their calls is missing.
"""

import json

from agents.vendors import VENDORS
from agents.programs import ClaudeCode
from agents.run import Run, ask
from agents.tasks import TASKS

ALIAS = "heron-model"
BUDGET = {"MAX_THINKING_TOKENS": "4000"}


def names():
    vendor = VENDORS[0]
    return {"thinking": f"{vendor.name}/{vendor.model}", "thinking-alias": ALIAS}


def prepare(app):
    target = names()["thinking"]
    answer = app.gateway.admin("PUT", f"/aliases/{ALIAS}", json={"name": ALIAS, "target": target})
    assert answer.status_code in (200, 201), answer.text


def run(case, app):
    agent = ClaudeCode()
    run = Run(agent.name, VENDORS[0].name, case)
    workspace = app.workspace(f"{agent.name}-{case}", names()[case])
    app.upstream.http.post("/reset")
    run.judge(lambda: list(faults(agent, workspace, app, run)))
    run.calls = len(app.upstream.bill())
    return run


def faults(agent, workspace, app, run):
    task = TASKS[1]
    answer = ask(agent, workspace, app, task.prompt, run, environment=BUDGET)
    yield from task.faults(answer, workspace.project)
    yield from thoughtless(app, "the turn with the result")
    # A new process only knows the earlier turns from its transcript.
    app.upstream.http.post("/reset")
    answer = ask(agent, workspace, app, TASKS[0].prompt, run, more=["--continue"], environment=BUDGET)
    yield from thoughtless(app, "the turn after a restart")


def read(body):
    return json.loads(body) if isinstance(body, str) else body


def thoughtless(app, which):
    """Yields turns of the last request without thinking. The upstream thinks before every call."""
    bodies = [read(request["body"]) for request in app.upstream.requests()]
    bodies = [body for body in bodies if "messages" in body]
    turns = [turn for turn in bodies[-1]["messages"] if turn["role"] == "assistant"] if bodies else []
    if bodies and bodies[-1].get("thinking", {}).get("type") not in ("enabled", "adaptive"):
        yield f"{which}: it does not think: {bodies[-1].get('thinking')}"
    if not turns:
        yield f"{which}: no request holds an earlier turn"
    for turn in turns:
        kinds = [block["type"] for block in turn["content"]]
        if kinds[0] not in ("thinking", "redacted_thinking"):
            yield f"{which}: a turn of {kinds} has lost its thinking"
