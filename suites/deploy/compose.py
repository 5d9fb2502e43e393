"""compose.yaml: the Compose Specification, references to variables, and one volume per replica."""

import json
import re

import compose_spec
import yaml

from deploy import settings
from deploy.programs import DEPLOY

FILE = DEPLOY / "compose" / "compose.yaml"
VARIABLE = re.compile(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}")
GATEWAY = re.compile(r"gateway-\d")


def run(app):
    text = FILE.read_text()
    app.check("is refused without the secrets", *([] if unset(text, {}) else ["no variable is required"]))
    values = dict(line.split("=", 1) for line in example().splitlines() if "=" in line and not line.startswith("#"))
    app.check("every variable is in .env.example", *sorted({name for name, _, _ in VARIABLE.findall(text)} - set(values)))
    app.check("secrets are empty in .env.example", *[name for name, value in values.items() if value and name != "HTTP_PORT"])
    parsed = yaml.safe_load(VARIABLE.sub("value", text.replace("${HTTP_PORT:-8080}", "8080")))
    app.check("fits the Compose Specification", *specification_faults(parsed))
    wrong = json.loads(json.dumps(parsed).replace('"restart"', '"restarts"'))
    app.check("a misspelt member would be found", *([] if specification_faults(wrong) else ["it is accepted"]))
    check_replicas(app, parsed["services"])


def example():
    return (DEPLOY / "compose" / ".env.example").read_text()


def unset(text, values):
    return [name for name, operator, _ in VARIABLE.findall(text) if operator == ":?" and not values.get(name)]


def specification_faults(parsed):
    try:
        compose_spec.PyCompose.from_json(json.dumps(parsed)).validate()
    except ValueError as error:
        return [str(error)]
    return []


def check_replicas(app, services):
    gateways = {name: service for name, service in services.items() if GATEWAY.fullmatch(name)}
    volumes = {service["volumes"][0].split(":")[0] for service in gateways.values()}
    app.check(
        "each of the replicas has a volume of its own",
        len(volumes) != len(gateways) and f"{sorted(volumes)}", len(gateways) < 2 and "one replica",
    )
    caddyfile = (DEPLOY / "compose" / "Caddyfile").read_text()
    app.check("Caddy knows every replica", *[name for name in gateways if f"{name}:8080" not in caddyfile])
    named = {name for service in gateways.values() for name in service["environment"]}
    app.check("the gateway knows every setting", *settings.unknown(named))
