"""Three providers on scripted upstreams, each a process that can be set to fail, stopped, frozen and restarted."""

import signal
import time

import rig

NAMES = ["one", "two", "three"]
# Different vendors, so that a failover also translates the call again.
KINDS = {"one": ("openai", "/v1"), "two": ("anthropic", "/v1"), "three": ("gemini", "/v1beta")}
MODELS = ["text", "long-20", "drip-5", "tools"]

STRATEGIES = ["round_robin", "weighted", "random", "least_loaded", "latency", "cost", "adaptive", "primary_fallback"]


class Provider(rig.Upstream):
    def __init__(self, name):
        self.name = name
        self.port = rig.free_port()
        super().__init__("--port", self.port)

    def finish(self):
        """Waits for all started answers to end: streams that break after content are not part of this suite."""
        rig.eventually(lambda: not self.calls_since_fault()[1], timeout=5, what=f"the end of {self.name}'s answers")
        time.sleep(0.1)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)


def configure(gateway, providers, open_ms, silence_ms):
    """Creates provider instances, a pool for each strategy, and combos that each begin with another provider."""
    for provider in providers:
        kind, path = KINDS[provider.name]
        body = {
            "type": kind,
            "api_key": rig.PROVIDER_KEY,
            "base_url": f"http://127.0.0.1:{provider.port}{path}",
            "models": MODELS,
            "resilience": {
                "breaker_open_ms": open_ms,
                "first_byte_timeout_ms": silence_ms,
                "total_timeout_ms": silence_ms,
            },
        }
        created(gateway.admin("PUT", f"/providers/{provider.name}", json=body))
    routes = {}
    for strategy in STRATEGIES:
        name = f"pool-{strategy.replace('_', '-')}"
        body = {"name": name, "members": NAMES, "strategy": strategy}
        if strategy == "weighted":
            body["weights"] = {"one": 3, "two": 2, "three": 1}
        created(gateway.admin("POST", "/pools", json=body))
        routes[name] = (strategy, {model: f"{name}/{model}" for model in MODELS})
    for turn, first in enumerate(NAMES):
        order = NAMES[turn:] + NAMES[:turn]
        names = {model: f"combo-{first}-{model}" for model in MODELS}
        for model, name in names.items():
            selectors = [f"{instance}/{model}" for instance in order]
            created(gateway.admin("POST", "/combos", json={"name": name, "selectors": selectors}))
        routes[f"combo-{first}"] = ("primary_fallback", names)
    return routes


def created(answer):
    assert answer.status_code in (200, 201), (answer.request.method, str(answer.request.url), answer.text)
