"""Compares the metrics in the documentation with those of a gateway that has seen all kinds of calls."""

import re

import rig

METRIC = re.compile(r"\bgatehouse_[a-z_]+[a-z]\b")
# The name of a family has none of these.
SAMPLE_SUFFIX = re.compile(r"_(total|bucket|count|sum|info)$")

# The page with the table of all metrics.
TABLE = "operations.md"


def families(text):
    return {SAMPLE_SUFFIX.sub("", name) for name in METRIC.findall(text)}


def served(directory, upstream):
    """The families of a gateway after an answer, a failure and a rejection, with a budget, a guardrail and the cache."""
    settings = {"GATEWAY_EDITION": "enterprise", "BUDGETS": "/=monthly:500", "RESPONSE_CACHE_ENABLED": "true",
                "SEMANTIC_CACHE_ENABLED": "true",
                # Nothing listens there: its metrics are served all the same.
                "REDIS_URL": "redis://127.0.0.1:1/0"}
    gateway = rig.Gateway(directory, upstream, **settings)
    try:
        gateway.start(["openai/text", "openai/error-500"])
        gateway.admin("PUT", "/guardrails/personal", json={"type": "pii_redact"})
        workflow = {"name": "guarded", "workflow_payload": {"guardrails": ["personal"]}}
        assert gateway.admin("POST", "/workflows", json=workflow).status_code == 201
        limits = {"name": "limited", "rate_limits": {"requests_per_minute": 1}}
        key = gateway.admin("POST", "/auth-keys", json=limits).json()["key"]
        for model, caller in (("openai/text", key), ("openai/text", key), ("openai/error-500", rig.MASTER_KEY)):
            body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}
            gateway.http.post("/v1/chat/completions", json=body, headers=rig.bearer(caller))
        # The last receipts are counted a moment after their answers.
        wanted = "gatehouse_request_failures"
        read = lambda: families(gateway.http.get("/metrics", headers=rig.bearer(rig.MASTER_KEY)).text)  # noqa: E731
        rig.eventually(lambda: wanted in read(), what=wanted)
        return read()
    finally:
        gateway.stop()


def problems(pages, directory, upstream):
    """By page, what is wrong with its metrics: names that no gateway serves, and served ones that the table lacks."""
    named = {page: families(page.read_text(encoding="utf-8")) for page in pages}
    found = served(directory, upstream)
    wrong = {page: [f"not at /metrics: {name}" for name in sorted(names - found)] for page, names in named.items()}
    for page in pages:
        if page.name == TABLE:
            wrong[page] += [f"not in the table: {name}" for name in sorted(found - named[page])]
    return wrong
