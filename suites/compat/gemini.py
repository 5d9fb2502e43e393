"""Gemini's API through the official Google SDK: generateContent and its stream."""

import base64
import json

import pydantic
from google.genai import errors, types

from compat import cells
from compat.cells import CITIES, GREETING, GREETING_PIECES, PROMPT, RESULTS
from compat.chat import SAMPLE, Weather, check_cached, check_reasoned, check_system
from compat.app import ReportedUsage
from compat.probes import check_settings, raises

TOOLS = [
    {
        "function_declarations": [
            {"name": cells.TOOL, "description": "The weather", "parameters_json_schema": cells.TOOL_SCHEMA}
        ]
    }
]


def config(call, **options):
    options.setdefault("automatic_function_calling", {"disable": True})
    return types.GenerateContentConfig(http_options={"headers": call.headers}, **options)


def reported_usage(usage):
    thoughts = usage.thoughts_token_count or 0
    output = (usage.candidates_token_count or 0) + thoughts
    assert usage.total_token_count == usage.prompt_token_count + output
    return ReportedUsage(usage.prompt_token_count, output, usage.cached_content_token_count or 0)


def create(cell, behaviour, contents=PROMPT, **options):
    call = cell.call()
    answer = cell.app.google.models.generate_content(
        model=cell.model(behaviour), contents=contents, config=config(call, **options)
    )
    assert answer.response_id and answer.model_version
    call.expect_usage(reported_usage(answer.usage_metadata))
    return answer, call


def listen(cell, behaviour, contents=PROMPT, **options):
    call = cell.call()
    chunks = list(
        cell.app.google.models.generate_content_stream(
            model=cell.model(behaviour), contents=contents, config=config(call, **options)
        )
    )
    assert len({chunk.response_id for chunk in chunks}) == 1
    ends = [chunk for chunk in chunks if chunk.candidates and chunk.candidates[0].finish_reason]
    assert len(ends) == 1
    call.expect_usage(reported_usage([chunk.usage_metadata for chunk in chunks if chunk.usage_metadata][-1]))
    return chunks, call


def parts_of(answers):
    content = [answer.candidates[0].content for answer in answers if answer.candidates]
    return [part for each in content if each and each.parts for part in each.parts]


def text_of_message(answers):
    return "".join(part.text for part in parts_of(answers) if part.text and not part.thought)


def finish(answers):
    return [answer.candidates[0].finish_reason for answer in answers if answer.candidates][-1].value


def text(cell):
    answer, call = create(cell, "text")
    assert text_of_message([answer]) == GREETING == answer.text and finish([answer]) == "STOP"
    assert answer.candidates[0].content.role == "model"
    assert call.head["x-gateway-model"] == cell.model("text")


def stream_text(cell):
    chunks, _ = listen(cell, "text")
    pieces = [piece for piece in (text_of_message([chunk]) for chunk in chunks) if piece]
    assert "".join(pieces) == GREETING and len(pieces) == GREETING_PIECES, pieces


def system(cell):
    answer, _ = create(cell, "echo", system_instruction=["Speak plainly.", "Be brief."])
    check_system(cell, text_of_message([answer]))


def calls_of(answers):
    return [part.function_call for part in parts_of(answers) if part.function_call]


def tools(cell):
    for answers in ([create(cell, "tools", tools=TOOLS)[0]], listen(cell, "tools", tools=TOOLS)[0]):
        [made] = calls_of(answers)
        assert (made.name, made.args) == (cells.TOOL, CITIES[0]), made
        assert finish(answers) == "STOP"
    forced = {"function_calling_config": {"mode": "ANY", "allowed_function_names": [cells.TOOL]}}
    assert calls_of([create(cell, "schema", tools=TOOLS, tool_config=forced)[0]])[0].name == cells.TOOL


def parallel(cell):
    for answers in (
        [create(cell, "parallel-tools", tools=TOOLS)[0]],
        listen(cell, "parallel-tools", tools=TOOLS)[0],
    ):
        made = calls_of(answers)
        assert [(call.name, call.args) for call in made] == [(cells.TOOL, city) for city in CITIES], made


def results(cell):
    for behaviour in ("tools", "parallel-tools"):
        loop(cell, [create(cell, behaviour, tools=TOOLS)[0]], behaviour)
    loop(cell, listen(cell, "parallel-tools", tools=TOOLS)[0], "parallel-tools")


def loop(cell, answers, behaviour, **options):
    made = calls_of(answers)
    turns = [
        types.Content(role="user", parts=[types.Part(text=PROMPT)]),
        types.Content(role="model", parts=parts_of(answers)),
        types.Content(
            role="user",
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response={"result": result}
                    )
                )
                for call, result in zip(made, RESULTS)
            ],
        ),
    ]
    answer, _ = create(cell, behaviour, turns, tools=TOOLS, **options)
    for result in RESULTS[: len(made)]:
        assert result in text_of_message([answer]), text_of_message([answer])
    assert text_of_message([answer]).startswith("The tools said: ")


def images(cell):
    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=base64.b64decode(cells.PIXEL)))
    turn = [types.Content(role="user", parts=[types.Part(text="What is it?"), image])]
    assert text_of_message([create(cell, "see", turn)[0]]) == cells.PIXEL_SEEN


def schema(cell):
    options = {"response_mime_type": "application/json", "response_schema": Weather}
    answer, _ = create(cell, "schema", "json", **options)
    assert pydantic.TypeAdapter(Weather).validate_json(text_of_message([answer])) == SAMPLE == answer.parsed
    options = {"response_mime_type": "application/json", "response_json_schema": Weather.model_json_schema()}
    chunks, _ = listen(cell, "schema", "json", **options)
    assert Weather.model_validate_json(text_of_message(chunks)) == SAMPLE


def thinking(cell):
    options = {"thinking_config": thinking_config(cell)}
    for answers, call in (
        ((lambda answer, call: ([answer], call))(*create(cell, "reasoning", **options))),
        listen(cell, "reasoning", **options),
    ):
        thought = "".join(part.text for part in parts_of(answers) if part.thought and part.text).strip()
        assert thought == (cells.THOUGHT if cell.shows_thoughts else ""), thought
        assert text_of_message(answers) == GREETING
        call.inspect(lambda row, line: check_reasoned(row, line))
    loop(cell, [create(cell, "tools", tools=TOOLS, **options)[0]], "tools", **options)
    loop(cell, listen(cell, "tools", tools=TOOLS, **options)[0], "tools", **options)


def thinking_config(cell):
    """The thinking config, which differs between Gemini generations."""
    if cell.family.name.startswith("gemini-2"):
        return {"include_thoughts": True, "thinking_budget": 2048}
    return {"include_thoughts": True, "thinking_level": "LOW"}


def stops(cell):
    answer, _ = create(cell, "stop", stop_sequences=["STOPWORD"])
    assert finish([answer]) == "STOP"
    for answers in (
        [create(cell, "max-tokens", max_output_tokens=64)[0]],
        listen(cell, "max-tokens", max_output_tokens=64)[0],
    ):
        assert finish(answers) == "MAX_TOKENS" and text_of_message(answers).startswith("word0 word1 ")
    for answers in ([create(cell, "content-filter")[0]], listen(cell, "content-filter")[0]):
        assert finish(answers) in ("SAFETY", "PROHIBITED_CONTENT"), finish(answers)


def usage(cell):
    for call in (create(cell, "cached")[1], listen(cell, "cached")[1]):
        call.inspect(lambda row, line: check_cached(row, line))


def error(cell):
    for ask in (create, listen):
        refused = raises(errors.ClientError, lambda: ask(cell, "error-400"))
        assert refused.code == 400, refused
        limited = raises(errors.ClientError, lambda: ask(cell, "error-429"))
        assert limited.code == 429, limited
        denied = raises(errors.ServerError, lambda: ask(cell, "unauthorized"))
        assert denied.code == 502, denied


def broken(cell):
    call = cell.call()
    body = {"contents": [{"role": "user", "parts": [{"text": PROMPT}]}]}
    path = f"/v1beta/models/{cell.model('error-after-content')}:streamGenerateContent?alt=sse"
    answer = cell.app.http.post(path, json=body, headers=call.headers)
    assert answer.status_code == 200, answer.text
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert "error" in events[-1] and events[-1]["error"]["message"], events[-1]
    parts = [part for event in events[:-1] for part in event["candidates"][0].get("content", {}).get("parts", [])]
    assert "".join(part["text"] for part in parts) == cells.CUT
    call.estimated()


def settings(cell):
    options = {
        "temperature": (0.25, ["0.25"], ("generationConfig.temperature",)),
        "top_p": (0.75, ["0.75"], ("generationConfig.topP",)),
        "top_k": (47.0, ['"topK":47', '"top_k":47'], ("generationConfig.topK",)),
        "max_output_tokens": (321, ["321"], ("generationConfig.maxOutputTokens",)),
        "seed": (47110, ["47110"], ("generationConfig.seed",)),
        "presence_penalty": (0.5, ["0.5"], ("generationConfig.presencePenalty",)),
        "frequency_penalty": (0.375, ["0.375"], ("generationConfig.frequencyPenalty",)),
        "stop_sequences": (["STOPWORD"], ["STOPWORD"], ("generationConfig.stopSequences",)),
        "media_resolution": (
            "MEDIA_RESOLUTION_LOW",
            ["MEDIA_RESOLUTION_LOW"],
            ("generationConfig.mediaResolution", "mediaResolution"),
        ),
        "safety_settings": (
            [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            ["HARM_CATEGORY_HARASSMENT"],
            ("safetySettings",),
        ),
    }
    values = {name: value for name, (value, _, _) in options.items()}
    answer, call = create(cell, "echo", tools=TOOLS, **values)
    check_settings(call, text_of_message([answer]), options)


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
