"""Invalid requests: 400 with the field's path, before any provider is called. Invalid provider answers: 502."""

import anthropic
import openai

from compat import cells, chat, messages, responses
from compat.cells import PROMPT, PROVIDERS
from compat.opaque import cell_of
from compat.probes import raises

# Models that need a translation, by client format.
ELSEWHERE = {
    "chat": "anthropic/claude-sonnet-4-5",
    "responses": "gemini/gemini-3-pro",
    "messages": "openai/gpt-4.1",
}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}

TEXT = {"role": "user", "content": PROMPT}
LARGE = "A" * (7 * 1024 * 1024)

# Requests, and the path that the error must name.
WRONG = {
    "chat": [
        ({"messages": [TEXT, {"role": "robot", "content": "x"}]}, "messages[1].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "smell", "smell": "x"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {"messages": [TEXT, {"role": "tool", "tool_call_id": "nobody", "content": "x"}]},
            "messages[1].tool_call_id",
        ),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]},
            "messages[0].content[0].text",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}}],
                    }
                ]
            },
            "messages[0].content[0].image_url.url",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "see"},
                            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{LARGE}"}},
                        ],
                    }
                ]
            },
            "messages[0].content[1]",
        ),
        (
            {"messages": [TEXT], "tools": [{"type": "function", "function": {"parameters": {}}}]},
            "tools[0].function.name",
        ),
        ({"messages": [TEXT], "tool_choice": "sometimes"}, "tool_choice"),
        ({"messages": [TEXT], "temperature": 3}, "temperature"),
        ({"messages": []}, "messages"),
        ({}, "messages"),
        ({"messages": [TEXT], "max_tokens": 0}, "max_tokens"),
    ],
    "responses": [
        ({"input": [TEXT, {"role": "robot", "content": "x"}]}, "input[1].role"),
        ({"input": [{"role": "user", "content": [{"type": "smell", "smell": "x"}]}]}, "input[0].content[0].type"),
        (
            {"input": [TEXT, {"type": "function_call_output", "call_id": "nobody", "output": "x"}]},
            "input[1].call_id",
        ),
        ({"input": [{"type": "riddle"}]}, "input[0].type"),
        ({"input": 7}, "input"),
        ({"input": PROMPT, "tools": [{"type": "function", "parameters": {}}]}, "tools[0].name"),
        ({"input": PROMPT, "previous_response_id": 7}, "previous_response_id"),
        ({"input": PROMPT, "temperature": 3}, "temperature"),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,%%"}]}
                ]
            },
            "input[0].content[0].image_url",
        ),
    ],
    "messages": [
        ({"messages": [TEXT, {"role": "robot", "content": "x"}]}, "messages[1].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "smell", "smell": "x"}]}]},
            "messages[0].content[0].type",
        ),
        (
            {
                "messages": [
                    TEXT,
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "nobody", "content": "x"}],
                    },
                ]
            },
            "messages[1].content[0].tool_use_id",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "image",
                                "source": {"type": "base64", "media_type": "image/png", "data": "%%"},
                            }
                        ],
                    }
                ]
            },
            "messages[0].content[0].source.data",
        ),
        ({"messages": [TEXT], "max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [TEXT], "tools": [{"input_schema": {"type": "object"}}]}, "tools[0].name"),
    ],
}


def wrong(ingress):
    def check(app):
        faults = []
        for fields, path in WRONG[ingress]:
            body = {"model": f"{ELSEWHERE[ingress]}~text", "max_tokens": 64} | fields
            if ingress == "responses":
                del body["max_tokens"]
            call = app.call()
            answer = app.http.post(PATHS[ingress], json=body, headers=call.headers)
            if fault := refusal_fault(answer, ingress, path):
                faults.append(f"{path}: {fault}")
        assert not faults, "; ".join(faults)

    return check


def refusal_fault(answer, ingress, path):
    shown = answer.text[:300]
    if answer.status_code != 400:
        return f"{answer.status_code} {shown}"
    error = answer.json()["error"]
    if error["type"] != "invalid_request_error":
        return shown
    if ingress == "messages":
        return None if path in error["message"] else shown
    # An oversized image may be named as a whole or by the member that is too large.
    return (
        None if error["param"] == path or (path.endswith("]") and str(error["param"]).startswith(path)) else shown
    )


def malformed(app):
    """Checks that an unreadable provider answer is a provider error, not a client error."""
    faults = []
    for provider in PROVIDERS:
        for behaviour in ("html", "bad-json", "empty-body"):
            for ingress, ask, kind in (
                ("chat", chat.ask, openai.APIStatusError),
                ("responses", responses.ask, openai.APIStatusError),
                ("messages", messages.ask, anthropic.APIStatusError),
            ):
                for stream in (False, True):
                    # Two generations are used, because the circuit breaker opens after five consecutive failures of a
                    # model.
                    cell = cell_of(app, ingress, provider.instance, 0 if ingress == "responses" else 1)
                    name = f"{ingress} → {provider.instance} {behaviour} stream={stream}"
                    try:
                        error = raises(kind, lambda: ask(cell, behaviour, stream))
                    except Exception as other:
                        faults.append(f"{name}: {other!r}"[:200])
                        continue
                    body = error.body if isinstance(error.body, dict) else {}
                    code = body.get("code") or body.get("error", {}).get("type")
                    if error.status_code != 502 or code not in ("upstream_invalid_response", "api_error"):
                        faults.append(f"{name}: {error.status_code} {error.body}"[:200])
    assert not faults, f"{len(faults)}: " + "; ".join(faults[:6])


def strict_translation(app):
    gateway = app.another(STRICT_TRANSLATION="true")
    url = f"http://127.0.0.1:{gateway.port}"
    client, other = app.openai_client(url=url), app.anthropic_client(url=url)
    plain = client.chat.completions.create(model="anthropic/claude-sonnet-4-5~text", messages=chat.user())
    assert plain.choices[0].message.content == cells.GREETING
    refused = raises(
        openai.BadRequestError,
        lambda: client.chat.completions.create(
            model="anthropic/claude-sonnet-4-5~text", messages=chat.user(), seed=7
        ),
    )
    assert "seed" in str(refused.body), refused.body
    refused = raises(
        openai.BadRequestError,
        lambda: client.responses.create(model="gemini/gemini-3-pro~text", input=PROMPT, truncation="auto"),
    )
    assert "truncation" in str(refused.body), refused.body
    refused = raises(
        anthropic.BadRequestError,
        lambda: other.messages.create(
            model="openai/gpt-4.1~text", messages=[TEXT], max_tokens=64, extra_body={"top_k": 5}
        ),
    )
    assert "top_k" in str(refused.body), refused.body
    # A request in the provider's own format loses nothing.
    client.chat.completions.create(model="openai/gpt-4.1~text", messages=chat.user(), seed=7)


CHECKS = {
    "chat: 400 with the field's path": wrong("chat"),
    "responses: 400 with the field's path": wrong("responses"),
    "messages: 400 with the field's path": wrong("messages"),
    "a provider's malformed answer is 502": malformed,
    "STRICT_TRANSLATION rejects parameters that would be dropped": strict_translation,
}
