"""The tour: every route, every error that could quote a secret, every way in which a client can send one."""

import re

from canaries import secrets
from canaries.house import ADMIN, ENV, MODELS, YAML

BODIES = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hello"}]},
    "/v1/responses": {"input": "hello"},
    "/v1/messages": {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 100},
}


def furnish(house):
    """Creates providers, keys, budgets and webhooks through the admin API."""
    key = house.cage.add("key from the admin API", secrets.make("admin"))
    header = house.cage.add("header from the admin API", secrets.make("adminheader"))
    provider = {"type": "openai", "api_key": key, "base_url": house.upstreams[ADMIN].url, "models": MODELS, "headers": {"x-team-secret": header}}
    answer = house.admin("PUT", f"/providers/{ADMIN}", json=provider)
    assert answer.status_code in (200, 201), answer.text
    former = house.cage.add("former key from the admin API", secrets.make("former"))
    house.admin("PUT", f"/providers/{ADMIN}", json=provider | {"api_key": former})
    house.admin("PUT", f"/providers/{ADMIN}", json=provider)
    keys = {name: new_key(house, name) for name in ("managed key", "rotated key", "deactivated key", "deleted key")}
    rotated = house.admin("POST", f"/auth-keys/{keys['rotated key'][0]}/rotate", shows=("key after rotation",), json={"overlap_seconds": 60})
    if rotated is not None and rotated.status_code in (200, 201):
        house.cage.add("key after rotation", rotated.json()["key"])
    house.admin("POST", f"/auth-keys/{keys['deactivated key'][0]}/deactivate")
    house.admin("DELETE", f"/auth-keys/{keys['deleted key'][0]}")
    hook = house.cage.add("webhook secret", secrets.plain("webhook"))
    url = house.cage.add("password in the webhook's address", secrets.plain("hookpass"))
    address = house.sink.url.replace("http://", f"http://hook:{url}@")
    house.admin("PUT", "/budgets/settings", json={"thresholds": [0.5], "webhook_url": f"{house.sink.url}/hook", "webhook_secret": hook})
    house.admin("PUT", "/budgets/settings", json={"webhook_url": f"{address}/hook"})
    made = house.admin("PUT", "/budgets/settings", shows=("webhook secret of the gateway's making",), json={"webhook_url": f"{house.sink.url}/hook", "webhook_secret": None})
    if made.status_code == 200 and made.json().get("webhook_secret"):
        house.cage.add("webhook secret of the gateway's making", made.json()["webhook_secret"])
    # Exceeded by the first calls of the tour.
    house.admin("PUT", f"/model-pricing/{ENV}/text", json={"input_per_mtok": 1000, "output_per_mtok": 1000})
    house.admin("PUT", "/budgets/%2Fhook/daily", json={"amount": 1})
    for _ in range(40):
        house.ask("POST", "/v1/chat/completions", house.master, headers={"x-gateway-user-path": "/hook"}, json=BODIES["/v1/chat/completions"] | {"model": f"{ENV}/text", "max_tokens": 20})
    return keys


def new_key(house, name):
    answer = house.admin("POST", "/auth-keys", shows=(name,), json={"name": name, "scopes": ["inference", "admin:read"]})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    return made["id"], house.cage.add(name, made["key"])


def inference(house, key):
    """Every behaviour in every format, streamed and complete, with every provider, and through the passthrough."""
    for instance in (ENV, YAML, ADMIN, "far"):
        for model in MODELS if instance != "far" else ["text"]:
            for path, body in BODIES.items():
                for stream in (False, True):
                    house.ask("POST", path, key, json=body | {"model": f"{instance}/{model}", "stream": stream})
            for stream in (False, True):
                body = BODIES["/v1/chat/completions"] | {"model": model, "stream": stream}
                house.ask("POST", f"/p/{instance}/chat/completions", key, json=body)
                house.ask("POST", f"/p/{instance}/v1/responses", key, json={"model": model, "stream": stream, "input": "hello"})


def foreign(house, key):
    """The client's own secrets in headers and URLs, besides a valid key and instead of one."""
    for number, name in enumerate(["x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization", "x-auth-token"]):
        value = house.cage.add(f"client's {name}", secrets.plain(f"foreign{number}"))
        text = f"session={value}" if name == "cookie" else value
        body = BODIES["/v1/chat/completions"] | {"model": "text"}
        for path in (f"/p/{ENV}/chat/completions", f"/p/{YAML}/models"):
            house.ask("POST" if "chat" in path else "GET", path, key, headers={name: text}, json=body)
        house.ask("POST", "/v1/chat/completions", key, headers={name: text}, json=body | {"model": f"{ENV}/text"})
    query = house.cage.add("client's ?key=", secrets.plain("foreignquery"))
    house.ask("GET", f"/p/{ENV}/models?key={query}", key)
    house.ask("GET", f"/p/{YAML}/models?key={query}&limit=3", key)
    house.ask("GET", f"/v1/models?key={query}", key)
    wrong = house.cage.add("wrong key", secrets.plain("wrong"))
    for headers in ({"authorization": f"Bearer {wrong}"}, {"authorization": f"Basic {wrong}"}, {"authorization": wrong}, {"x-api-key": wrong}, {"api-key": wrong}, {"x-goog-api-key": wrong}):
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/messages"), ("GET", "/admin/api/v1/usage/log"), ("GET", f"/p/{ENV}/models"), ("GET", "/metrics")):
            house.ask(method, path, headers=headers)
    house.ask("GET", f"/v1/models?key={wrong}")
    house.ask("GET", f"/nowhere?key={wrong}")


def routes(house, ids):
    """Calls every path in the OpenAPI description: reads, and writes with invalid bodies that contain secrets."""
    described = house.admin("GET", "/openapi.json").json()
    for path, methods in described["paths"].items():
        filled = re.sub(r"\{\*?([a-z_]+)\}", lambda found: sample(path, found.group(1), ids), path)
        for method in methods:
            if method == "get":
                if "stream" not in filled:
                    house.ask("GET", filled, house.master)
                continue
            # Passthrough requests belong to the provider, and existing objects are kept.
            if filled.startswith("/p/") or method == "delete" and "sample" not in filled:
                continue
            # PUT merges the given members: for a provider in use these bodies would be valid.
            target = filled.replace(f"/providers/{ADMIN}", "/providers/sample") if method == "put" else filled
            for options in [{}, *bad_bodies(house)] if method != "delete" else [{}]:
                house.ask(method.upper(), target, house.master, **options)
    return len(described["paths"])


def bad_bodies(house):
    """Invalid bodies: members with sensitive names contain an unknown secret, all others one the gateway knows by
    value."""
    unknown = house.cage.values.get("secret in a wrong body") or house.cage.add("secret in a wrong body", secrets.make("misplaced"))
    known = house.cage.values["key from YAML"]
    named = ["api_key", "secret", "password", "webhook_secret", "client_secret", "access_token"]
    # Names are not treated as secrets.
    others = ["priority", "amount", "enabled", "rate_limits", "headers", "thresholds", "overlap_seconds", "confirmation", "zzz"]
    return [
        {"json": known},
        {"json": [known]},
        {"content": f'{{"api_key": "{known}"'.encode(), "headers": {"content-type": "application/json"}},
        {"content": f"api_key={known}".encode(), "headers": {"content-type": "application/x-www-form-urlencoded"}},
        *[{"json": {name: value}} for name in named for value in (unknown, [unknown], {"value": unknown})],
        *[{"json": {name: value}} for name in others for value in (known, [known], {"value": known})],
        *[{"json": {name: value}} for name in ("name", "model", "models") for value in ([{"value": known}], {"value": known})],
        {"json": {"headers": {"authorization": f"Bearer {unknown}", "x-api-key": unknown}}},
    ]


def sample(path, name, ids):
    for mark, value in (("auth-keys", ids["managed key"][0]), ("providers", ADMIN), ("budgets", "%2Fsample"), ("/p/", ENV)):
        if mark in path and name in ("id", "name", "user_path", "provider"):
            return value
    return {"period": "daily", "selector": f"{ENV}/text", "model": f"{ENV}/text"}.get(name, "sample")


def exports(house):
    """Exports and views of live state."""
    pages = ["/metrics", "/health", "/ready", "/", "/admin/dashboard", "/v1/models"]
    for page in pages:
        house.ask("GET", page, house.master)
    paths = ["/usage/log?limit=200", "/audit/log?limit=100&include_stats=true", "/audit/log/export?format=csv", "/audit/log/export?format=jsonl"]
    paths += ["/usage/log/export?format=csv", "/usage/export?format=csv", "/model-pricing/export", "/config/export", "/settings", "/changes?limit=200"]
    paths += ["/console/recent", "/providers", "/providers/status", "/auth-keys", "/budgets", "/budgets/settings", "/dashboard/config", "/models"]
    for path in paths:
        house.admin("GET", path)
    listed = house.admin("GET", "/audit/log?limit=100")
    for entry in (listed.json().get("entries", []) if listed.status_code == 200 else [])[:40]:
        house.admin("GET", f"/audit/log/{entry['id']}")
        house.admin("GET", f"/audit/conversation?log_id={entry['id']}")
    explained = {"method": "POST", "path": "/v1/chat/completions", "body": BODIES["/v1/chat/completions"] | {"model": f"{ADMIN}/text"}}
    house.admin("POST", "/explain", json=explained)
    for name in (ENV, YAML, ADMIN, "far"):
        house.admin("POST", f"/providers/{name}/test", json={})
        house.admin("POST", f"/providers/{name}/discover")
        house.admin("GET", f"/providers/{name}")


def prompts(house, key):
    """Checks that a known secret in a prompt is not stored with the body."""
    values = house.cage.values
    text = f"my key is {values['key from the environment']} and stays here"
    body = {"model": f"{ENV}/long-20", "messages": [{"role": "user", "content": text}]}
    house.ask("POST", "/v1/chat/completions", key, json=body)
