"""Requests as current coding agents send them."""

import json

from compat import cells, messages, responses
from compat.cells import PROMPT
from compat.opaque import cell_of


def rich_tools(app):
    """Tool schemas as real agents send them: references, unions, limits."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "path": {"type": "string", "minLength": 1},
            "depth": {"type": ["integer", "null"], "exclusiveMinimum": 0},
            "mode": {"anyOf": [{"const": "fast"}, {"enum": ["slow", "slower"]}]},
            "edits": {"$ref": "#/definitions/edits"},
        },
        "definitions": {
            "edits": {"type": "array", "items": {"type": "object", "properties": {"old": {"type": "string"}}}}
        },
        "required": ["path"],
    }
    tool = {"name": "edit", "description": "Edits", "input_schema": schema}
    for provider in cells.PROVIDERS:
        for family in range(len(provider.families)):
            cell = cell_of(app, "messages", provider.instance, family)
            message, _ = messages.create(cell, "tools", tools=[tool])
            assert messages.calls_of(message)[0].name == "edit"


def codex(app):
    """Codex's request: reasoning items in the input, vendor-specific tools, nothing stored."""
    tools = [
        {
            "type": "function",
            "name": "shell",
            "description": "x",
            "strict": False,
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "array", "items": {"type": "string"}}},
            },
        },
        {
            "type": "custom",
            "name": "apply_patch",
            "description": "x",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
        },
        {"type": "web_search", "external_web_access": False},
        {
            "type": "namespace",
            "name": "mcp",
            "description": "x",
            "tools": [
                {
                    "type": "function",
                    "name": "look",
                    "description": "x",
                    "parameters": {"type": "object", "properties": {}},
                }
            ],
        },
    ]
    options = {
        "instructions": "You are an agent.",
        "tools": tools,
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "x",
        "text": {"verbosity": "low"},
    }
    for instance in ("anthropic", "gemini", "openai", "openai_compatible"):
        cell = cell_of(app, "responses", instance)
        _, response, _ = responses.listen(cell, "tools", responses.user(), **options)
        [made] = responses.calls_of(response)
        assert made.name == "shell", made
        result = {"type": "function_call_output", "call_id": made.call_id, "output": "18 degrees"}
        turns = [*responses.user(), *responses.echoed(response), result]
        _, answer, _ = responses.listen(cell, "tools", turns, **options)
        assert answer.output_text == "The tools said: 18 degrees", answer.output


def custom_tool(app):
    """Checks that a custom tool is called with free text on every provider."""
    tools = [{"type": "custom", "name": "apply_patch", "description": "x"}]
    for instance in ("openai", "anthropic", "gemini", "ollama"):
        cell = cell_of(app, "responses", instance)
        call = cell.call()
        response = app.openai.responses.create(
            model=cell.model("tools"), input=PROMPT, tools=tools, extra_headers=call.headers
        )
        made = [item for item in response.output if item.type.endswith("_call")]
        assert [item.type for item in made] == ["custom_tool_call"] and made[0].name == "apply_patch", (
            response.output
        )
        assert isinstance(made[0].input, str) and made[0].call_id
        turns = [
            *responses.user(),
            *responses.echoed(response),
            {"type": "custom_tool_call_output", "call_id": made[0].call_id, "output": "18 degrees"},
        ]
        answer, _ = responses.create(cell, "tools", turns, tools=tools)
        assert answer.output_text == "The tools said: 18 degrees", answer.output


def claude_code(app):
    """Claude Code's request: beta header and query, many cache marks, a user id that is JSON."""
    beta = {"anthropic-beta": "context-management-2025-06-27,interleaved-thinking-2025-05-14"}
    mark = {"type": "ephemeral"}
    body = {
        "max_tokens": 32000,
        "stream": False,
        "metadata": {"user_id": json.dumps({"device": "d", "session": "s"})},
        "system": [{"type": "text", "text": "You are Claude Code.", "cache_control": mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT, "cache_control": mark}]}],
        "tools": [dict(tool, cache_control=mark) for tool in messages.TOOLS],
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    }
    for provider in cells.PROVIDERS:
        cell = cell_of(app, "messages", provider.instance)
        call = app.call()
        answer = app.http.post(
            "/v1/messages?beta=true", json=body | {"model": cell.model("text")}, headers=call.headers | beta
        )
        assert answer.status_code == 200, (provider.instance, answer.text[:400])
        assert answer.json()["content"][-1]["text"] == cells.GREETING
        carried = "context_management" not in call.dropped
        assert carried == (provider.instance == "anthropic"), (provider.instance, call.dropped)
    seen = [
        request
        for request in app.upstream.requests()
        if any(name == "anthropic-beta" for name, _ in request["headers"])
    ]
    assert seen and all(request["path"].startswith("/v1/messages") for request in seen)


CHECKS = {
    "complex tool schemas are accepted by every provider": rich_tools,
    "Codex's requests": codex,
    "custom tools": custom_tool,
    "Claude Code's requests": claude_code,
}
