"""Runs every agent under limits that its run fits into: it must finish a tool round trip without waiting.

The same task is run twice: with a key without limits, and with one whose tokens per minute are 1.2 times the usage of
the first run, on a path with a daily budget of 5 dollars.
"""

import urllib.parse

import rig
from agents.run import Run, ask
from agents.tasks import TASKS

SHARE = 1.2
DOLLARS = 5
# Additional seconds the second run may take: program start times vary.
MOST_SECONDS_MORE = 5.0
PRICE = {"input_per_mtok": 3.0, "output_per_mtok": 15.0}


def settings():
    """Settings with the capability that budgets need."""
    return {"GATEWAY_CAPABILITIES": "advancedBudgets"}


def prepare(app, vendors):
    """Sets prices, without which budgets have no cost to count."""
    for vendor in vendors:
        path = f"/model-pricing/{vendor.name}/{vendor.model}"
        answer = app.gateway.admin("PUT", path, json=PRICE)
        assert answer.status_code in (200, 201), answer.text


def run(agent, vendor, app):
    run = Run(agent.name, vendor.name, "limits")
    run.judge(lambda: list(faults(agent, vendor, app, run)))
    return run


def faults(agent, vendor, app, run):
    free = RoundTrip(agent, vendor, app, "free", {}, run)
    yield from free.faults
    if free.faults or not free.tokens:
        yield f"the run without limits used {free.tokens} tokens"
        return
    limit = int(free.tokens * SHARE)
    path = f"/agents/{agent.name}/limited"
    budget = app.gateway.admin("PUT", f"/budgets/{urllib.parse.quote(path, safe='')}/daily", json={"amount": DOLLARS})
    assert budget.status_code in (200, 201), budget.text
    limited = RoundTrip(agent, vendor, app, "limited", {"tokens_per_minute": limit}, run)
    run.calls = len(limited.rows)
    run.figures = (
        f"{free.tokens} tokens in {free.seconds:.1f} s; {limited.tokens} of {limit} per minute in {limited.seconds:.1f} s"
    )
    yield from limited.faults
    refused = [row["status_code"] for row in limited.rows if row["status_code"] == 429]
    if refused:
        yield f"{len(refused)} of {len(limited.rows)} calls were refused with 429"
    if limited.seconds > free.seconds + MOST_SECONDS_MORE:
        yield f"it took {limited.seconds:.1f} s, and {free.seconds:.1f} s without limits"


class RoundTrip:
    """One run of the tool task with its own key."""

    def __init__(self, agent, vendor, app, name, limits, run):
        path = f"/agents/{agent.name}/{name}"
        body = {"name": f"{agent.name}-{name}", "user_path": path, "rate_limits": limits}
        created = app.gateway.admin("POST", "/auth-keys", json=body)
        assert created.status_code == 201, created.text
        workspace = app.workspace(f"{agent.name}-{name}", vendor.model, key=created.json()["key"], retries=True)
        app.upstream.http.post("/reset")
        before, task = run.seconds, TASKS[1]
        answer = ask(agent, workspace, app, task.prompt, run)
        self.seconds = run.seconds - before
        self.faults = list(task.faults(answer, workspace.project))
        finished = len([line for line in app.upstream.bill() if line["finished"]])
        self.rows = rig.eventually(lambda: booked(app.gateway, path, finished), what=f"{finished} rows of {path}")
        self.tokens = sum(row["input_tokens"] + row["output_tokens"] for row in self.rows)


def booked(gateway, path, least):
    rows = [row for row in gateway.usage_rows() if row["user_path"] == path]
    return rows if len([row for row in rows if row["status_code"] == 200]) >= least else None
