"""The workload: healthy and faulty providers, their prices, and calls of every kind."""

import time

import rig
import traffic
from spend import prices

PATHS = ["/spend/one", "/spend/two/deep", "/spend/two"]
# All models that can complete a call, by provider.
OPENAI = ["text", "cached", "reasoning", "long-20", "drip-5", "every-5", "every-9-cut-mid-stream", "no-usage"]
ANTHROPIC = ["text", "cached", "long-20"]
# The model of `agent.py`.
AGENT_MODEL = "long-400"
BACKUP = ["text", "text@failing"]
PRICED = [f"openai/{m}" for m in OPENAI] + [f"anthropic/{m}" for m in ANTHROPIC] + [f"openai-backup/{m}" for m in BACKUP]
COMBOS = {
    "sometimes-failing": ["openai/every-5", "openai-backup/text"],
    "always-failing": ["openai/error-503@failing", "openai-backup/text@failing"],
}
FORMATS = ["chat", "responses", "messages"]
MIX = [*[f"openai/{model}" for model in OPENAI], *[f"anthropic/{model}" for model in ANTHROPIC], *COMBOS]


def settings(upstream, further):
    return {
        "OPENAI_MODELS": ",".join([*OPENAI, "error-503@failing", *further]),
        "OPENAI_BACKUP_MODELS": ",".join(BACKUP),
        "ANTHROPIC_API_KEY": rig.PROVIDER_KEY,
        "ANTHROPIC_BASE_URL": upstream.url,
        "ANTHROPIC_MODELS": ",".join([*ANTHROPIC, AGENT_MODEL]),
        "GATEWAY_EDITION": "enterprise",
    }


def plan(chance, request_id):
    leave = chance.randrange(5) if chance.random() < 0.06 else None
    call = traffic.Call(request_id, chance.choice(FORMATS), chance.choice(MIX), chance.random() < 0.5, leave)
    call.extra = {"x-gateway-user-path": chance.choice(PATHS)}
    return call


class Tariff:
    """The price of each selector, before and after its change."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.before = {selector: prices.price(number, 0) for number, selector in enumerate(PRICED)}
        self.after = {selector: prices.price(number, 1) for number, selector in enumerate(PRICED)}
        # Times of the request and of the response of the change.
        self.changed = {}

    def publish(self):
        for selector, made in self.before.items():
            self.put(selector, made)

    def change(self):
        for selector, made in self.after.items():
            asked = time.monotonic()
            self.put(selector, made)
            self.changed[selector] = (asked, time.monotonic())

    def put(self, selector, made):
        path = f"/model-pricing/{selector}"
        answer = self.gateway.admin("PUT", path, json=prices.document(made))
        assert answer.status_code in (200, 201), (path, answer.text)

    def possible(self, selector, call):
        """The prices a call may be charged: both, if it overlaps the change."""
        asked, answered = self.changed.get(selector, (float("inf"), float("inf")))
        found = []
        if call.started <= answered:
            found.append(self.before[selector])
        if call.ended >= asked:
            found.append(self.after[selector])
        return found


def configure(gateway):
    for name, selectors in COMBOS.items():
        answer = gateway.admin("POST", "/combos", json={"name": name, "selectors": selectors})
        assert answer.status_code in (200, 201), answer.text
    for path, period in [("/spend", "monthly"), ("/spend/two", "monthly")]:
        budget(gateway, path, period, 1_000_000)


def budget(gateway, path, period, amount):
    answer = gateway.admin("PUT", f"/budgets/{path.replace('/', '%2F')}/{period}", json={"amount": amount})
    assert answer.status_code in (200, 201), answer.text


def budgets(gateway):
    answer = gateway.admin("GET", "/budgets")
    assert answer.status_code == 200, answer.text
    return {entry["user_path"]: entry for entry in answer.json()["budgets"]}
