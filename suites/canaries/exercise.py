"""Requests to every route, every error that could quote a secret, every way in which a client can send one."""

import re

from canaries import canary
from canaries.app import ADMIN, ENV, MODELS, YAML

BODIES = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hello"}]},
    "/v1/responses": {"input": "hello"},
    "/v1/messages": {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 100},
}


def configure(app):
    """Creates providers, keys, budgets and webhooks through the admin API."""
    key = app.scanner.add("key from the admin API", canary.make("admin"))
    header = app.scanner.add("header from the admin API", canary.make("adminheader"))
    provider = {"type": "openai", "api_key": key, "base_url": app.upstreams[ADMIN].url, "models": MODELS, "headers": {"x-team-secret": header}}
    answer = app.admin("PUT", f"/providers/{ADMIN}", json=provider)
    assert answer.status_code in (200, 201), answer.text
    former = app.scanner.add("former key from the admin API", canary.make("former"))
    app.admin("PUT", f"/providers/{ADMIN}", json=provider | {"api_key": former})
    app.admin("PUT", f"/providers/{ADMIN}", json=provider)
    keys = {name: new_key(app, name) for name in ("managed key", "rotated key", "deactivated key", "deleted key")}
    rotated = app.admin("POST", f"/auth-keys/{keys['rotated key'][0]}/rotate", shows=("key after rotation",), json={"overlap_seconds": 60})
    if rotated is not None and rotated.status_code in (200, 201):
        app.scanner.add("key after rotation", rotated.json()["key"])
    app.admin("POST", f"/auth-keys/{keys['deactivated key'][0]}/deactivate")
    app.admin("DELETE", f"/auth-keys/{keys['deleted key'][0]}")
    hook = app.scanner.add("webhook secret", canary.plain("webhook"))
    url = app.scanner.add("password in the webhook's address", canary.plain("hookpass"))
    address = app.sink.url.replace("http://", f"http://hook:{url}@")
    app.admin("PUT", "/budgets/settings", json={"thresholds": [0.5], "webhook_url": f"{app.sink.url}/hook", "webhook_secret": hook})
    app.admin("PUT", "/budgets/settings", json={"webhook_url": f"{address}/hook"})
    made = app.admin("PUT", "/budgets/settings", shows=("webhook secret of the gateway's making",), json={"webhook_url": f"{app.sink.url}/hook", "webhook_secret": None})
    if made.status_code == 200 and made.json().get("webhook_secret"):
        app.scanner.add("webhook secret of the gateway's making", made.json()["webhook_secret"])
    # Exceeded by the first calls below.
    app.admin("PUT", f"/model-pricing/{ENV}/text", json={"input_per_mtok": 1000, "output_per_mtok": 1000})
    app.admin("PUT", "/budgets/%2Fhook/daily", json={"amount": 1})
    for _ in range(40):
        app.ask("POST", "/v1/chat/completions", app.master, headers={"x-gateway-user-path": "/hook"}, json=BODIES["/v1/chat/completions"] | {"model": f"{ENV}/text", "max_tokens": 20})
    return keys


def new_key(app, name):
    answer = app.admin("POST", "/auth-keys", shows=(name,), json={"name": name, "scopes": ["inference", "admin:read"]})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    return made["id"], app.scanner.add(name, made["key"])


def inference(app, key):
    """Every behaviour in every format, streamed and complete, with every provider, and through the passthrough."""
    for instance in (ENV, YAML, ADMIN, "far"):
        for model in MODELS if instance != "far" else ["text"]:
            for path, body in BODIES.items():
                for stream in (False, True):
                    app.ask("POST", path, key, json=body | {"model": f"{instance}/{model}", "stream": stream})
            for stream in (False, True):
                body = BODIES["/v1/chat/completions"] | {"model": model, "stream": stream}
                app.ask("POST", f"/p/{instance}/chat/completions", key, json=body)
                app.ask("POST", f"/p/{instance}/v1/responses", key, json={"model": model, "stream": stream, "input": "hello"})


def foreign(app, key):
    """The client's own secrets in headers and URLs, besides a valid key and instead of one."""
    for number, name in enumerate(["x-api-key", "api-key", "x-goog-api-key", "cookie", "proxy-authorization", "x-auth-token"]):
        value = app.scanner.add(f"client's {name}", canary.plain(f"foreign{number}"))
        text = f"session={value}" if name == "cookie" else value
        body = BODIES["/v1/chat/completions"] | {"model": "text"}
        for path in (f"/p/{ENV}/chat/completions", f"/p/{YAML}/models"):
            app.ask("POST" if "chat" in path else "GET", path, key, headers={name: text}, json=body)
        app.ask("POST", "/v1/chat/completions", key, headers={name: text}, json=body | {"model": f"{ENV}/text"})
    query = app.scanner.add("client's ?key=", canary.plain("foreignquery"))
    app.ask("GET", f"/p/{ENV}/models?key={query}", key)
    app.ask("GET", f"/p/{YAML}/models?key={query}&limit=3", key)
    app.ask("GET", f"/v1/models?key={query}", key)
    wrong = app.scanner.add("wrong key", canary.plain("wrong"))
    for headers in ({"authorization": f"Bearer {wrong}"}, {"authorization": f"Basic {wrong}"}, {"authorization": wrong}, {"x-api-key": wrong}, {"api-key": wrong}, {"x-goog-api-key": wrong}):
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/messages"), ("GET", "/admin/api/v1/usage/log"), ("GET", f"/p/{ENV}/models"), ("GET", "/metrics")):
            app.ask(method, path, headers=headers)
    app.ask("GET", f"/v1/models?key={wrong}")
    app.ask("GET", f"/nowhere?key={wrong}")


def routes(app, ids):
    """Calls every path in the OpenAPI description: reads, and writes with invalid bodies that contain secrets."""
    described = app.admin("GET", "/openapi.json").json()
    for path, methods in described["paths"].items():
        filled = re.sub(r"\{\*?([a-z_]+)\}", lambda found: sample(path, found.group(1), ids), path)
        for method in methods:
            if method == "get":
                if "stream" not in filled:
                    app.ask("GET", filled, app.master)
                continue
            # Passthrough requests belong to the provider, and existing objects are kept.
            if filled.startswith("/p/") or method == "delete" and "sample" not in filled:
                continue
            # PUT merges the given members: for a provider in use these bodies would be valid.
            target = filled.replace(f"/providers/{ADMIN}", "/providers/sample") if method == "put" else filled
            for options in [{}, *bad_bodies(app)] if method != "delete" else [{}]:
                app.ask(method.upper(), target, app.master, **options)
    return len(described["paths"])


def bad_bodies(app):
    """Invalid bodies: members with sensitive names contain an unknown secret, all others one the gateway knows by
    value."""
    unknown = app.scanner.values.get("secret in a wrong body") or app.scanner.add("secret in a wrong body", canary.make("misplaced"))
    known = app.scanner.values["key from YAML"]
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


def exports(app):
    """Exports and views of live state."""
    pages = ["/metrics", "/health", "/ready", "/", "/admin/dashboard", "/v1/models"]
    for page in pages:
        app.ask("GET", page, app.master)
    paths = ["/usage/log?limit=200", "/audit/log?limit=100&include_stats=true", "/audit/log/export?format=csv", "/audit/log/export?format=jsonl"]
    paths += ["/usage/log/export?format=csv", "/usage/export?format=csv", "/model-pricing/export", "/config/export", "/settings", "/changes?limit=200"]
    paths += ["/console/recent", "/providers", "/providers/status", "/auth-keys", "/budgets", "/budgets/settings", "/dashboard/config", "/models"]
    for path in paths:
        app.admin("GET", path)
    listed = app.admin("GET", "/audit/log?limit=100")
    for entry in (listed.json().get("entries", []) if listed.status_code == 200 else [])[:40]:
        app.admin("GET", f"/audit/log/{entry['id']}")
        app.admin("GET", f"/audit/conversation?log_id={entry['id']}")
    explained = {"method": "POST", "path": "/v1/chat/completions", "body": BODIES["/v1/chat/completions"] | {"model": f"{ADMIN}/text"}}
    app.admin("POST", "/explain", json=explained)
    for name in (ENV, YAML, ADMIN, "far"):
        app.admin("POST", f"/providers/{name}/test", json={})
        app.admin("POST", f"/providers/{name}/discover")
        app.admin("GET", f"/providers/{name}")


def prompts(app, key):
    """Checks that a known secret in a prompt is not stored with the body."""
    values = app.scanner.values
    text = f"my key is {values['key from the environment']} and stays here"
    body = {"model": f"{ENV}/long-20", "messages": [{"role": "user", "content": text}]}
    app.ask("POST", "/v1/chat/completions", key, json=body)
