"""Responses through the official OpenAI SDK: typed answers, `.parse`, and the `.stream` helper."""

import json

import openai

from compat import cells
from compat.cells import CITIES, GREETING, GREETING_PIECES, PROMPT, RESULTS
from compat.chat import SAMPLE, Weather, check_cached, check_reasoned, check_system, keep_ids
from compat.app import ReportedUsage
from compat.probes import check_settings, raises

TOOLS = [
    {
        "type": "function",
        "name": cells.TOOL,
        "description": "The weather",
        "parameters": cells.TOOL_SCHEMA,
        "strict": True,
    }
]
TERMINAL = ("response.completed", "response.incomplete", "response.failed")


def user(text=PROMPT):
    return [{"role": "user", "content": text}]


def reported_usage(usage):
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    return ReportedUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.input_tokens_details.cached_tokens,
        reasoning=usage.output_tokens_details.reasoning_tokens,
    )


def check_response(cell, response, behaviour, streamed=False):
    assert response.object == "response" and response.id.startswith("resp_") and response.created_at > 0
    # A native stream is forwarded unchanged and has the provider's model name.
    shown = {cell.model(behaviour), *([f"{cell.family.name}~{behaviour}"] if streamed and cell.native else [])}
    assert response.model in shown, response.model
    assert isinstance(response.tools, list) and response.tool_choice is not None
    assert response.parallel_tool_calls in (True, False)
    prefixes = {"message": "msg_", "function_call": "fc_", "reasoning": "rs_"}
    for item in response.output:
        assert item.id.startswith(prefixes[item.type]), item


def create(cell, behaviour, content=PROMPT, **options):
    call = cell.call()
    response = cell.app.openai.responses.create(
        model=cell.model(behaviour), input=content, extra_headers=call.headers, **options
    )
    check_response(cell, response, behaviour)
    call.expect_usage(reported_usage(response.usage))
    return response, call


def listen(cell, behaviour, content=PROMPT, **options):
    """The helper's events in order, the last one's response, and the call."""
    call = cell.call()
    with cell.app.openai.responses.stream(
        model=cell.model(behaviour), input=content, extra_headers=call.headers, **options
    ) as opened:
        events = list(opened)
    check_order(events)
    response = events[-1].response
    check_response(cell, response, behaviour, streamed=True)
    call.expect_usage(reported_usage(response.usage))
    return events, response, call


def check_order(events):
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"], kinds[:4]
    assert kinds[-1] in TERMINAL and not set(kinds[:-1]) & set(TERMINAL), kinds
    numbers = [event.sequence_number for event in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    added = [event.item.id for event in events if event.type == "response.output_item.added"]
    done = [event.item.id for event in events if event.type == "response.output_item.done"]
    assert added == done, (added, done)
    assert [item.id for item in events[-1].response.output] == done
    assert len({event.response.id for event in events if hasattr(event, "response")}) == 1


def text(cell):
    response, call = create(cell, "text")
    assert response.output_text == GREETING and response.status == "completed"
    [item] = response.output
    assert (item.type, item.role, item.status) == ("message", "assistant", "completed")
    assert [part.type for part in item.content] == ["output_text"] and item.content[0].annotations == []
    assert call.head["x-gateway-model"] == cell.model("text")
    assert create(cell, "text", user())[0].output_text == GREETING


def stream_text(cell):
    events, response, _ = listen(cell, "text")
    assert response.output_text == GREETING and response.status == "completed"
    deltas = [event.delta for event in events if event.type == "response.output_text.delta" and event.delta]
    assert "".join(deltas) == GREETING and len(deltas) == GREETING_PIECES, deltas
    kinds = [event.type for event in events if event.type != "response.output_text.delta"]
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ], kinds
    ends_with_done(cell)


def ends_with_done(cell):
    """Checks the raw bytes: every event is named, and the last line is the marker that the SDK hides."""
    call = cell.call()
    body = {"model": cell.model("text"), "input": PROMPT, "stream": True}
    answer = cell.app.http.post("/v1/responses", json=body, headers=call.headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [
        block
        for block in answer.text.replace("\r\n", "\n").split("\n\n")
        if block.strip() and not block.startswith(":")
    ]
    assert blocks[-1] == "data: [DONE]", blocks[-1]
    for block in blocks[:-1]:
        name, data = block.split("\n", 1)
        assert name == f"event: {json.loads(data.removeprefix('data: '))['type']}", block
    call.expect_usage(None)


def system(cell):
    turns = [{"role": "developer", "content": "Be brief."}, *user()]
    response, _ = create(cell, "echo", turns, instructions="Speak plainly.")
    check_system(cell, response.output_text)


def calls_of(response):
    return [item for item in response.output if item.type == "function_call"]


def check_calls(cell, call, response, count):
    made = calls_of(response)
    assert len(made) == count and response.status == "completed"
    assert len({item.call_id for item in made}) == count
    for index, item in enumerate(made):
        assert item.name == cells.TOOL and item.status == "completed"
        assert json.loads(item.arguments) == CITIES[index]
        keep_ids(cell, call, item.call_id, index)


def tools(cell):
    response, call = create(cell, "tools", tools=TOOLS)
    check_calls(cell, call, response, 1)
    events, response, call = listen(cell, "tools", tools=TOOLS)
    check_calls(cell, call, response, 1)
    fragments = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    done = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
    assert ["".join(fragments)] == done and json.loads(done[0]) == CITIES[0]
    forced, _ = create(cell, "schema", tools=TOOLS, tool_choice={"type": "function", "name": cells.TOOL})
    assert calls_of(forced)[0].name == cells.TOOL
    barred, _ = create(cell, "tools", tools=TOOLS, tool_choice="none")
    assert barred.output_text == GREETING and not calls_of(barred)


def parallel(cell):
    response, call = create(cell, "parallel-tools", tools=TOOLS)
    check_calls(cell, call, response, 2)
    _, response, call = listen(cell, "parallel-tools", tools=TOOLS)
    check_calls(cell, call, response, 2)


def echoed(response):
    """The output as a client sends it back."""
    items = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
    for item in items:
        for part in item.get("content") or []:
            part.pop("parsed", None)
    return items


def outputs(response):
    return [
        {"type": "function_call_output", "call_id": item.call_id, "output": result}
        for item, result in zip(calls_of(response), RESULTS)
    ]


def check_said(cell, before, answer):
    text = "; ".join(RESULTS[: len(calls_of(before))])
    assert answer.output_text == f"The tools said: {text}", answer.output_text


def loop(cell, response, behaviour, **options):
    turns = [*user(), *echoed(response), *outputs(response)]
    check_said(cell, response, create(cell, behaviour, turns, tools=TOOLS, **options)[0])


def go_on(cell, response, behaviour, **options):
    """The same with the id of the response instead of its items."""
    options |= {"previous_response_id": response.id, "tools": TOOLS}
    check_said(cell, response, create(cell, behaviour, outputs(response), **options)[0])


def results(cell):
    for behaviour in ("tools", "parallel-tools"):
        whole = create(cell, behaviour, tools=TOOLS)[0]
        loop(cell, whole, behaviour)
        go_on(cell, whole, behaviour)
    streamed = listen(cell, "parallel-tools", tools=TOOLS)[1]
    loop(cell, streamed, "parallel-tools")
    go_on(cell, streamed, "parallel-tools")


def images(cell):
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{cells.PIXEL}", "detail": "auto"}
    turn = [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, image]}]
    assert create(cell, "see", turn)[0].output_text == cells.PIXEL_SEEN
    image["detail"] = "low"
    assert create(cell, "see", turn)[0].output_text == cells.PIXEL_SEEN


def schema(cell):
    call = cell.call()
    response = cell.app.openai.responses.parse(
        model=cell.model("schema"), input="json", text_format=Weather, extra_headers=call.headers
    )
    assert response.output_parsed == SAMPLE, response.output
    assert not calls_of(response) and response.status == "completed"
    call.expect_usage(reported_usage(response.usage))
    _, response, _ = listen(cell, "schema", "json", text_format=Weather)
    assert response.output_parsed == SAMPLE and not calls_of(response)


def thinking(cell):
    options = {"reasoning": {"effort": "low", "summary": "auto"}}
    check_thought(cell, *create(cell, "reasoning", **options))
    events, response, call = listen(cell, "reasoning", **options)
    check_thought(cell, response, call)
    deltas = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert "".join(deltas).strip() == (cells.THOUGHT if cell.shows_thoughts else ""), deltas
    stateless = options | {"store": False, "include": ["reasoning.encrypted_content"]}
    loop(cell, create(cell, "tools", tools=TOOLS, **stateless)[0], "tools", **stateless)
    loop(cell, listen(cell, "tools", tools=TOOLS, **stateless)[1], "tools", **stateless)
    go_on(cell, create(cell, "tools", tools=TOOLS, **options)[0], "tools", **options)
    go_on(cell, listen(cell, "tools", tools=TOOLS, **options)[1], "tools", **options)


def check_thought(cell, response, call):
    assert response.output_text == GREETING
    thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.summary]
    assert "".join(thoughts).strip() == (cells.THOUGHT if cell.shows_thoughts else ""), response.output
    kinds = [item.type for item in response.output]
    assert kinds.count("message") == 1 and kinds[0] == ("reasoning" if thoughts else kinds[0]), kinds
    call.inspect(lambda row, line: check_reasoned(row, line))


def stops(cell):
    options = {"max_output_tokens": 64}
    for response in (create(cell, "max-tokens", **options)[0], listen(cell, "max-tokens", **options)[1]):
        assert response.status == "incomplete", response.status
        assert response.incomplete_details.reason == "max_output_tokens"
        assert response.output_text.startswith("word0 word1 ")
    for response in (create(cell, "content-filter")[0], listen(cell, "content-filter")[1]):
        assert response.status == "incomplete" and response.incomplete_details.reason == "content_filter"
    for response in (create(cell, "refusal")[0], listen(cell, "refusal")[1]):
        check_refusal(cell, response)


def check_refusal(cell, response):
    parts = [part for item in response.output if item.type == "message" for part in item.content]
    if cell.dialect in ("chat", "responses"):
        assert [(part.type, part.refusal) for part in parts] == [("refusal", "I cannot help with that.")], parts
        assert response.status == "completed"
    else:
        assert response.status == "incomplete" and response.incomplete_details.reason == "content_filter"


def usage(cell):
    for call in (create(cell, "cached")[1], listen(cell, "cached")[2]):
        call.inspect(lambda row, line: check_cached(row, line))


def ask(cell, behaviour, stream, **options):
    call = cell.call()
    answer = cell.app.openai.responses.create(
        model=cell.model(behaviour), input=PROMPT, stream=stream, extra_headers=call.headers, **options
    )
    return call, answer


def error(cell):
    for streams in (False, True):
        refused = raises(openai.BadRequestError, lambda: ask(cell, "error-400", streams))
        assert refused.body["message"] and {"type", "param", "code"} <= set(refused.body), refused.body
        limited = raises(openai.RateLimitError, lambda: ask(cell, "error-429", streams))
        assert 1 <= int(limited.response.headers["retry-after"]) <= 30
        denied = raises(openai.InternalServerError, lambda: ask(cell, "unauthorized", streams))
        assert (denied.status_code, denied.body["code"]) == (502, "upstream_auth_failed"), denied.body
        busy = raises(openai.InternalServerError, lambda: ask(cell, "error-503", streams))
        assert busy.status_code == 503, busy.body
    first = raises(openai.InternalServerError, lambda: ask(cell, "error-in-stream", True))
    assert first.status_code in (500, 503) and first.body["type"] == "provider_error", first.body


def broken(cell):
    for behaviour in ("error-after-content", "cut-mid-stream"):
        call, opened = ask(cell, behaviour, True)
        seen = []
        if cell.native and behaviour == "error-after-content":
            # The provider's own end of a failed response is forwarded unchanged.
            seen.extend(opened)
        else:
            raised = raises(openai.APIError, lambda: seen.extend(opened))
            assert not isinstance(raised, openai.APIStatusError) and raised.body["message"], raised
        text = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
        assert text == cells.CUT, text
        kinds = [event.type for event in seen]
        assert kinds[0] == "response.created" and kinds[-1] == "response.failed", kinds
        failed = seen[-1].response
        assert failed.status == "failed" and failed.error.code and failed.error.message
        assert "response.completed" not in kinds
        call.estimated()


def settings(cell):
    options = {
        "max_output_tokens": (321, ["321"], ("max_output_tokens",)),
        "user": ("user-4711", ["user-4711"], ("user",)),
        "metadata": ({"tag": "meta-4711"}, ["meta-4711"], ("metadata",)),
        "service_tier": (
            "default",
            ['"service_tier":"default"', '"service_tier":"standard_only"'],
            ("service_tier",),
        ),
        "prompt_cache_key": ("cache-4711", ["cache-4711"], ("prompt_cache_key",)),
        "safety_identifier": ("safe-4711", ["safe-4711"], ("safety_identifier",)),
        "truncation": ("auto", ['"truncation":"auto"'], ("truncation",)),
        "max_tool_calls": (7, ['"max_tool_calls":7'], ("max_tool_calls",)),
        "parallel_tool_calls": (
            False,
            ['"parallel_tool_calls":false', '"disable_parallel_tool_use":true'],
            ("parallel_tool_calls",),
        ),
    }
    if cell.family.sampling or not cell.native:
        options |= {"temperature": (0.25, ["0.25"], ("temperature",)), "top_p": (0.75, ["0.75"], ("top_p",))}
    if not cell.native or not cell.family.sampling:
        options["text"] = ({"verbosity": "low"}, ['"verbosity":"low"'], ("text.verbosity", "verbosity"))
    values = {name: value for name, (value, _, _) in options.items()}
    response, call = create(cell, "echo", tools=TOOLS, **values)
    check_settings(call, response.output_text, options)


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
