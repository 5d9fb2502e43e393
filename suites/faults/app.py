"""The processes and their configuration: faulty and healthy instances of three types, on one upstream."""

import json
import threading
import time
import urllib.parse

import httpx

import rig
from faults.clients import DIALECTS, Clients

TTFT = 1.0
IDLE = 1.0
# Total timeout of the faulty instances only, so that time is left for the healthy ones.
TOTAL_OF_BAD = 1.2
TOTAL = 3.0
BACKOFFS = 0.25 + 0.5

# Maximum number of rounds of a case if the machine was too busy.
ROUNDS = 3

# Provider type and path of its base URL.
KINDS = {"oa": ("openai", "/v1"), "an": ("anthropic", "/v1"), "ge": ("gemini", "/v1beta")}
# By the first word of an instance's name. Refused, dns and tls are unreachable; calm and good have no limits.
LIMITS = {
    "bad": {"total_timeout_ms": int(TOTAL_OF_BAD * 1000)},
    "fragile": {"breaker_open_ms": 1000, "max_retries": 0},
}

SETTINGS = {
    "CONNECT_TIMEOUT": "1s",
    "TTFT_TIMEOUT": f"{int(TTFT * 1000)}ms",
    "STREAM_IDLE_TIMEOUT": f"{int(IDLE * 1000)}ms",
    "REQUEST_TIMEOUT": f"{int(TOTAL * 1000)}ms",
    "STREAM_HEARTBEAT": "10s",
    "ALLOW_PRIVATE_UPSTREAMS": "true",
    "RETRY_MAX_RETRIES": "2",
    "RETRY_AFTER_MAX": "1s",
    "LOG_LEVEL": "warn",
}


class FaultsApp:
    def __init__(self, app):
        self.upstream = app.upstream()
        self.origin = self.upstream.url.removesuffix("/v1")
        self.local = threading.local()
        # Failed configuration calls.
        self.notes = []
        # The models of each instance, by gateway.
        self.configured = {}
        # One gateway that holds answers back for long, and one that hardly does, with short timeouts for slow clients.
        short = {"STREAM_HEARTBEAT": "200ms", "BODY_TIMEOUT": "1s", "HEADER_TIMEOUT": "1s"}
        settings = SETTINGS | {"SHUTDOWN_GRACE": "1s"}
        self.gateway = app.gateway(directory=app.directory / "gateway", **settings)
        self.impatient = app.gateway(directory=app.directory / "impatient", **(settings | short))

    def start(self, cases):
        self.write_rules(cases)
        for gateway in (self.gateway, self.impatient):
            # The impatient gateway closes idle connections, possibly just when one is reused.
            limits = httpx.Limits(max_keepalive_connections=0)
            url = f"http://127.0.0.1:{gateway.port}"
            gateway.http = httpx.Client(base_url=url, trust_env=False, timeout=30, limits=limits)
            gateway.start()
        self.clients = {id(gateway): Clients(gateway.port) for gateway in (self.gateway, self.impatient)}
        for gateway in (self.gateway, self.impatient):
            own = [case for case in cases if case.gateway_of(self) is gateway]
            self.configure(gateway, own)
            self.warm_up(gateway)

    def write_rules(self, cases):
        """Writes the rules for the cases whose fallback is a rule, not a combo."""
        for gateway in (self.gateway, self.impatient):
            rules = []
            for case in self.in_every_round([case for case in cases if case.gateway_of(self) is gateway]):
                if case.fallback and case.by_rule:
                    rules.append("=".join("/".join(case.target(side)) for side in ("bad", "good")))
            text = f"routing:\n  fallback_rules: {json.dumps(';'.join(rules))}\n"
            (gateway.directory / "gatehouse.yaml").write_text(text)

    def warm_up(self, gateway):
        """The SDKs create their types at the first call, which would be measured."""
        self.instance(gateway, "warm-oa", ["text@warm"])
        for dialect in DIALECTS:
            for stream in (False, True):
                received = self.call(gateway, dialect, "warm-oa/text@warm", stream, f"warm-{dialect}-{stream}")
                assert received.finished, received.short()
                self.call(gateway, dialect, "warm-oa/nothing", stream, f"warm-error-{dialect}-{stream}")

    def configure(self, gateway, cases):
        """Creates what these cases need in this round, besides what exists already."""
        known = self.configured.setdefault(id(gateway), {})
        wanted = [(instance, model) for case in cases for instance, model in case.models()]
        for instance in sorted({instance for instance, _ in wanted}):
            models = {model for name, model in wanted if name == instance} | known.get(instance, set())
            self.instance(gateway, instance, sorted(models), new=instance not in known)
            known[instance] = models
        wanted = {"/".join(target) for target in wanted}
        rig.eventually(lambda: wanted <= set(gateway.models()), what="the models of the instances")
        for case in cases:
            if case.fallback and not case.by_rule:
                self.combo(gateway, case)

    @staticmethod
    def in_every_round(cases):
        for case in cases:
            for case.round in range(ROUNDS):
                yield case
            case.round = 0

    def instance(self, gateway, name, models, new=True):
        side, kind = name.split("-")[:2]
        provider_type, path = KINDS[kind]
        base = {
            "refused": f"http://127.0.0.1:{rig.free_port()}{path}",
            "dns": f"http://no-such-host.invalid{path}",
            "tls": self.origin.replace("http:", "https:") + path,
        }.get(side, self.origin + path)
        # Discovery finds the upstream's own list; the models named here are added to it.
        body = {"name": name, "type": provider_type, "base_url": base, "api_key": rig.PROVIDER_KEY, "models": models}
        body["resilience"] = LIMITS.get(side, {})
        method, path = ("POST", "/providers") if new else ("PUT", f"/providers/{name}")
        answer = gateway.admin(method, path, json=body)
        assert answer.status_code in (200, 201), f"{method} {path}: {answer.status_code} {answer.text}"

    def combo(self, gateway, case):
        body = {"name": case.combo_name, "selectors": ["/".join(case.target(side)) for side in ("bad", "good")]}
        answer = gateway.admin("POST", "/combos", json=body)
        case.ready = answer.status_code == 201
        if not case.ready:
            self.note(f"POST /admin/api/v1/combos: {answer.status_code} {answer.text[:200]}")

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def call(self, gateway, dialect, model, stream, request_id, **options):
        return self.clients[id(gateway)].call(dialect, model, stream, request_id, **options)

    @property
    def http(self):
        """The upstream's HTTP client of this thread."""
        if not hasattr(self.local, "http"):
            self.local.http = httpx.Client(base_url=self.origin, trust_env=False, timeout=30)
        return self.local.http

    def calls(self, model):
        return self.http.get(f"/calls?model={model}").json()[urllib.parse.unquote(model)]

    def bill(self, model):
        return self.http.get(f"/bill?model={model}").json()

    def closed(self, model, within):
        """Seconds until every answer of this model was cancelled by its client; None if that takes too long."""
        begun = time.monotonic()
        while not all(line["cancelled"] for line in self.bill(model)):
            if time.monotonic() - begun > within:
                return None
            time.sleep(0.005)
        return time.monotonic() - begun

    def rows(self, gateway, wanted):
        """The usage rows of these requests, once all exist or three seconds have passed."""
        wanted, found = set(wanted), {}
        deadline = time.monotonic() + 3
        while True:
            found = {}
            for row in gateway.usage_rows():
                found.setdefault(row["request_id"], []).append(row)
            if wanted <= set(found) or time.monotonic() > deadline:
                return found
            time.sleep(0.2)
