"""Alert rules and the Grafana dashboard: their syntax, their metrics, and alerts that fire."""

import json
import pathlib
import re
import shutil

import yaml

import rig
from deploy.programs import DEPLOY, faults, find
from docs import metrics

RULES = DEPLOY / "prometheus" / "gatehouse-rules.yml"
DASHBOARD = DEPLOY / "grafana" / "gatehouse.json"
TESTS = pathlib.Path(__file__).parent / "rules_test.yml"
# Variables of Grafana in an expression.
VARIABLES = {"$__rate_interval": "5m", "$job": ".*", "$instance": ".*"}
DOCUMENTED = re.compile(r"^\| `(Gatehouse\w+)` \|", re.M)


def run(app):
    named = {name["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for name in group["rules"]}
    documented = set(DOCUMENTED.findall((rig.ROOT / "docs" / "alerts.md").read_text(encoding="utf-8")))
    app.check("docs/alerts.md explains every alert", *sorted(named ^ documented))
    served = metrics.served(app.directory / "metrics", app.upstream())
    for path in (RULES, DASHBOARD):
        unknown = metrics.families(path.read_text()) - served
        app.check(f"{path.name} names metrics of the gateway only", *sorted(unknown))
    if find(app, "promtool"):
        check_rules(app)
        check_dashboard(app)


def check_rules(app):
    directory = app.directory / "prometheus"
    shutil.copytree(RULES.parent, directory)
    (directory / "metrics.key").write_text("gk_…")
    app.check("configuration and rules", *faults("promtool", "check", "config", directory / "prometheus.yml"))
    shutil.copy(TESTS, directory)
    app.check("alerts fire when they should", *faults("promtool", "test", "rules", TESTS.name, cwd=directory))


def check_dashboard(app):
    """Every expression of the dashboard as a recording rule, so that promtool parses it."""
    panels = [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]
    ids = [panel["id"] for panel in panels]
    app.check("panels have titles, queries and ids", len(set(ids)) < len(ids) and "an id twice", *[
        f"panel {panel['id']}" for panel in panels if not panel["title"] or not panel["targets"]
    ])
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    for variable, value in VARIABLES.items():
        expressions = [expression.replace(variable, value) for expression in expressions]
    rules = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    path = app.directory / "panels.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    app.check(f"{len(expressions)} expressions of the dashboard", *faults("promtool", "check", "rules", path))
