"""Tool calls: single, parallel, streamed, and the results."""

import json

import pytest

from sdk.conftest import user

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "forecast",
            "description": "The weather in a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
CITIES = {"openai/tools": ["Paris"], "openai/parallel-tools": ["Paris", "Zürich"]}


@pytest.mark.parametrize("model", CITIES)
def test_tools_are_called_and_their_results_return(client, model):
    messages = user("How is the weather?")
    answer = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    assert answer.choices[0].finish_reason == "tool_calls"
    calls = answer.choices[0].message.tool_calls
    assert [call.function.name for call in calls] == ["forecast"] * len(calls)
    assert [json.loads(call.function.arguments)["city"] for call in calls] == CITIES[model]
    messages.append(answer.choices[0].message.model_dump(exclude_none=True))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls]
    answer = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    assert answer.choices[0].message.content == "The tools said: " + "; ".join(["sunny"] * len(calls))


@pytest.mark.parametrize("model", CITIES)
def test_streamed_calls_can_be_put_together(client, model):
    stream = client.chat.completions.create(model=model, messages=user(), tools=TOOLS, stream=True)
    calls, finish = {}, None
    for chunk in stream:
        finish = chunk.choices[0].finish_reason or finish
        for part in chunk.choices[0].delta.tool_calls or []:
            call = calls.setdefault(part.index, {"id": part.id, "name": part.function.name, "arguments": ""})
            call["arguments"] += part.function.arguments or ""
    assert finish == "tool_calls"
    assert [json.loads(call["arguments"])["city"] for call in calls.values()] == CITIES[model]
    assert all(call["id"] and call["name"] == "forecast" for call in calls.values())
    assert len({call["id"] for call in calls.values()}) == len(calls)


def test_the_sdk_s_own_helper_follows_a_stream(client):
    with client.chat.completions.stream(model="openai/parallel-tools", messages=user(), tools=TOOLS) as stream:
        message = stream.get_final_completion().choices[0].message
    assert [json.loads(call.function.arguments)["city"] for call in message.tool_calls] == ["Paris", "Zürich"]
