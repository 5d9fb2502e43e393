"""The surroundings of each page: providers, free ports, and PostgreSQL for the pages that need it."""

import re

import rig

MODELS = {
    "OPENAI": "gpt-5,gpt-5-mini,gpt-4o,gpt-4o-mini,gpt-4.1",
    "ANTHROPIC": "claude-sonnet-4-5",
    "GEMINI": "gemini-2.5-pro",
}
# The ports that the pages print. Each becomes a free one, so that two runs do not collide.
PORTS = (8080, 8443, 8444)
POSTGRES_URL = "postgres://user:password@host/database"
# Nothing leaves this machine: https goes to a port where nobody listens.
ISOLATION = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}

ENTERPRISE = {"budgets.md"}
WITH_POSTGRES = {"operations.md", "backup.md"}
# Pages that configure their providers themselves: only addresses and models are given.
OWN_PROVIDERS = {
    "fallback.md": ("OPENAI_A", "OPENAI_B", "ANTHROPIC"),
    "team-budget.md": ("OPENAI",),
}


def providers(upstream):
    """Every provider type of the pages, at the scripted upstream, and the demo model."""
    settings = {"DEMO_ENABLED": "true"}
    for kind in MODELS:
        settings[f"{kind}_API_KEY"] = rig.PROVIDER_KEY
        settings |= instance(kind, upstream)
    return settings


def instance(name, upstream):
    """The address and the models of one instance; `name` is the prefix of its variables."""
    kind = name.split("_")[0]
    base = upstream.url.removesuffix("/v1") + "/v1beta" if kind == "GEMINI" else upstream.url
    return {f"{name}_BASE_URL": base, f"{name}_MODELS": MODELS[kind]}


def settings_of(page, upstream):
    """The variables of the page's shell, which the gateway inherits."""
    if page.name in OWN_PROVIDERS:
        settings = {}
        for name in OWN_PROVIDERS[page.name]:
            settings |= instance(name, upstream)
    else:
        settings = providers(upstream)
    if page.name in ENTERPRISE:
        settings["GATEWAY_EDITION"] = "enterprise"
    return settings | ISOLATION


class Substitutions:
    """What a page prints and this run uses instead."""

    def __init__(self, postgres_url=None):
        self.ports = {port: rig.free_port() for port in PORTS}
        self.postgres_url = postgres_url

    def apply(self, text):
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", str(free), text)
        if self.postgres_url:
            text = text.replace(POSTGRES_URL, self.postgres_url)
        return text
