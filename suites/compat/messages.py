"""Messages through the official Anthropic SDK: typed answers, `.parse`, and the `.stream` helper."""

import json

import anthropic

from compat import cells
from compat.cells import CITIES, GREETING, GREETING_PIECES, PROMPT, RESULTS
from compat.chat import SAMPLE, Weather, check_cached, check_reasoned, check_system, keep_ids
from compat.app import ReportedUsage
from compat.probes import check_settings, raises

TOOLS = [{"name": cells.TOOL, "description": "The weather", "input_schema": cells.TOOL_SCHEMA}]
LIMIT = 4000


def user(text=PROMPT):
    return [{"role": "user", "content": text}]


def reported_usage(usage):
    """The usage; in this format the input buckets are disjoint."""
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return ReportedUsage(usage.input_tokens + read + written, usage.output_tokens, read, written)


def check_message(cell, message):
    assert message.type == "message" and message.role == "assistant" and message.id
    assert message.model == cell_model(cell, message), message.model


def cell_model(cell, message):
    # The provider's own model name, with or without the instance prefix.
    return message.model if message.model.endswith(cell.family.name + "~" + message.model.split("~")[-1]) else None


def create(cell, behaviour, messages=None, **options):
    call = cell.call()
    message = cell.app.anthropic.messages.create(
        model=cell.model(behaviour),
        messages=messages or user(),
        extra_headers=call.headers,
        **{"max_tokens": LIMIT, **options},
    )
    check_message(cell, message)
    call.expect_usage(reported_usage(message.usage))
    return message, call


def listen(cell, behaviour, messages=None, **options):
    call = cell.call()
    with cell.app.anthropic.messages.stream(
        model=cell.model(behaviour),
        messages=messages or user(),
        extra_headers=call.headers,
        **{"max_tokens": LIMIT, **options},
    ) as opened:
        events = list(opened)
        message = opened.get_final_message()
    check_order(events)
    check_message(cell, message)
    call.expect_usage(reported_usage(message.usage))
    return events, message, call


# Events that the helper adds to those of the wire.
HELPERS = ("text", "input_json", "thinking", "signature", "citation", "ping")


def check_order(events):
    kinds = [event.type for event in events if event.type not in HELPERS]
    assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"], kinds
    opened = None
    starts = 0
    for event in events:
        if event.type == "content_block_start":
            assert opened is None and event.index == starts, kinds
            opened, starts = event.index, starts + 1
        elif event.type == "content_block_delta":
            assert event.index == opened, kinds
        elif event.type == "content_block_stop":
            assert event.index == opened, kinds
            opened = None
    assert opened is None


def text_of_message(message):
    return "".join(block.text for block in message.content if block.type == "text")


def text(cell):
    message, call = create(cell, "text")
    assert [block.type for block in message.content] == ["text"] and text_of_message(message) == GREETING
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert call.head["x-gateway-model"] == cell.model("text")


def stream_text(cell):
    events, message, _ = listen(cell, "text")
    deltas = [event.text for event in events if event.type == "text" and event.text]
    assert "".join(deltas) == GREETING and len(deltas) == GREETING_PIECES, deltas
    assert text_of_message(message) == GREETING and message.stop_reason == "end_turn"


def system(cell):
    blocks = [{"type": "text", "text": "Speak plainly."}, {"type": "text", "text": "Be brief."}]
    message, _ = create(cell, "echo", system=blocks)
    check_system(cell, text_of_message(message))


def calls_of(message):
    return [block for block in message.content if block.type == "tool_use"]


def check_calls(cell, call, message, count):
    made = calls_of(message)
    assert len(made) == count and len({block.id for block in made}) == count
    assert message.stop_reason == "tool_use"
    for index, block in enumerate(made):
        assert (block.name, block.input) == (cells.TOOL, CITIES[index]), block
        assert all(letter.isalnum() or letter in "_-" for letter in block.id), block.id
        keep_ids(cell, call, block.id, index)


def tools(cell):
    message, call = create(cell, "tools", tools=TOOLS)
    check_calls(cell, call, message, 1)
    events, message, call = listen(cell, "tools", tools=TOOLS)
    check_calls(cell, call, message, 1)
    fragments = "".join(event.partial_json for event in events if event.type == "input_json")
    assert json.loads(fragments) == CITIES[0], fragments
    forced, _ = create(cell, "schema", tools=TOOLS, tool_choice={"type": "tool", "name": cells.TOOL})
    assert calls_of(forced)[0].name == cells.TOOL
    barred, _ = create(cell, "tools", tools=TOOLS, tool_choice={"type": "none"})
    assert text_of_message(barred) == GREETING and not calls_of(barred)


def parallel(cell):
    message, call = create(cell, "parallel-tools", tools=TOOLS)
    check_calls(cell, call, message, 2)
    _, message, call = listen(cell, "parallel-tools", tools=TOOLS)
    check_calls(cell, call, message, 2)


def echoed(message):
    blocks = [block.model_dump(exclude_none=True) for block in message.content]
    for block in blocks:
        block.pop("parsed_output", None)
    return {"role": "assistant", "content": blocks}


def loop(cell, message, behaviour, **options):
    made = calls_of(message)
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": result} for block, result in zip(made, RESULTS)
    ]
    turns = [*user(), echoed(message), {"role": "user", "content": results}]
    answer, _ = create(cell, behaviour, turns, tools=TOOLS, **options)
    assert text_of_message(answer) == "The tools said: " + "; ".join(RESULTS[: len(made)]), answer.content
    assert answer.stop_reason == "end_turn"


def results(cell):
    for behaviour in ("tools", "parallel-tools"):
        loop(cell, create(cell, behaviour, tools=TOOLS)[0], behaviour)
    loop(cell, listen(cell, "parallel-tools", tools=TOOLS)[1], "parallel-tools")
    failed_tool(cell)


def failed_tool(cell):
    """A tool error as blocks: translated, or `is_error` is reported as dropped."""
    message, _ = create(cell, "tools", tools=TOOLS)
    result = {
        "type": "tool_result",
        "tool_use_id": calls_of(message)[0].id,
        "is_error": True,
        "content": [{"type": "text", "text": "no such city"}],
    }
    turns = [*user(), echoed(message), {"role": "user", "content": [result]}]
    answer, _ = create(cell, "tools", turns, tools=TOOLS)
    assert "no such city" in text_of_message(answer), answer.content


def images(cell):
    source = {"type": "base64", "media_type": "image/png", "data": cells.PIXEL}
    turn = [
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image", "source": source}]}
    ]
    assert text_of_message(create(cell, "see", turn)[0]) == cells.PIXEL_SEEN


def schema(cell):
    # The SDK's helpers need a generation that has the field; older ones are tested through other formats.
    call = cell.call()
    if cell.native and cell.family is cells.OLD_SONNET:
        forced_schema(cell)
        return
    message = cell.app.anthropic.messages.parse(
        model=cell.model("schema"),
        messages=user(),
        max_tokens=LIMIT,
        output_format=Weather,
        extra_headers=call.headers,
    )
    assert message.parsed_output == SAMPLE, message.content
    assert message.stop_reason == "end_turn" and not calls_of(message)
    call.expect_usage(reported_usage(message.usage))
    _, message, _ = listen(cell, "schema", output_format=Weather)
    assert message.parsed_output == SAMPLE, message.content


def forced_schema(cell):
    """Checks that the provider's rejection of the field for this generation is forwarded unchanged."""
    refused = raises(
        anthropic.BadRequestError,
        lambda: create(
            cell, "schema", output_config={"format": {"type": "json_schema", "schema": cells.TOOL_SCHEMA}}
        ),
    )
    assert "structured outputs" in str(refused), refused


def thinking_options(cell):
    if cell.dialect == "messages" and cell.family is cells.SONNET:
        return {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    if cell.dialect == "messages":
        return {"thinking": {"type": "adaptive", "display": "summarized"}}
    return {"thinking": {"type": "enabled", "budget_tokens": 2048}}


def thinking(cell):
    options = thinking_options(cell)
    check_thought(cell, *create(cell, "reasoning", **options))
    events, message, call = listen(cell, "reasoning", **options)
    check_thought(cell, message, call)
    streamed = "".join(event.thinking for event in events if event.type == "thinking")
    assert streamed.strip() == (cells.THOUGHT if cell.shows_thoughts else ""), streamed
    loop(cell, create(cell, "tools", tools=TOOLS, **options)[0], "tools", **options)
    loop(cell, listen(cell, "tools", tools=TOOLS, **options)[1], "tools", **options)


def check_thought(cell, message, call):
    assert text_of_message(message) == GREETING
    blocks = [block for block in message.content if block.type == "thinking"]
    thought = "".join(block.thinking for block in blocks).strip()
    assert thought == (cells.THOUGHT if cell.shows_thoughts else ""), message.content
    if blocks:
        assert message.content[0].type == "thinking" and isinstance(blocks[0].signature, str)
    call.inspect(lambda row, line: check_reasoned(row, line))


def stops(cell):
    for message in (
        create(cell, "stop", stop_sequences=["STOPWORD"])[0],
        listen(cell, "stop", stop_sequences=["STOPWORD"])[1],
    ):
        if cell.dialect == "messages":
            assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "STOPWORD")
        else:
            # The other formats use one finish reason for both.
            assert message.stop_reason in ("end_turn", "stop_sequence"), message.stop_reason
    for message in (create(cell, "max-tokens", max_tokens=64)[0], listen(cell, "max-tokens", max_tokens=64)[1]):
        assert message.stop_reason == "max_tokens" and text_of_message(message).startswith("word0 word1 ")
    for behaviour in ("content-filter", "refusal"):
        for message in (create(cell, behaviour)[0], listen(cell, behaviour)[1]):
            assert message.stop_reason == "refusal", (behaviour, message)


def usage(cell):
    for message, call in (create(cell, "cached"), listen(cell, "cached")[1:]):
        call.inspect(lambda row, line: check_cached(row, line))
        if cell.dialect == "messages":
            kept = message.usage.cache_creation
            assert (kept.ephemeral_5m_input_tokens, kept.ephemeral_1h_input_tokens) == (2, 1)


def ask(cell, behaviour, stream, **options):
    call = cell.call()
    answer = cell.app.anthropic.messages.create(
        model=cell.model(behaviour),
        messages=user(),
        max_tokens=LIMIT,
        stream=stream,
        extra_headers=call.headers,
        **options,
    )
    return call, answer


def check_shape(error, kind):
    """Checks for Anthropic's error body."""
    body = error.body
    assert body["type"] == "error" and body["error"]["type"] == kind and body["error"]["message"], body
    assert body.get("request_id"), body


def error(cell):
    for streams in (False, True):
        refused = raises(anthropic.BadRequestError, lambda: ask(cell, "error-400", streams))
        check_shape(refused, "invalid_request_error")
        limited = raises(anthropic.RateLimitError, lambda: ask(cell, "error-429", streams))
        check_shape(limited, "rate_limit_error")
        assert 1 <= int(limited.response.headers["retry-after"]) <= 30
        denied = raises(anthropic.APIStatusError, lambda: ask(cell, "unauthorized", streams))
        assert denied.status_code == 502, denied.body
        check_shape(denied, "api_error")
        busy = raises(anthropic.APIStatusError, lambda: ask(cell, "error-503", streams))
        assert busy.status_code == 503, busy.body
        check_shape(busy, "overloaded_error")
    first = raises(anthropic.APIStatusError, lambda: ask(cell, "error-in-stream", True))
    assert first.status_code in (500, 503), first.status_code


def broken(cell):
    for behaviour in ("error-after-content", "cut-mid-stream"):
        call, opened = ask(cell, behaviour, True)
        seen = []
        raised = raises(anthropic.APIStatusError, lambda: seen.extend(opened))
        assert raised.body["error"]["message"], raised.body
        texts = [event.delta.text for event in seen if event.type == "content_block_delta"]
        assert "".join(texts) == cells.CUT, texts
        assert not any(event.type in ("message_delta", "message_stop") for event in seen)
        call.estimated()


def settings(cell):
    options = {
        "max_tokens": (321, ["321"], ("max_tokens",)),
        "metadata": ({"user_id": "user-4711"}, ["user-4711"], ("metadata.user_id", "metadata")),
        "service_tier": (
            "standard_only",
            ['"service_tier":"default"', '"service_tier":"standard_only"'],
            ("service_tier",),
        ),
        "stop_sequences": (["STOPWORD"], ["STOPWORD"], ("stop_sequences",)),
        "tool_choice": (
            {"type": "auto", "disable_parallel_tool_use": True},
            ['"disable_parallel_tool_use":true', '"parallel_tool_calls":false'],
            ("tool_choice.disable_parallel_tool_use", "parallel_tool_calls"),
        ),
        "system": (
            [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
            ['"cache_control":{'],
            ("cache_control",),
        ),
    }
    if cell.family.sampling or not cell.native:
        options["temperature"] = (0.25, ["0.25"], ("temperature",))
        options["top_k"] = (47, ['"top_k":47', '"topK":47'], ("top_k",))
        if not cell.native:
            options["top_p"] = (0.75, ["0.75"], ("top_p",))
    values = {name: value for name, (value, _, _) in options.items()}
    # The SDK no longer has arguments for sampling.
    older = {name: values.pop(name) for name in ("temperature", "top_p", "top_k") if name in values}
    message, call = create(cell, "echo", tools=TOOLS, extra_body=older, **values)
    check_settings(call, text_of_message(message), options)


CHECKS = {
    "text": text,
    "stream": stream_text,
    "system": system,
    "tools": tools,
    "parallel": parallel,
    "results": results,
    "images": images,
    "schema": schema,
    "thinking": thinking,
    "stops": stops,
    "usage": usage,
    "error": error,
    "broken": broken,
    "settings": settings,
}
