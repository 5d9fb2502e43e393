"""Responses over a WebSocket: the same events as text frames, and a conversation within the connection."""

import json

import websockets.exceptions
import websockets.sync.client

import rig
from compat.cells import GREETING, PROMPT
from compat.lifecycle import EVERYWHERE
from compat.responses import TERMINAL, TOOLS


def connect(app, key=rig.MASTER_KEY):
    url = f"ws://127.0.0.1:{app.gateway.port}/v1/responses"
    return websockets.sync.client.connect(url, additional_headers=rig.bearer(key), proxy=None, max_size=None)


def ask(socket, **request):
    """Sends one request and returns its events up to the last."""
    socket.send(json.dumps({"type": "response.create"} | request))
    events = []
    while not events or events[-1]["type"] not in (*TERMINAL, "error"):
        events.append(json.loads(socket.recv(timeout=20)))
    return events


def text_of(event):
    return "".join(
        part["text"]
        for item in event["response"]["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


def events(app):
    for model in EVERYWHERE:
        with connect(app) as socket:
            seen = ask(socket, model=f"{model}~text", input=PROMPT)
        kinds = [event["type"] for event in seen]
        assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == "response.completed", (
            kinds
        )
        numbers = [event["sequence_number"] for event in seen]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
        assert "".join(event.get("delta", "") for event in seen) == GREETING == text_of(seen[-1])


def conversation(app):
    """Continues a conversation within the connection although nothing is stored."""
    for model in EVERYWHERE:
        with connect(app) as socket:
            first = ask(socket, model=f"{model}~text", input="apples", store=False)[-1]["response"]
            second = ask(
                socket, model=f"{model}~echo", input="plums", store=False, previous_response_id=first["id"]
            )
        body = text_of(second[-1])
        assert -1 < body.find("You said: apples") < body.find("plums"), body
        with connect(app) as socket:
            lost = ask(socket, model=f"{model}~echo", input="plums", previous_response_id=first["id"])
        assert lost[-1]["type"] == "error" and lost[-1]["status"] == 404, lost
        assert lost[-1]["error"]["param"] == "previous_response_id", lost


def tool_loop(app):
    options = {
        "store": False,
        "tools": TOOLS,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
    }
    for model in ("anthropic/claude-opus-4-8", "gemini/gemini-3-pro", "openai/gpt-5-mini"):
        with connect(app) as socket:
            first = ask(socket, model=f"{model}~tools", input=PROMPT, **options)[-1]["response"]
            [call] = [item for item in first["output"] if item["type"] == "function_call"]
            result = {"type": "function_call_output", "call_id": call["call_id"], "output": "18 degrees"}
            second = ask(
                socket, model=f"{model}~tools", input=[result], previous_response_id=first["id"], **options
            )
        assert second[-1]["type"] == "response.completed", second[-1]
        assert text_of(second[-1]) == "The tools said: 18 degrees", second[-1]


def warm_up(app):
    model = "anthropic/claude-sonnet-4-5"
    with connect(app) as socket:
        warm = ask(socket, model=f"{model}~text", input="apples", generate=False)
        assert [event["type"] for event in warm] == ["response.created", "response.completed"], warm
        assert warm[-1]["response"]["output"] == []
        seen = ask(socket, model=f"{model}~echo", input="plums", previous_response_id=warm[-1]["response"]["id"])
    body = text_of(seen[-1])
    assert -1 < body.find("apples") < body.find("plums"), body


def error_frames(app):
    with connect(app) as socket:
        socket.send("{")
        broken = json.loads(socket.recv(timeout=10))
        assert (
            broken["type"] == "error" and broken["status"] == 400 and broken["error"]["code"] == "invalid_json"
        ), broken
        socket.send(json.dumps({"type": "session.update"}))
        strange = json.loads(socket.recv(timeout=10))
        assert strange["type"] == "error" and strange["error"]["param"] == "type", strange
        unknown = ask(socket, model="openai/nobody", input=PROMPT)[-1]
        assert (unknown["type"], unknown["status"], unknown["error"]["code"]) == (
            "error",
            404,
            "model_not_found",
        ), unknown
        limited = ask(socket, model="openai/gpt-4.1~error-429", input=PROMPT)[-1]
        assert (limited["type"], limited["status"]) == ("error", 429), limited
        cut = ask(socket, model="anthropic/claude-sonnet-4-5~error-after-content", input=PROMPT)
        assert cut[-1]["type"] == "response.failed", cut[-1]
        # The connection survives all of them.
        after = json.loads(socket.recv(timeout=10))
        assert after["type"] == "error", after
        assert text_of(ask(socket, model="openai/gpt-4.1~text", input=PROMPT)[-1]) == GREETING


def needs_a_key(app):
    try:
        with connect(app, key="nobody"):
            raise AssertionError("a stranger was let in")
    except websockets.exceptions.InvalidStatus as refused:
        assert refused.response.status_code == 401, refused.response.status_code
    answer = app.http.get("/v1/responses")
    assert answer.status_code in (400, 426), answer.status_code


def sdk(app):
    """The official client's own connection."""
    with app.openai.responses.connect() as connection:
        connection.response.create(model="anthropic/claude-opus-4-8~text", input=PROMPT)
        seen = []
        for event in connection:
            seen.append(event)
            if event.type in TERMINAL:
                break
    assert seen[-1].type == "response.completed" and seen[-1].response.output_text == GREETING


CHECKS = {
    "events are text frames in order, on every provider": events,
    "a conversation continues within the connection, stored or not": conversation,
    "a tool loop with thinking keeps the model's reasoning state": tool_loop,
    "a warm-up generates nothing, and can be continued": warm_up,
    "an error is a frame, and the connection stays open": error_frames,
    "a handshake without a valid key is rejected": needs_a_key,
    "the official SDK's WebSocket client": sdk,
}
