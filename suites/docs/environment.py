"""The environment of each page: settings, provider addresses, free ports, and which pages need PostgreSQL."""

import re

import rig

MODELS = {
    "OPENAI": "gpt-5,gpt-5-mini,gpt-4o,gpt-4o-mini,gpt-4.1",
    "ANTHROPIC": "claude-sonnet-4-5",
    "GEMINI": "gemini-2.5-pro",
    "AZURE": "gpt-4o-eu",
}
# Where a provider type's API is at the scripted upstream, if not below /v1.
PATHS = {"GEMINI": "/v1beta", "AZURE": ""}
# The ports that the pages print: the gateway's, and those of proxies. Each becomes a free one, so that two runs do not
# collide.
GATEWAY_PORTS = (8080, 4000)
PROXY_PORTS = (8443, 8444)
# Those of replicas, and of the Redis that they share.
REPLICA_PORTS = (8081, 8082, 8083, 6380)
POSTGRES_URL = "postgres://user:password@host/database"
# Nothing leaves this machine: https goes to a port where nobody listens.
ISOLATION = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}

# Pages about features of the enterprise edition that do not set it themselves.
ENTERPRISE = {"budgets.md"}
WITH_POSTGRES = {"operations.md", "backup.md", "three-replicas.md"}
# Pages that start their gateways themselves, in the background.
WITHOUT_GATEWAY = {"three-replicas.md"}
# Pages that configure their providers themselves: only addresses and models are given.
OWN_PROVIDERS = {
    "fallback.md": ("OPENAI_A", "OPENAI_B", "ANTHROPIC"),
    "team-budget.md": ("OPENAI",),
    "litellm.md": ("OPENAI", "AZURE_EU", "ANTHROPIC"),
}
# Variables that a page expects to be set already.
EXPECTED = {
    "litellm.md": {
        "LITELLM_MASTER_KEY": rig.MASTER_KEY,
        "OPENAI_API_KEY": rig.PROVIDER_KEY,
        "AZURE_EU_API_KEY": rig.PROVIDER_KEY,
        "ANTHROPIC_API_KEY": rig.PROVIDER_KEY,
    },
}


def providers(upstream):
    """The providers of most pages, at the scripted upstream, and the demo model."""
    settings = {"DEMO_ENABLED": "true"}
    for kind in ("OPENAI", "ANTHROPIC", "GEMINI"):
        settings[f"{kind}_API_KEY"] = rig.PROVIDER_KEY
        settings |= instance(kind, upstream)
    return settings


def instance(name, upstream):
    """The address and the models of one instance; `name` is the prefix of its variables."""
    kind = name.split("_")[0]
    base = upstream.url.removesuffix("/v1") + PATHS.get(kind, "/v1")
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
    return settings | EXPECTED.get(page.name, {}) | ISOLATION


class Substitutions:
    """What a page prints and this run uses instead."""

    def __init__(self, postgres_url=None):
        self.gateway_port = rig.free_port()
        self.ports = {port: self.gateway_port for port in GATEWAY_PORTS}
        self.ports |= {port: rig.free_port() for port in PROXY_PORTS + REPLICA_PORTS}
        self.postgres_url = postgres_url

    def apply(self, text):
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", str(free), text)
        if self.postgres_url:
            text = text.replace(POSTGRES_URL, self.postgres_url)
        return text
