"""Runs schemathesis over every operation of the OpenAPI document: no server error, only documented statuses, media types
and bodies; requests with valid parameters are accepted; without a credential and with a wrong one, every operation is refused. Event streams are tested apart."""

import json
import os
import pathlib
import re
import subprocess
import sys

import rig
from harness import Suite

# Event streams do not end, passthrough answers are the provider's own, and without users /auth/me is 503.
APART = r"/stream$|^/p/|/auth/me$"
CHECKS = [
    "internal_error",
    # Instead of positive_data_acceptance, which knows no rule beyond the schema.
    "valid_request_accepted",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
]
STREAMS = ["/admin/api/v1/console/stream", "/admin/api/v1/audit/log/stream"]
QUICK, FULL = 10, 100


def main():
    suite = Suite("schema", __doc__, quick=f"{QUICK} examples of each operation", only="only operations whose path contains TEXT")
    suite.add_argument("--examples", type=int, help=f"examples of each operation; default {FULL}")
    options = suite.parse()
    examples = options.examples or (QUICK if options.quick else FULL)
    suite.run("", lambda app: run(app, suite, examples))
    return suite.finish()


def run(app, suite, examples):
    gateway = app.start_gateway(
        GATEWAY_EDITION="enterprise",
        DEMO_ENABLED="true",
        LOGGING_ENABLED="true",
        RESPONSE_CACHE_ENABLED="true",
        CLI_TOOLS_APPLY_ENABLED="false",
    )
    document = gateway.admin("GET", "/openapi.json").json()
    file = app.directory / "openapi.json"
    file.write_text(json.dumps(document))
    operations = sum(len(item) for item in document["paths"].values())
    app.check(f"{operations} operations in version {document['info']['version']}", operations < 100 and "too few", document["info"]["version"] != "1.0" and "not 1.0")
    right = {"Authorization": f"Bearer {rig.MASTER_KEY}"}
    fuzz(app, suite, gateway, file, "with the right key", right, CHECKS, examples)
    # Refusals are the same for every body: a few examples are enough.
    few = max(1, examples // 10)
    wrong = {"Authorization": "Bearer gk_not_a_key"}
    fuzz(app, suite, gateway, file, "without a key", {}, ["refused"], few)
    fuzz(app, suite, gateway, file, "with a wrong key", wrong, ["refused"], few)
    for path in STREAMS:
        stream(app, gateway, path, right, wrong)


def fuzz(app, suite, gateway, file, what, headers, checks, examples):
    command = [pathlib.Path(sys.executable).parent / "schemathesis", "run", file, "--url", f"http://127.0.0.1:{gateway.port}"]
    command += ["--phases", "examples,fuzzing", "--max-examples", str(examples), "--checks", ",".join(checks)]
    command += ["--exclude-path-regex", APART, "--no-color", "--seed", "1", "--workers", "2", "--warnings", "off"]
    for text in suite.options.only or []:
        command += ["--include-path-regex", re.escape(text)]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": "schema.hooks"}
    if "refused" in checks:
        environment["EXPECT_REFUSAL"] = "1"
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    tested = re.search(r"Tested: (\d+)", done.stdout)
    log = app.directory / f"{what.replace(' ', '-')}.log"
    log.write_text(done.stdout + done.stderr)
    faults = [line for line in done.stdout.splitlines() if re.match(r"\s*(- ST|❌|____)", line)] if done.returncode else []
    if done.returncode and not faults:
        faults = (done.stdout + done.stderr).splitlines()[-8:]
    count = tested.group(1) if tested else "0"
    app.check(f"{what}: {count} operations, {examples} examples of each", *faults, count == "0" and "nothing was tested")


def stream(app, gateway, path, right, wrong):
    with gateway.http.stream("GET", path, headers=right) as answer:
        kind = answer.headers.get("content-type", "")
        first = next(answer.iter_bytes())
        faults = [answer.status_code != 200 and f"status {answer.status_code}", not kind.startswith("text/event-stream") and kind]
        faults.append(not first and "it begins with nothing")
    for headers in ({}, wrong):
        refused = gateway.http.get(path, headers=headers).status_code
        faults.append(refused != 401 and f"{refused} instead of 401")
    app.check(f"{path} is an event stream", *faults)


if __name__ == "__main__":
    sys.exit(main())
