"""Chat completions through the official OpenAI SDK: typed answers, `.parse`, and the `.stream` helper."""

import json

import openai
import pydantic

from compat import cells
from compat.cells import CITIES, GREETING, GREETING_PIECES, PROMPT, RESULTS
from compat.app import ReportedUsage
from compat.probes import check_settings, raises

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": cells.TOOL,
            "description": "The weather",
            "parameters": cells.TOOL_SCHEMA,
            "strict": True,
        },
    }
]


class Weather(pydantic.BaseModel):
    city: str
    degrees: int
    rain: bool
    days: list[str]


SAMPLE = Weather(city="text", degrees=1, rain=True, days=["text"])


def user(text=PROMPT):
    return [{"role": "user", "content": text}]


def reported_usage(usage):
    inputs, outputs = usage.prompt_tokens_details, usage.completion_tokens_details
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    return ReportedUsage(
        usage.prompt_tokens,
        usage.completion_tokens,
        inputs and inputs.cached_tokens,
        reasoning=outputs and outputs.reasoning_tokens,
    )


def create(cell, behaviour, messages=None, **options):
    """One complete answer; its usage is compared with the bill."""
    call = cell.call()
    answer = cell.app.openai.chat.completions.create(
        model=cell.model(behaviour), messages=messages or user(), extra_headers=call.headers, **options
    )
    assert answer.object == "chat.completion" and answer.id and answer.created > 0
    assert answer.provider == cell.provider.instance and answer.latency.endswith("ms")
    assert [choice.index for choice in answer.choices] == [0]
    assert answer.choices[0].message.role == "assistant"
    call.expect_usage(reported_usage(answer.usage))
    return answer.choices[0], call


def stream(cell, behaviour, messages=None, **options):
    """The helper's events, its final completion, and the call."""
    call = cell.call()
    events = []
    with cell.app.openai.chat.completions.stream(
        model=cell.model(behaviour),
        messages=messages or user(),
        stream_options={"include_usage": True},
        extra_headers=call.headers,
        **options,
    ) as opened:
        for event in opened:
            events.append(event)
        final = opened.get_final_completion()
    chunks = [event.chunk for event in events if event.type == "chunk"]
    assert len({chunk.id for chunk in chunks}) == 1 and chunks[0].id
    assert all(chunk.object == "chat.completion.chunk" for chunk in chunks)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == [] and chunks[-1].usage is not None
    assert sum(1 for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason) == 1
    call.expect_usage(reported_usage(final.usage))
    return events, final.choices[0], call


def text(cell):
    choice, call = create(cell, "text")
    assert choice.message.content == GREETING
    assert choice.finish_reason == "stop" and not choice.message.tool_calls and not choice.message.refusal
    assert call.head["x-gateway-provider"] == cell.provider.instance
    assert call.head["x-gateway-model"] == cell.model("text")


def stream_text(cell):
    events, choice, _ = stream(cell, "text")
    deltas = [event.delta for event in events if event.type == "content.delta" and event.delta]
    assert "".join(deltas) == GREETING and len(deltas) == GREETING_PIECES, deltas
    assert choice.message.content == GREETING and choice.finish_reason == "stop"
    assert [event.content for event in events if event.type == "content.done"] == [GREETING]
    without_usage(cell)


def without_usage(cell):
    """Without include_usage there is no usage chunk, but the usage row is complete."""
    call = cell.call()
    chunks = list(
        cell.app.openai.chat.completions.create(
            model=cell.model("text"), messages=user(), stream=True, extra_headers=call.headers
        )
    )
    assert all(chunk.choices and not chunk.usage for chunk in chunks)
    call.expect_usage(None)


def system(cell):
    messages = [
        {"role": "system", "content": "Speak plainly."},
        {"role": "developer", "content": "Be brief."},
        *user(),
    ]
    choice, _ = create(cell, "echo", messages)
    check_system(cell, choice.message.content)


def check_system(cell, echoed):
    body = json.loads(echoed)
    text = " ".join(cells.system_texts(body, cell.dialect))
    assert text.find("Speak plainly.") < text.find("Be brief.") and "Speak plainly." in text, body
    if cell.dialect == "chat" and cell.provider.instance not in ("openai", "azure"):
        assert all(message["role"] != "developer" for message in body["messages"]), body
    if cell.dialect == "messages":
        assert [message["role"] for message in body["messages"]] == ["user"], body


def check_call(cell, call, made, index):
    assert made.type == "function" and made.function.name == cells.TOOL
    assert json.loads(made.function.arguments) == CITIES[index]
    assert made.id
    keep_ids(cell, call, made.id, index)


def keep_ids(cell, call, made, index):
    """Checks that the client gets the provider's call ids, if it has any."""

    def check(row, line):
        name = line["id"]
        expected = {
            "chat": f"call_{name}_{index}",
            "messages": f"toolu_{name}_{index}",
            "responses": f"call_{name.removeprefix('resp_')}_{index}",
            "generate": f"call-{name}-{index}" if cell.family.name.startswith("gemini-3") else None,
        }[cell.dialect]
        assert expected in (None, made), (made, expected)

    call.inspect(check)


def tools(cell):
    choice, call = create(cell, "tools", tools=TOOLS)
    assert choice.finish_reason == "tool_calls" and len(choice.message.tool_calls) == 1
    check_call(cell, call, choice.message.tool_calls[0], 0)
    events, choice, call = stream(cell, "tools", tools=TOOLS)
    assert choice.finish_reason == "tool_calls" and len(choice.message.tool_calls) == 1
    check_call(cell, call, choice.message.tool_calls[0], 0)
    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [(event.name, event.index) for event in done] == [(cells.TOOL, 0)]
    assert done[0].parsed_arguments == CITIES[0]
    forced, _ = create(
        cell, "schema", tools=TOOLS, tool_choice={"type": "function", "function": {"name": cells.TOOL}}
    )
    assert forced.message.tool_calls[0].function.name == cells.TOOL
    barred, _ = create(cell, "tools", tools=TOOLS, tool_choice="none")
    assert barred.message.content == GREETING and not barred.message.tool_calls


def parallel(cell):
    for choice, call in (
        create(cell, "parallel-tools", tools=TOOLS),
        stream(cell, "parallel-tools", tools=TOOLS)[1:],
    ):
        calls = choice.message.tool_calls
        assert len(calls) == 2 and len({made.id for made in calls}) == 2
        for index, made in enumerate(calls):
            check_call(cell, call, made, index)
        assert choice.finish_reason == "tool_calls"


def assistant(message):
    """The turn as a client keeps it: all received members, unset ones omitted."""
    kept = message.model_dump(exclude_none=True, exclude={"parsed": True})
    for call in kept.get("tool_calls", []):
        call["function"].pop("parsed_arguments", None)
        # The helper's snapshot keeps the index that only streams have.
        call.pop("index", None)
    return kept


def loop(cell, choice, behaviour, **options):
    """Answers every call of a turn and checks the text of the next one."""
    turns = [*user(), assistant(choice.message)]
    for made, result in zip(choice.message.tool_calls, RESULTS):
        turns.append({"role": "tool", "tool_call_id": made.id, "content": result})
    answer, _ = create(cell, behaviour, turns, tools=TOOLS, **options)
    text = "; ".join(RESULTS[: len(choice.message.tool_calls)])
    assert answer.message.content == f"The tools said: {text}" and answer.finish_reason == "stop"


def results(cell):
    for behaviour in ("tools", "parallel-tools"):
        loop(cell, create(cell, behaviour, tools=TOOLS)[0], behaviour)
    loop(cell, stream(cell, "parallel-tools", tools=TOOLS)[1], "parallel-tools")


def images(cell):
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{cells.PIXEL}"}}
    turn = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}]
    choice, _ = create(cell, "see", turn)
    assert choice.message.content == cells.PIXEL_SEEN, choice.message.content
    image["image_url"]["detail"] = "low"
    choice, _ = create(cell, "see", turn)
    assert choice.message.content == cells.PIXEL_SEEN


def schema(cell):
    call = cell.call()
    answer = cell.app.openai.chat.completions.parse(
        model=cell.model("schema"), messages=user("json"), response_format=Weather, extra_headers=call.headers
    )
    choice = answer.choices[0]
    assert choice.message.parsed == SAMPLE, choice.message.content
    assert choice.finish_reason == "stop" and not choice.message.tool_calls
    call.expect_usage(reported_usage(answer.usage))
    events, choice, _ = stream(cell, "schema", user("json"), response_format=Weather)
    assert choice.message.parsed == SAMPLE and choice.finish_reason == "stop"
    assert not any(event.type.startswith("tool_calls") for event in events)


def thinking(cell):
    options = {"reasoning_effort": "low"}
    choice, call = create(cell, "reasoning", **options)
    check_thought(cell, choice, call)
    check_thought(cell, *stream(cell, "reasoning", **options)[1:])
    loop(cell, create(cell, "tools", tools=TOOLS, **options)[0], "tools", **options)
    loop(cell, stream(cell, "tools", tools=TOOLS, **options)[1], "tools", **options)


def check_thought(cell, choice, call):
    assert choice.message.content == GREETING
    thought = (getattr(choice.message, "reasoning_content", None) or "").strip()
    assert thought == (cells.THOUGHT if cell.shows_thoughts else ""), thought
    call.inspect(lambda row, line: check_reasoned(row, line))


def check_reasoned(row, line):
    assert line["reasoning_tokens"] > 0, line


def stops(cell):
    choice, _ = create(cell, "stop", stop=["STOPWORD"])
    assert choice.finish_reason == "stop"
    choice, _ = create(cell, "max-tokens", max_completion_tokens=64)
    assert choice.finish_reason == "length" and choice.message.content.startswith("word0 word1 ")
    # The helper raises its own exceptions for these two finish reasons.
    raises(openai.LengthFinishReasonError, lambda: stream(cell, "max-tokens", max_completion_tokens=64))
    check_end(cell, "max-tokens", "length", max_completion_tokens=64)
    assert create(cell, "content-filter")[0].finish_reason == "content_filter"
    raises(openai.ContentFilterFinishReasonError, lambda: stream(cell, "content-filter"))
    check_end(cell, "content-filter", "content_filter")
    check_refusal(cell, create(cell, "refusal")[0])
    if cell.dialect in ("chat", "responses"):
        check_refusal(cell, stream(cell, "refusal")[1])
    else:
        raises(openai.ContentFilterFinishReasonError, lambda: stream(cell, "refusal"))


def check_end(cell, behaviour, reason, **options):
    """The same stream without the helper, to compare its usage too."""
    call = cell.call()
    chunks = list(
        cell.app.openai.chat.completions.create(
            model=cell.model(behaviour),
            messages=user(),
            stream=True,
            stream_options={"include_usage": True},
            extra_headers=call.headers,
            **options,
        )
    )
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1] == reason
    call.expect_usage(reported_usage(chunks[-1].usage))


def check_refusal(cell, choice):
    if cell.dialect in ("chat", "responses"):
        assert choice.message.refusal == "I cannot help with that." and not choice.message.content
        assert choice.finish_reason == "stop"
    else:
        assert choice.finish_reason == "content_filter", choice


def usage(cell):
    _, call = create(cell, "cached")
    call.inspect(lambda row, line: check_cached(row, line))
    _, choice, call = stream(cell, "cached")
    call.inspect(lambda row, line: check_cached(row, line))


def check_cached(row, line):
    assert line["cached_tokens"] > 0 and row["cached_input_tokens"] == line["cached_tokens"]


def ask(cell, behaviour, stream, **options):
    call = cell.call()
    answer = cell.app.openai.chat.completions.create(
        model=cell.model(behaviour), messages=user(), stream=stream, extra_headers=call.headers, **options
    )
    return call, answer


def error(cell):
    for streams in (False, True):
        refused = raises(openai.BadRequestError, lambda: ask(cell, "error-400", streams))
        assert refused.body["message"] and {"type", "param", "code"} <= set(refused.body), refused.body
        limited = raises(openai.RateLimitError, lambda: ask(cell, "error-429", streams))
        assert 1 <= int(limited.response.headers["retry-after"]) <= 30
        assert limited.body["type"] == "rate_limit_error", limited.body
        denied = raises(openai.InternalServerError, lambda: ask(cell, "unauthorized", streams))
        assert (denied.status_code, denied.body["code"]) == (502, "upstream_auth_failed"), denied.body
        busy = raises(openai.InternalServerError, lambda: ask(cell, "error-503", streams))
        assert busy.status_code == 503 and busy.body["type"] == "provider_error", busy.body
    # An error as the first event precedes the client's stream. Chat errors have a code, but no status of their own.
    first = raises(openai.InternalServerError, lambda: ask(cell, "error-in-stream", True))
    assert first.status_code in (500, 503) and first.body["type"] == "provider_error", first.body


def broken(cell):
    for behaviour in ("error-after-content", "cut-mid-stream"):
        call, chunks = ask(cell, behaviour, True)
        seen = []
        raised = raises(openai.APIError, lambda: seen.extend(chunks))
        assert not isinstance(raised, openai.APIStatusError)
        assert raised.body and raised.body["message"], raised
        text = "".join(chunk.choices[0].delta.content or "" for chunk in seen if chunk.choices)
        assert text == cells.CUT, text
        assert not any(choice.finish_reason for chunk in seen for choice in chunk.choices)
        call.estimated()


def settings(cell):
    options = {
        "max_completion_tokens": (321, ["321"], ("max_completion_tokens", "max_tokens")),
        "seed": (47110, ["47110"], ("seed",)),
        "user": ("user-4711", ["user-4711"], ("user",)),
        "metadata": ({"tag": "meta-4711"}, ["meta-4711"], ("metadata",)),
        "service_tier": (
            "default",
            ['"service_tier":"default"', '"service_tier":"standard_only"'],
            ("service_tier",),
        ),
        "prompt_cache_key": ("cache-4711", ["cache-4711"], ("prompt_cache_key",)),
        "safety_identifier": ("safe-4711", ["safe-4711"], ("safety_identifier",)),
        "parallel_tool_calls": (
            False,
            ['"parallel_tool_calls":false', '"disable_parallel_tool_use":true'],
            ("parallel_tool_calls",),
        ),
    }
    if cell.family.sampling or not cell.native:
        options |= {
            "temperature": (0.25, ["0.25"], ("temperature",)),
            "top_p": (0.75, ["0.75"], ("top_p",)),
            "presence_penalty": (0.5, ["0.5"], ("presence_penalty",)),
            "frequency_penalty": (0.375, ["0.375"], ("frequency_penalty",)),
            "stop": (["STOPWORD"], ["STOPWORD"], ("stop",)),
            "logit_bias": ({"50256": -77}, ["-77"], ("logit_bias",)),
            "verbosity": ("low", ['"verbosity":"low"'], ("verbosity",)),
        }
    values = {name: value for name, (value, _, _) in options.items()}
    choice, call = create(cell, "echo", tools=TOOLS, **values)
    check_settings(call, choice.message.content, options)


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
