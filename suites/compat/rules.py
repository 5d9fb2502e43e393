"""Translation rules that break agents when wrong, each checked on the provider's request."""

import json

from compat import cells, chat, messages
from compat.cells import PROMPT
from compat.opaque import cell_of


def sent(app, ingress, instance, family=0, **request):
    """The body received by the provider, and the names of the dropped parameters."""
    cell = cell_of(app, ingress, instance, family)
    path, text = {
        "chat": ("/v1/chat/completions", lambda body: body["choices"][0]["message"]["content"]),
        "responses": ("/v1/responses", lambda body: body["output"][-1]["content"][0]["text"]),
        "messages": ("/v1/messages", lambda body: body["content"][-1]["text"]),
    }[ingress]
    call = app.call()
    answer = app.http.post(path, json={"model": cell.model("echo")} | request, headers=call.headers)
    assert answer.status_code == 200, answer.text[:600]
    return json.loads(text(answer.json())), call.dropped


def tool_call(name, arguments="{}"):
    return {"id": name, "type": "function", "function": {"name": cells.TOOL, "arguments": arguments}}


def results_in_one_turn(app):
    history = [
        *chat.user(),
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [tool_call("call_a", '{"city": "Paris"}'), tool_call("call_b")],
        },
        {"role": "tool", "tool_call_id": "call_b", "content": "two"},
        {"role": "tool", "tool_call_id": "call_a", "content": "one"},
        *chat.user("and now"),
    ]
    body, _ = sent(app, "chat", "anthropic", 1, messages=history, tools=chat.TOOLS)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "user"], roles
    blocks = body["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["tool_use", "tool_use"], blocks
    assert [block["id"] for block in blocks] == ["call_a", "call_b"] and blocks[0]["input"] == {"city": "Paris"}
    last = body["messages"][2]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"], last
    assert {block["tool_use_id"] for block in last[:2]} == {"call_a", "call_b"}
    body, _ = sent(app, "chat", "gemini", 1, messages=history, tools=chat.TOOLS)
    assert [content["role"] for content in body["contents"]][:2] == ["user", "model"], body["contents"]
    answered = [part for content in body["contents"] for part in content["parts"] if "functionResponse" in part]
    assert len(answered) == 2 and all(part["functionResponse"]["name"] == cells.TOOL for part in answered), (
        answered
    )


def odd_ids(app):
    """Checks that ids of other vendors are mapped for providers that do not accept them, and restored."""
    name = "functions.get_weather:0"
    history = [
        *chat.user(),
        {"role": "assistant", "tool_calls": [tool_call(name)]},
        {"role": "tool", "tool_call_id": name, "content": "18 degrees"},
    ]
    body, _ = sent(app, "chat", "anthropic", 1, messages=history, tools=chat.TOOLS)
    made, answered = body["messages"][1]["content"][-1]["id"], body["messages"][2]["content"][0]["tool_use_id"]
    assert made == answered and all(letter.isalnum() or letter in "_-" for letter in made), made
    long = "toolu_" + "x" * 80
    turns = [
        *messages.user(),
        {"role": "assistant", "content": [{"type": "tool_use", "id": long, "name": cells.TOOL, "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": long, "content": "18 degrees"}]},
    ]
    body, _ = sent(app, "messages", "openai", 1, messages=turns, tools=messages.TOOLS, max_tokens=64)
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"], body


def empty_arguments(app):
    history = [
        *chat.user(),
        {"role": "assistant", "tool_calls": [tool_call("call_a", "")]},
        {
            "role": "tool",
            "tool_call_id": "call_a",
            "content": [{"type": "text", "text": "18"}, {"type": "text", "text": "degrees"}],
        },
    ]
    body, _ = sent(app, "chat", "anthropic", 1, messages=history, tools=chat.TOOLS)
    assert body["messages"][1]["content"][-1]["input"] == {}, body
    assert "18" in str(body["messages"][2]) and "degrees" in str(body["messages"][2])


def system_in_the_middle(app):
    history = [
        {"role": "system", "content": "First."},
        *chat.user("apples"),
        {"role": "assistant", "content": "pears"},
        {"role": "system", "content": "Second."},
        *chat.user("plums"),
    ]
    for instance, family in (("anthropic", 0), ("anthropic", 1), ("gemini", 0), ("ollama", 0)):
        body, _ = sent(app, "chat", instance, family, messages=history)
        text = json.dumps(body)
        for word in ("First.", "apples", "pears", "Second.", "plums"):
            assert text.count(word) == 1, (word, text)
        turns = json.dumps(body.get("messages") or body.get("contents"))
        assert turns.find("apples") < turns.find("pears") < turns.find("plums")
        if "Second." in turns:
            assert turns.find("pears") < turns.find("Second.") < turns.find("plums")


def turns_alternate(app):
    history = [
        *chat.user("apples"),
        *chat.user("pears"),
        {"role": "assistant", "content": ""},
        *chat.user("plums"),
    ]
    for family in (0, 1, 2):
        body, _ = sent(app, "chat", "anthropic", family, messages=history)
        text = json.dumps(body["messages"])
        assert -1 < text.find("apples") < text.find("pears") < text.find("plums"), text
        assert '"text": ""' not in text, text


def limits(app):
    for family in (0, 1, 2):
        body, _ = sent(app, "chat", "anthropic", family, messages=chat.user())
        assert body["max_tokens"] >= 4096, body
    names = {
        ("chat", "anthropic"): "max_tokens",
        ("messages", "openai"): "max_completion_tokens",
        ("responses", "azure"): "max_completion_tokens",
        ("messages", "ollama"): "max_tokens",
        ("responses", "ollama"): "max_tokens",
        ("responses", "anthropic"): "max_tokens",
    }
    asked = {
        "chat": {"messages": chat.user(), "max_tokens": 333},
        "messages": {"messages": messages.user(), "max_tokens": 333},
        "responses": {"input": PROMPT, "max_output_tokens": 333},
    }
    for (ingress, instance), name in names.items():
        body, _ = sent(app, ingress, instance, **asked[ingress])
        assert body.get(name) == 333, (ingress, instance, body)
    body, _ = sent(app, "chat", "gemini", messages=chat.user(), max_completion_tokens=333)
    assert body["generationConfig"]["maxOutputTokens"] == 333, body
    body, _ = sent(app, "chat", "anthropic", 1, messages=chat.user(), temperature=1.7)
    assert body["temperature"] <= 1, body


def schemas(app):
    schema = {"type": "json_schema", "json_schema": {"name": "w", "schema": cells.TOOL_SCHEMA, "strict": True}}
    body, _ = sent(app, "chat", "anthropic", 0, messages=chat.user(), response_format=schema)
    assert body["output_config"]["format"]["type"] == "json_schema", body
    body, _ = sent(app, "chat", "gemini", 0, messages=chat.user(), response_format=schema)
    config = body["generationConfig"]
    assert config["responseJsonSchema"] and config["responseMimeType"] == "application/json", body
    cell = cell_of(app, "chat", "anthropic", 2)
    choice, _ = chat.create(cell, "schema", response_format=schema)
    assert json.loads(choice.message.content) == {"city": "text"} and not choice.message.tool_calls


def media(app):
    """Image URLs, documents, and images in tool results: sent to the provider, or reported as dropped."""
    pdf = "JVBERi0xLjQKJSVFT0YK"
    link = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": pdf}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": cells.PIXEL}}
    use = {"type": "tool_use", "id": "toolu_1", "name": cells.TOOL, "input": {}}
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "a cat"}, image],
    }
    returned = [*messages.user(), {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    for provider in cells.PROVIDERS:
        cell = cell_of(app, "chat", provider.instance)
        choice, _ = chat.create(
            cell, "see", [{"role": "user", "content": [{"type": "text", "text": "see"}, link]}]
        )
        assert choice.message.content.startswith("I see 1 images"), (provider.instance, choice.message)
        cell = cell_of(app, "messages", provider.instance)
        text = {"type": "text", "text": "read"}
        message, call = messages.create(cell, "see", [{"role": "user", "content": [text, document]}])
        assert "application/pdf 15 bytes" in messages.text_of_message(message) or call.dropped, (
            provider.instance,
            message.content,
        )
        message, call = messages.create(cell, "see", returned, tools=messages.TOOLS)
        assert "image/png 70 bytes" in messages.text_of_message(message) or call.dropped, (provider.instance, message.content)


def several_choices(app):
    for instance in ("anthropic", "gemini"):
        cell = cell_of(app, "chat", instance)
        call = app.call()
        answer = app.openai.chat.completions.create(
            model=cell.model("text"), messages=chat.user(), n=2, extra_headers=call.headers
        )
        assert len(answer.choices) == 2 or "n" in call.dropped, (instance, call.dropped)


def letters(app):
    """Multi-byte text, complete and streamed."""
    text = 'grüße 你好 🎉👩‍🚀 \u2028 end"\\'
    for provider in cells.PROVIDERS:
        cell = cell_of(app, "chat", provider.instance, 1)
        choice, _ = chat.create(cell, "text", chat.user(text))
        assert choice.message.content.endswith(text), choice.message.content
        assert chat.stream(cell, "text", chat.user(text))[1].message.content.endswith(text)
        cell = cell_of(app, "messages", provider.instance, 1)
        assert messages.text_of_message(messages.listen(cell, "text", messages.user(text))[1]).endswith(text)


def long_names(app):
    """Checks that the client sees its own tool names, which may have 128 characters for Anthropic and 64 elsewhere."""
    tool = messages.TOOLS[0] | {"name": "mcp__" + "very_long_" * 10 + "name"}
    for provider in cells.PROVIDERS:
        cell = cell_of(app, "messages", provider.instance)
        for message in (
            messages.create(cell, "tools", tools=[tool])[0],
            messages.listen(cell, "tools", tools=[tool])[1],
        ):
            assert messages.calls_of(message)[0].name == tool["name"], message.content


def bare_tools(app):
    """A function without parameters, and an empty list of tools."""
    bare = [{"type": "function", "function": {"name": cells.TOOL}}]
    for provider in cells.PROVIDERS:
        cell = cell_of(app, "chat", provider.instance, 1)
        choice, _ = chat.create(cell, "tools", tools=bare)
        assert choice.message.tool_calls[0].function.name == cells.TOOL
        if not cell.native:
            chat.create(cell, "text", tools=[])


def thinking_and_the_rest(app):
    """Checks that parameters Claude rejects with thinking are reported as dropped, and that the limit leaves room for
    thinking."""
    for family in (0, 1):
        low = {"messages": chat.user(), "reasoning_effort": "low"}
        body, dropped = sent(app, "chat", "anthropic", family, temperature=0.5, top_p=0.5, **low)
        assert "temperature" not in body and {"temperature", "top_p"} <= dropped, (body, dropped)
        body, _ = sent(
            app, "chat", "anthropic", family, max_completion_tokens=500, **(low | {"reasoning_effort": "high"})
        )
        assert body["max_tokens"] >= 500
        cell = cell_of(app, "chat", "anthropic", family)
        choice, call = chat.create(cell, "tools", tools=chat.TOOLS, tool_choice="required", reasoning_effort="low")
        assert choice.message.tool_calls and call.dropped & {"reasoning_effort", "tool_choice"}, call.dropped


def any_json(app):
    for instance in ("anthropic", "gemini"):
        body, dropped = sent(
            app, "chat", instance, messages=chat.user("json"), response_format={"type": "json_object"}
        )
        assert "application/json" in json.dumps(body) or "response_format" in dropped, (body, dropped)


def loose_schema(app):
    """Checks that unsupported limits are removed from a schema and the answer is still JSON."""
    schema = {
        "type": "object",
        "properties": {
            "age": {"type": "integer", "minimum": 3, "maximum": 9},
            "name": {"type": "string", "maxLength": 20},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["age", "name", "tags"],
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}}
    for provider in cells.PROVIDERS:
        for family in range(len(provider.families)):
            cell = cell_of(app, "chat", provider.instance, family)
            choice, _ = chat.create(cell, "schema", response_format=wanted)
            assert set(json.loads(choice.message.content)) == {"age", "name", "tags"}, choice.message.content


def many_stops(app):
    stops = ["one", "two", "three", "four", "five", "six", "  "]
    for provider in cells.PROVIDERS:
        if provider.instance != "anthropic":
            body, dropped = sent(
                app,
                "messages",
                provider.instance,
                1,
                messages=messages.user(),
                max_tokens=64,
                stop_sequences=stops,
            )
            carried = body.get("stop") or body.get("generationConfig", {}).get("stopSequences") or []
            assert carried == stops or "stop_sequences" in dropped, (provider.instance, body, dropped)
    body, dropped = sent(app, "chat", "anthropic", 1, messages=chat.user(), stop=stops[-4:])
    assert "stop" in dropped and "  " not in body["stop_sequences"], (body, dropped)


def prefilled(app):
    """A trailing assistant turn is sent on to every provider without an error by the gateway."""
    history = [*chat.user("apples"), {"role": "assistant", "content": "pears"}]
    for provider in cells.PROVIDERS:
        for family in range(len(provider.families)):
            body, _ = sent(app, "chat", provider.instance, family, messages=history)
            assert "pears" in json.dumps(body), body


def large_limits(app):
    """Checks that Anthropic gets the model's own limit if the client sends none or a higher one."""
    for model, most in (("claude-opus-4-1", 32_000), ("claude-sonnet-4-5", 64_000)):
        for options in ({}, {"max_tokens": 1_000_000}, {"max_completion_tokens": 1_000_000}):
            call = app.call()
            app.openai.chat.completions.create(
                model=f"anthropic/{model}", messages=chat.user(call.id), extra_headers=call.headers, **options
            )
            assert app.sent(call.id)["max_tokens"] == most, (model, options, app.sent(call.id))


CHECKS = {
    "parallel tool results are one turn for Anthropic and Gemini": results_in_one_turn,
    "tool call ids that a provider does not accept are mapped": odd_ids,
    "empty tool arguments become valid JSON, tool results may be lists": empty_arguments,
    "a system message inside a conversation keeps its position or moves to the system prompt": system_in_the_middle,
    "consecutive turns of one role are merged, empty ones removed": turns_alternate,
    "the output limit is sent under each format's name": limits,
    "a JSON schema is sent natively or as a forced tool": schemas,
    "images by URL, documents, images in tool results": media,
    "several choices are generated or reported as dropped": several_choices,
    "multi-byte characters": letters,
    "long tool names": long_names,
    "tools without parameters": bare_tools,
    "parameters that cannot be combined with thinking": thinking_and_the_rest,
    "JSON mode without a schema": any_json,
    "a schema with unsupported constraints": loose_schema,
    "more stop sequences than a provider accepts": many_stops,
    "a prefilled assistant message": prefilled,
    "an output limit above the model's maximum": large_limits,
}
