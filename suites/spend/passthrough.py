"""The passthrough: ambiguous models, clients that disconnect before the usage, background responses across restarts,
ownership."""

import json

import rig
from spend import workload

RESPONSES = "/p/openai/v1/responses"
CHAT = "/p/openai/v1/chat/completions"
PATH = "/passthrough"
# A pause before every event including the usage, which leaves time to disconnect before it.
DRIPPING = "drip-100"
MODELS = [DRIPPING]


def run(gateway, upstream, options):
    workload.budget(gateway, PATH, "daily", 1000)
    return [
        ("passthrough: a second model is refused", second_models(gateway, upstream)),
        ("passthrough: work that cannot be metered is refused where a budget applies", unmetered(gateway)),
        ("passthrough: a client that leaves before the usage owes the whole answer", leavers(gateway, upstream)),
        ("passthrough: background responses are booked after a stop and after a kill", background(gateway, upstream)),
        ("passthrough: another key cannot reach a response", ownership(gateway)),
    ]


def call(gateway, method, path, body=None, key=rig.MASTER_KEY, **headers):
    content = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
    headers = {**rig.bearer(key), "content-type": "application/json", **headers}
    return gateway.http.request(method, path, content=content, headers=headers)


def question(model, **more):
    return {"model": model, "messages": [{"role": "user", "content": "How are you?"}], **more}


def second_models(gateway, upstream):
    plain = '{"model":"text","messages":[{"role":"user","content":"hi"}],%s"model":"reasoning"}'
    hidden = '{"model":"text","messages":[{"role":"user","content":"hi"}],"MOD\\u0045L":"reasoning"}'
    bodies = [plain % "", plain.replace('"model":"reasoning"', '"model":' + " " * 20_000 + '"reasoning"') % "", hidden]
    before = len(upstream.bill())
    found = []
    for body in [*bodies, bodies[0].encode("utf-16-le")]:
        answer = call(gateway, "POST", CHAT, body, **{"x-gateway-user-path": PATH})
        if answer.status_code != 400:
            found.append(f"{answer.status_code} for {body[:60]!r}…")
    billed = len(upstream.bill()) - before
    return found + ([f"the upstream billed {billed} of them"] if billed else [])


def unmetered(gateway):
    found = []
    for path in ["batches", "fine_tuning/jobs", "messages/batches"]:
        answer = call(gateway, "POST", f"/p/openai/v1/{path}", {}, **{"x-gateway-user-path": PATH})
        if (answer.status_code, answer.json()["error"]["code"]) != (403, "unmetered_operation"):
            found.append(f"{path}: {answer.status_code} {answer.text}")
    return found


def leavers(gateway, upstream):
    found = []
    for number, path in enumerate([CHAT, "/v1/chat/completions"] * 3):
        model = DRIPPING if path == CHAT else f"openai/{DRIPPING}"
        request_id = f"leaver-{number}"
        body = question(model, stream=True, stream_options={"include_usage": True})
        headers = {**rig.bearer(rig.MASTER_KEY), "x-request-id": request_id}
        with gateway.http.stream("POST", path, json=body, headers=headers) as answer:
            for line in answer.iter_lines():
                if '"finish_reason":"' in line.replace(" ", ""):
                    break
        row = gateway.usage_row(request_id)
        line = upstream.line(row["provider_id"])
        if row["estimated"] or row["output_tokens"] != line["completion_tokens"]:
            found.append(f"{path}: booked {row['output_tokens']} tokens, billed {line['completion_tokens']}")
    return found


def background(gateway, upstream):
    found = []
    for end in ["nothing", "stop", "kill"]:
        ids = []
        for path, model in [(RESPONSES, "text"), ("/v1/responses", "openai/text")]:
            body = {"model": model, "input": "Take your time.", "background": True}
            answer = call(gateway, "POST", path, body)
            if answer.status_code != 200 or answer.json()["status"] != "queued":
                return [f"{path}: {answer.status_code} {answer.text}"]
            ids.append(answer.json()["id"])
        if end != "nothing":
            gateway.stop() if end == "stop" else gateway.kill()
            gateway.start()
        for id in ids:
            try:
                rows = rig.eventually(lambda: booked(gateway, id), 25, 0.2, f"the row of {id}")
            except AssertionError as missing:
                found.append(f"{end}: {missing}")
                continue
            line = upstream.line(id)
            if len(rows) != 1 or rows[0]["estimated"] or rows[0]["output_tokens"] != line["completion_tokens"]:
                found.append(f"{end}: {rows} is not {line}")
    return found


def booked(gateway, id):
    return [row for row in gateway.usage_rows() if row["provider_id"] == id and row["total_tokens"]]


def ownership(gateway):
    keys = [gateway.admin("POST", "/auth-keys", json={"name": name}).json()["key"] for name in ("one", "other")]
    made = call(gateway, "POST", RESPONSES, {"model": "text", "input": "hi"}, key=keys[0])
    if made.status_code != 200:
        return [f"{made.status_code} {made.text}"]
    id = made.json()["id"]
    next_turn = {"model": "text", "input": "and?", "previous_response_id": id}
    probes = [("GET", f"{RESPONSES}/{id}", None), ("POST", RESPONSES, next_turn), ("DELETE", f"{RESPONSES}/{id}", None)]
    found = []
    for key, expected in [(keys[1], 404), (keys[0], 200)]:
        for method, path, body in probes:
            answer = call(gateway, method, path, body, key=key)
            if answer.status_code != expected:
                found.append(f"{method} {path}: {answer.status_code} instead of {expected}")
    return found
