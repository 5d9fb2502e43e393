"""A coding agent with a small budget: the share of it that is spent before the first rejection."""

import random

import rig
from spend import workload

# US dollars per million tokens, like a large Anthropic model.
PRICE = {"input_per_mtok": 3, "output_per_mtok": 15, "cached_input_per_mtok": 0.3, "cache_write_per_mtok": 3.75}
MAX_TOKENS = 32_000
SYSTEM_TOKENS, RESULT_TOKENS = 12_000, 1_500
# Minimum share of the budget; a simulation of the same rules gave 65 % and 89 %.
LEAST_SHARE = {1: 0.6, 5: 0.85}
MOST_CALLS = 500


def run(gateway, upstream, options):
    put = gateway.admin("PUT", f"/model-pricing/anthropic%2F{workload.AGENT_MODEL}", json=PRICE)
    assert put.status_code in (200, 201), put.text
    checks = []
    for amount in LEAST_SHARE:
        path = f"/agent/{amount}"
        workload.budget(gateway, path, "daily", amount)
        calls, clamped, last = converse(gateway, path, random.Random(amount))
        share = workload.budgets(gateway)[path]["spent"] / amount
        print(f"spend: agent: {share:.1%} of ${amount} spent before the first refusal, {calls} calls, {clamped} of them clamped", flush=True)
        checks.append((f"agent: most of ${amount} is spent before the first refusal", [] if share >= LEAST_SHARE[amount] else [f"{share:.1%}"]))
        refused = last is not None and (last.status_code, last.json()["error"]["type"]) == (429, "rate_limit_error")
        checks.append((f"agent: ${amount} is not exceeded, and the refusal is a 429", [] if refused and share <= 1 else [f"{share:.1%}: {last and last.text}"]))
    return checks


def converse(gateway, path, chance):
    """A tool loop whose conversation grows with each turn."""
    system = [{"type": "text", "text": text(chance, SYSTEM_TOKENS), "cache_control": {"type": "ephemeral"}}]
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
    messages = [{"role": "user", "content": "Fix the failing test."}]
    clamped = 0
    for call in range(MOST_CALLS):
        body = {"model": f"anthropic/{workload.AGENT_MODEL}", "max_tokens": MAX_TOKENS, "system": system, "tools": tools, "messages": messages}
        answer = gateway.http.post("/v1/messages", headers={**rig.bearer(rig.MASTER_KEY), "x-gateway-user-path": path}, json=body)
        if answer.status_code != 200:
            return call, clamped, answer
        clamped += "x-gateway-max-tokens-clamped" in answer.headers
        messages.append({"role": "assistant", "content": answer.json()["content"]})
        messages.append({"role": "user", "content": text(chance, RESULT_TOKENS)})
    return MOST_CALLS, clamped, None


def text(chance, tokens):
    """Words of three letters: the upstream counts a word as a token, so a token has four bytes."""
    return " ".join("".join(chance.choices("abcdefgh", k=3)) for _ in range(tokens))
