"""The gateway with every type of provider on one scripted upstream, and combos from model to model."""

import anthropic
import openai

import rig

# Type, path of the base URL, and prefix of the model names, by kind.
KINDS = {
    "openai": ("openai", "/v1", ""),
    "groq": ("groq", "/v1", ""),
    "prefill": ("anthropic", "/v1", ""),
    "claude": ("anthropic", "/v1", "claude-opus-4-8~"),
    "gemini": ("gemini", "/v1beta", ""),
}
# Failures per model, few enough to keep the circuit breaker closed.
FAULTS_PER_LANE = 5
LANES = 60
SILENCE_MS = 400


class ResumeApp:
    def __init__(self, app, **settings):
        self.upstream = app.upstream()
        self.gateway = app.start_gateway(**({"RESUME_STREAMS": "true"} | settings))
        self.combos = set()
        self.used = {}
        origin = self.upstream.url.removesuffix("/v1")
        for kind, (type_name, path, family) in KINDS.items():
            lanes = [f"requested-1-{lane}" for lane in range(LANES)] + [f"requested-2-{lane}" for lane in range(LANES)]
            models = [*lanes, "requested-3", "error-500", "error-429"]
            body = {
                "type": type_name,
                "api_key": rig.PROVIDER_KEY,
                "base_url": origin + path,
                "models": [family + model for model in models],
                "resilience": {"breaker_failures": 100, "idle_timeout_ms": SILENCE_MS},
            }
            answer = self.gateway.admin("PUT", f"/providers/{kind}", json=body)
            assert answer.status_code in (200, 201), answer.text
        url = f"http://127.0.0.1:{self.gateway.port}"
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key=rig.MASTER_KEY, max_retries=0, timeout=30)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key=rig.MASTER_KEY, max_retries=0, timeout=30)

    def selector(self, kind, model, fails=False):
        """The selector `kind/model`; a failing model is replaced before its breaker opens."""
        if fails:
            lane = self.used.get((kind, model), 0)
            self.used[kind, model] = lane + 1
            assert lane // FAULTS_PER_LANE < LANES, "not enough lanes for so many faults"
            model = f"{model}-{lane // FAULTS_PER_LANE}"
        return f"{kind}/{KINDS[kind][2]}{model}"

    def combo(self, *selectors):
        """The name of the combo with these selectors."""
        name = ":".join(selector.replace("/", ".").replace("~", "_") for selector in selectors)
        if name not in self.combos:
            body = {"name": name, "selectors": list(selectors)}
            answer = self.gateway.admin("POST", "/combos", json=body)
            assert answer.status_code == 201, answer.text
            self.combos.add(name)
        return name

    def rows(self):
        rows = {}
        for row in self.gateway.usage_rows():
            rows.setdefault(row["request_id"], []).append(row)
        return rows
