"""One upstream and one gateway with every type of provider, the SDK clients, and the accounting checks at the end."""

import dataclasses
import json
import threading
import uuid

import anthropic
import httpx
import httpx2
import openai
from google import genai

import rig
from compat.cells import BEHAVIOURS, PROVIDERS

DROPPED = "x-gateway-dropped-params"
JINA_MODELS = "jina-reranker-v3,jina-embeddings-v4"


@dataclasses.dataclass
class ReportedUsage:
    """The usage reported in an answer; None if its format does not report it."""

    input: int
    output: int
    cached: int | None = None
    written: int | None = None
    reasoning: int | None = None


class Call:
    """One request with a unique id, by which its headers, usage row and bill line are found."""

    def __init__(self, app, cell=None):
        self.app = app
        self.cell = cell
        self.id = f"compat-{uuid.uuid4().hex}"
        self.headers = {"X-Request-Id": self.id}

    @property
    def head(self):
        return self.app.heads[self.id]

    @property
    def dropped(self):
        return names_dropped(self.head)

    def note(self):
        """Records in the cell which parameters this call dropped."""
        if self.cell is not None:
            self.cell.dropped |= self.dropped

    def expect_usage(self, usage):
        """Registers the call for comparison with the upstream's bill and the gateway's row at the end."""
        self.note()
        self.app.expect(self, usage, estimated=False)

    def estimated(self):
        self.app.expect(self, None, estimated=True)

    def inspect(self, check):
        """Calls `check(row, line)` at the end."""
        self.app.inspections.append((self.app.current(), self, check))


def names_dropped(headers):
    return {name.strip() for name in headers.get(DROPPED, "").split(",") if name.strip()}


class CompatApp:
    def __init__(self, app):
        self.app = app
        self.upstream = app.upstream()
        self.origin = self.upstream.url.removesuffix("/v1")
        self.gateway = app.gateway(directory=app.directory / "gateway", **self.settings())
        self.heads = {}
        self.expectations = []
        self.inspections = []
        self.local = threading.local()
        self.others = 0
        # Figures that checks want to print.
        self.notes = []

    def settings(self, **more):
        """Settings with every type of provider, all on the one upstream."""
        settings = {}
        for provider in PROVIDERS:
            models = [f"{family.name}~{behaviour}" for family in provider.families for behaviour in BEHAVIOURS]
            models += provider.catalogued
            settings |= {
                f"{provider.variable}_API_KEY": rig.PROVIDER_KEY,
                f"{provider.variable}_BASE_URL": self.origin + provider.path,
                f"{provider.variable}_MODELS": ",".join(models),
            }
        settings |= {
            "JINA_API_KEY": rig.PROVIDER_KEY,
            # One attempt per call, so that each call can be compared with its bill line.
            "RETRY_MAX_RETRIES": "0",
            "JINA_BASE_URL": f"{self.origin}/v1",
            "JINA_MODELS": JINA_MODELS,
        }
        return settings | more

    def start(self):
        models = [f"{provider.instance}/{provider.families[0].name}~text" for provider in PROVIDERS]
        self.gateway.start(models=models)
        self.url = f"http://127.0.0.1:{self.gateway.port}"
        self.openai = self.openai_client()
        self.anthropic = self.anthropic_client()
        self.http = httpx.Client(
            base_url=self.url,
            headers=rig.bearer(rig.MASTER_KEY),
            trust_env=False,
            timeout=30,
            event_hooks={"response": [self.remember]},
        )
        self.google = google_client(self)
        return self

    def openai_client(self, key=rig.MASTER_KEY, url=None):
        hooks = {"response": [self.remember]}
        return openai.OpenAI(
            base_url=f"{url or self.url}/v1",
            api_key=key,
            max_retries=0,
            timeout=30,
            http_client=httpx2.Client(event_hooks=hooks, trust_env=False, timeout=30),
        )

    def anthropic_client(self, key=rig.MASTER_KEY, url=None):
        hooks = {"response": [self.remember]}
        return anthropic.Anthropic(
            base_url=url or self.url,
            api_key=key,
            max_retries=0,
            timeout=30,
            http_client=httpx2.Client(event_hooks=hooks, trust_env=False, timeout=30),
        )

    def another(self, **settings):
        """Starts a separate gateway for a check, on the same upstream."""
        self.others += 1
        directory = self.app.directory / f"gateway-{self.others}"
        models = ["openai/gpt-4.1~text", "anthropic/claude-sonnet-4-5~text"]
        return self.app.start_gateway(models=models, directory=directory, **self.settings(**settings))

    def key(self, name):
        """Creates a managed key."""
        answer = self.gateway.admin("POST", "/auth-keys", json={"name": f"{name}-{uuid.uuid4().hex[:8]}"})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["key"]

    def remember(self, response):
        if request_id := response.request.headers.get("x-request-id"):
            self.heads[request_id] = response.headers

    def call(self, cell=None):
        return Call(self, cell)

    def sent(self, marker):
        """The body of the single upstream request that contains this text."""
        [found] = [request["body"] for request in self.upstream.requests() if marker in request["body"]]
        return json.loads(found)

    def current(self):
        return getattr(self.local, "check", None)

    def expect(self, call, usage, estimated):
        self.expectations.append((self.current(), call, usage, estimated))

    def audit(self):
        """Yields (check, fault) for every call whose row, bill and answer disagree."""
        wanted = {call.id for _, call, _, _ in self.expectations} | {call.id for _, call, _ in self.inspections}
        rows = self.rows(wanted)
        bill = {line["id"]: line for line in self.upstream.bill()}
        for check, call, usage, estimated in self.expectations:
            if fault := disagreement(rows.get(call.id, []), bill, usage, estimated):
                yield check, f"{call.id}: {fault}"
        for check, call, inspect in self.inspections:
            found = rows.get(call.id, [])
            try:
                assert len(found) == 1, f"{len(found)} usage rows"
                inspect(found[0], bill.get(found[0]["provider_id"]))
            except Exception as error:
                yield check, f"{call.id}: {error!r}"

    def rows(self, wanted):
        def drained():
            rows = {}
            for row in self.gateway.usage_rows():
                rows.setdefault(row["request_id"], []).append(row)
            self.seen_rows = rows
            return wanted <= set(rows)

        try:
            rig.eventually(drained, timeout=5, pause=0.2, what="a usage row for every call")
        except AssertionError:
            pass  # Each missing row is reported with its call.
        return self.seen_rows


# Formats that report the reasoning part of the output.
REPORTS_REASONING = ("chat", "responses", "generate")


def disagreement(rows, bill, usage, estimated):
    if len(rows) != 1:
        return f"{len(rows)} usage rows"
    row = rows[0]
    if row["estimated"] is not estimated:
        return f"estimated is {row['estimated']} in {short(row)}"
    if estimated:
        return None
    line = bill.get(row["provider_id"])
    if line is None:
        return f"the bill has no line '{row['provider_id']}'"
    booked = {
        "input": row["input_tokens"],
        "cached": row["cached_input_tokens"],
        "written": row["cache_write_input_tokens"],
        "output": row["output_tokens"],
    }
    billed = {
        "input": line["prompt_tokens"],
        "cached": line["cached_tokens"],
        "written": line.get("cache_write_5m_tokens", 0) + line.get("cache_write_1h_tokens", 0),
        "output": line["completion_tokens"],
    }
    if line["dialect"] in REPORTS_REASONING:
        booked["reasoning"] = row["reasoning_tokens"]
        billed["reasoning"] = line["reasoning_tokens"]
    if booked != billed:
        return f"booked {booked}, billed {billed}"
    if usage is not None:
        reported = {name: value for name, value in dataclasses.asdict(usage).items() if value is not None}
        due = {name: billed.get(name) for name in reported if name in billed}
        if {name: reported[name] for name in due} != due:
            return f"the answer reports {reported}, billed {billed}"
    return None


def short(row):
    return json.dumps(
        {name: row[name] for name in ("endpoint", "model", "input_tokens", "output_tokens", "estimated")}
    )


def google_client(app):
    http = httpx.Client(trust_env=False, timeout=30, event_hooks={"response": [app.remember]})
    options = {"base_url": app.url, "api_version": "v1beta", "httpx_client": http}
    return genai.Client(api_key=rig.MASTER_KEY, http_options=options)
