"""The Helm chart: rendered by Helm's engine, checked against the schemas of the oldest and the newest Kubernetes."""

import json
import re

import helm_python
import kubernetes_validate
import yaml
from helm_python import Chart
from helm_python.chart import lint

import rig
from deploy import settings
from deploy.programs import DEPLOY

DIRECTORY = DEPLOY / "helm" / "gatehouse"
SECRET = {"existingSecret": "gatehouse"}
# Everything that can be turned on.
ALL = SECRET | {
    "config": {"providers": {"openai": {"api_key": "${OPENAI_API_KEY}"}}},
    "settings": {"LOG_FORMAT": "json", "LOGGING_ENABLED": True},
    "autoscaling": {"enabled": True},
    "ingress": {"enabled": True, "tlsSecret": "gateway-tls"},
    "networkPolicy": {"enabled": True, "from": [{"podSelector": {}}]},
    "serviceMonitor": {"enabled": True, "existingSecret": "metrics"},
    "imagePullSecrets": [{"name": "registry"}],
    "persistence": {"storageClassName": "fast"},
    "podAnnotations": {"a": "b"},
    "podLabels": {"c": "d"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "x", "operator": "Exists"}],
}
ONE = SECRET | {"storage": "sqlite", "replicaCount": 1, "podDisruptionBudget": {"enabled": False}}
REFUSED = {
    "without a secret": ({}, "existingSecret"),
    "three replicas on SQLite": (SECRET | {"storage": "sqlite"}, "sqlite"),
    "a misspelt value": (SECRET | {"replicas": 3}, "replicas"),
    "a monitor without its key": (SECRET | {"serviceMonitor": {"enabled": True}}, "existingSecret"),
}
# Defined by an operator, so Kubernetes has no schema.
WITHOUT_SCHEMA = {"ServiceMonitor"}


def run(app):
    report = lint(str(DIRECTORY), values=SECRET)
    app.check("lint", *[message["error"] for message in report["messages"] if message["severity"] > 1], *report["errors"])
    with Chart.load(str(DIRECTORY)) as chart:
        for what, (values, text) in REFUSED.items():
            app.check(f"refuses {what}", refusal_fault(chart, values, text))
        for what, values in (("default", SECRET), ("everything", ALL), ("SQLite", ONE)):
            objects = render(chart, values)
            app.check(f"{what}: {len(objects)} objects fit their schemas", *schema_faults(objects))
            check_pods(app, what, objects)
        everything = {item["kind"] for item in render(chart, ALL)}
    wanted = {"StatefulSet", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Service", "ConfigMap", "Ingress"}
    app.check("has all kinds of objects", *sorted(wanted - everything))
    app.check("creates no secret", "Secret" in everything and "it has one")
    check_values(app)


def refusal_fault(chart, values, text):
    try:
        chart.render(values=values, name="demo")
    except helm_python.HelmError as error:
        return None if text in str(error) else f"another error: {error}"
    return "it is accepted"


def render(chart, values):
    files = chart.render(values=values, name="demo")
    texts = [text for name, text in files.items() if not name.endswith("NOTES.txt")]
    return [item for text in texts for item in yaml.safe_load_all(text) if item]


def schema_faults(objects):
    oldest = re.search(r">=(\d+\.\d+)", yaml.safe_load((DIRECTORY / "Chart.yaml").read_text())["kubeVersion"])[1]
    for version in (oldest, kubernetes_validate.latest_version()):
        for item in objects:
            if item["kind"] in WITHOUT_SCHEMA:
                continue
            try:
                kubernetes_validate.validate(item, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{version} {item['kind']}: {'.'.join(map(str, error.path))}: {error.message}"


def check_pods(app, what, objects):
    pod = next(item for item in objects if item["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    container = pod["containers"][0]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    paths = [container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
    stop = sum(int(environment[name].removesuffix("s")) for name in ("SHUTDOWN_DELAY", "SHUTDOWN_GRACE"))
    rights = pod["securityContext"] | container["securityContext"]
    app.check(
        f"{what}: pods are probed, stop in time and have no rights",
        paths != ["/health", "/health", "/ready"] and f"probes: {paths}",
        pod["terminationGracePeriodSeconds"] < stop + 15 and "killed before the journal is drained",
        *[name for name in ("runAsNonRoot", "readOnlyRootFilesystem") if not rights[name]],
        rights["capabilities"]["drop"] != ["ALL"] and f"{rights['capabilities']}",
        [entry for entry in container["env"] if "KEY" in entry["name"]],
        *settings.unknown(environment),
    )


def check_values(app):
    """Every value is documented by a comment and has an entry in the schema."""
    text = (DIRECTORY / "values.yaml").read_text()
    values, schema = yaml.safe_load(text), json.loads((DIRECTORY / "values.schema.json").read_text())
    known = set(schema["properties"]) - {"global"}
    app.check("values.schema.json has every value", *sorted(known ^ set(values)))
    app.check("values.yaml has a comment on every value", *values_without_comment(text, schema))
    bare = re.sub(r" *#.*", "", text)
    app.check("a missing comment would be found", "service.port" not in values_without_comment(bare, schema) and "it is accepted")
    chart = yaml.safe_load((DIRECTORY / "Chart.yaml").read_text())
    version = re.search(r'^version = "(.+)"', (rig.ROOT / "Cargo.toml").read_text(), re.M)[1]
    app.check("has the version of the gateway", *[name for name in ("version", "appVersion") if chart[name] != version])


def values_without_comment(text, schema):
    """The values of the schema that have a comment neither on their line nor on the one above."""
    lines = [""] + text.splitlines()

    def search(node, schema, path):
        for key, value in node.value:
            above, own = lines[key.start_mark.line:][:2]
            if not above.startswith(" " * key.start_mark.column + "#") and " #" not in own:
                yield path + key.value
            # A value without a schema of its own, such as annotations, has one comment for all its keys.
            inner = schema["properties"][key.value]
            if "properties" in inner:
                yield from search(value, inner, f"{path}{key.value}.")

    return list(search(yaml.compose(text), schema, ""))
