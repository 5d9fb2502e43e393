"""Chat streams: order, usage shown and hidden, the end marker, heartbeats."""

import json
import time

import pytest

from sdk.conftest import raw_stream, sdk, user


def collect(stream):
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return chunks, text


def test_usage_is_hidden_unless_asked_for(client):
    chunks, text = collect(client.chat.completions.create(model="openai/text", messages=user(), stream=True))
    assert text == "Hello from the upstream. You said: one two three"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def test_usage_is_shown_when_asked_for(client, upstream):
    chunks, _ = collect(
        client.chat.completions.create(
            model="openai/text", messages=user(), stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[-1].choices == []
    line = upstream.line(chunks[-1].id)
    assert chunks[-1].usage.prompt_tokens == line["prompt_tokens"]
    assert chunks[-1].usage.completion_tokens == line["completion_tokens"]
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_other_stream_options_are_kept(client):
    stream = client.chat.completions.create(
        model="openai/echo", messages=user(), stream=True, extra_body={"stream_options": {"include_obfuscation": False}}
    )
    received = json.loads(collect(stream)[1])
    assert received["stream_options"] == {"include_obfuscation": False, "include_usage": True}


@pytest.mark.parametrize("options", [{}, {"stream_options": {"include_usage": True}}])
def test_the_raw_stream_ends_with_done_once(http, options):
    answer, text = raw_stream(http, "openai/long", **options)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-gateway-model"] == "openai/long"
    data = [line for line in text.splitlines() if line.startswith("data: ")]
    assert data[-1] == "data: [DONE]"
    assert text.count("[DONE]") == 1
    assert sum('"content":"word' in line for line in data) == 100
    assert text.endswith("\n\n")


def test_the_query_can_ask_for_a_stream(http):
    body = {"model": "openai/text", "messages": user()}
    with http.stream("POST", "/v1/chat/completions?stream=true", json=body) as answer:
        assert "".join(answer.iter_text()).rstrip().endswith("data: [DONE]")
    answer = http.post("/v1/chat/completions?stream=true", json=body | {"stream": False})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "stream"


def test_chunks_without_choices_before_the_role_are_dropped(client):
    chunks, text = collect(client.chat.completions.create(model="openai/azure-first", messages=user(), stream=True))
    assert text.startswith("Hello")
    assert all(chunk.choices and chunk.id for chunk in chunks)


def test_a_running_usage_does_not_hide_content(client):
    _, text = collect(client.chat.completions.create(model="openai/usage-every-chunk", messages=user(), stream=True))
    assert text == "Hello from the upstream. You said: one two three"


def test_reasoning_streams(client):
    stream = client.chat.completions.create(model="openai/reasoning", messages=user(), stream=True)
    thoughts = [getattr(chunk.choices[0].delta, "reasoning_content", None) for chunk in stream]
    assert "".join(filter(None, thoughts)).startswith("Let me think")


def test_events_arrive_as_they_are_made(client):
    stamps = [
        time.monotonic()
        for _ in client.chat.completions.create(model="openai/drip-50", messages=user(), stream=True)
    ]
    assert stamps[-1] - stamps[0] > 0.5, "the stream was held back and delivered at once"


def test_silence_is_filled_with_comments(start_gateway, upstream):
    gateway = start_gateway(upstream, STREAM_HEARTBEAT="250ms")
    with sdk(gateway) as client:
        with client.chat.completions.with_streaming_response.create(
            model="openai/slow-1500", messages=user(), stream=True
        ) as answer:
            text = "".join(answer.iter_text())
        assert text.index(": keep-alive") < text.index("data: ")
        assert text.count(": keep-alive") >= 3
        assert "data: [DONE]" in text
        _, content = collect(
            client.chat.completions.create(model="openai/slow-1500", messages=user(), stream=True)
        )
        assert content.startswith("Hello")
