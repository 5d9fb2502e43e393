"""Opaque state: signatures and redacted thinking pass through every format unchanged."""

import anthropic

from compat import cells, chat, gemini, messages, responses
from compat.probes import raises

SEALING = ("anthropic", "gemini", "openai")


def cell_of(app, ingress, instance, family=0):
    provider = next(provider for provider in cells.PROVIDERS if provider.instance == instance)
    return cells.Cell(app, ingress, provider, provider.families[family], "opaque state")


def redacted(app):
    """Checks that redacted thinking is sent back with the next turn."""
    for family in (0, 1):
        cell = cell_of(app, "messages", "anthropic", family)
        options = messages.thinking_options(cell)
        message, call = messages.create(cell, "redacted", **options)
        assert [block.type for block in message.content] == ["redacted_thinking", "text"], message.content
        turns = [*messages.user(), messages.echoed(message), *messages.user(call.id)]
        messages.create(cell, "redacted", turns, **options)
        check_redacted(app, call)
        cell = cell_of(app, "chat", "anthropic", family)
        choice, call = chat.create(cell, "redacted", reasoning_effort="low")
        assert not getattr(choice.message, "reasoning_content", None)
        turns = [*chat.user(), chat.assistant(choice.message), *chat.user(call.id)]
        chat.create(cell, "redacted", turns, reasoning_effort="low")
        check_redacted(app, call)
        cell = cell_of(app, "responses", "anthropic", family)
        options = {"reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
        response, call = responses.create(cell, "redacted", **options)
        turns = [*responses.user(), *responses.echoed(response), *responses.user(call.id)]
        responses.create(cell, "redacted", turns, **options)
        check_redacted(app, call)


def check_redacted(app, call):
    """Checks the blocks; the upstream itself rejects data it did not issue."""
    blocks = app.sent(call.id)["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["redacted_thinking", "text"], blocks


def strict(app):
    """Checks that the upstream rejects an altered signature, so that the round trips above are meaningful."""
    cell = cell_of(app, "messages", "anthropic", 1)
    options = messages.thinking_options(cell)
    message, _ = messages.create(cell, "tools", tools=messages.TOOLS, **options)
    turn = messages.echoed(message)
    turn["content"][0]["signature"] = "c29tZXRoaW5nIGVsc2U="
    result = {"type": "tool_result", "tool_use_id": messages.calls_of(message)[0].id, "content": "18 degrees"}
    turns = [*messages.user(), turn, {"role": "user", "content": [result]}]
    refused = raises(
        anthropic.BadRequestError, lambda: messages.create(cell, "tools", turns, tools=messages.TOOLS, **options)
    )
    assert "signature" in str(refused), refused


def other_model(app):
    """Continues a conversation with another model, which does not get the first model's thinking."""
    for begun in SEALING:
        for other in (provider.instance for provider in cells.PROVIDERS):
            if other == begun:
                continue
            cell, following = cell_of(app, "messages", begun), cell_of(app, "messages", other)
            options = messages.thinking_options(cell)
            message, _ = messages.create(cell, "tools", tools=messages.TOOLS, **options)
            messages.loop(following, message, "tools", **messages.thinking_options(following))
            cell, following = cell_of(app, "chat", begun), cell_of(app, "chat", other)
            choice, _ = chat.create(cell, "tools", tools=chat.TOOLS, reasoning_effort="low")
            chat.loop(following, choice, "tools")
            cell, following = cell_of(app, "responses", begun), cell_of(app, "responses", other)
            options = {"reasoning": {"effort": "low"}, "store": False, "include": ["reasoning.encrypted_content"]}
            response, _ = responses.create(cell, "tools", tools=responses.TOOLS, **options)
            responses.loop(following, response, "tools", **options)


def other_generation(app):
    """The same within one provider: a signature belongs to the model that created it."""
    for instance in ("anthropic", "gemini"):
        for first, second in ((0, 1), (1, 0)):
            cell, following = cell_of(app, "chat", instance, first), cell_of(app, "chat", instance, second)
            choice, _ = chat.create(cell, "tools", tools=chat.TOOLS, reasoning_effort="low")
            chat.loop(following, choice, "tools", reasoning_effort="low")


def invented_calls(app):
    """Checks that models which require signatures accept calls that no thinking model made."""
    call = {"id": "call_1", "type": "function", "function": {"name": cells.TOOL, "arguments": '{"city": "Paris"}'}}
    turns = [
        *chat.user(),
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees"},
    ]
    for instance in SEALING:
        for family in (0, 1):
            cell = cell_of(app, "chat", instance, family)
            options = {"reasoning_effort": "low"} if cell.family.thinks else {}
            choice, _ = chat.create(cell, "tools", turns, tools=chat.TOOLS, **options)
            assert choice.message.content == "The tools said: 18 degrees", choice.message


def gemini_clients(app):
    """Checks that Gemini clients keep another provider's state as a thought signature."""
    for instance in ("anthropic", "openai"):
        cell = cell_of(app, "generate", instance)
        options = {"thinking_config": gemini.thinking_config(cell)}
        answer, _ = gemini.create(cell, "tools", tools=gemini.TOOLS, **options)
        gemini.loop(cell, [answer], "tools", **options)


CHECKS = {
    "redacted thinking is returned to the provider unchanged": redacted,
    "an altered signature is rejected": strict,
    "thinking of another provider is removed": other_model,
    "thinking of another model generation is removed": other_generation,
    "tool calls without reasoning state are accepted": invented_calls,
    "Gemini clients keep the reasoning state of other providers": gemini_clients,
}
