"""The clients: the official SDKs' streaming helpers, and a raw one."""

import json

import anthropic
import openai

import http1
import rig
import sse

TOOL = "look_at"
SDKS = ["sdk-chat", "sdk-responses", "sdk-messages"]
RAW = ["chat", "responses", "messages"]


def listen(stage, client, model, order, request_id, tools=False):
    """Returns what this client received; an exception of an SDK is recorded as its error."""
    format = client.removeprefix("sdk-")
    body = sse.request(format, model, order, True, TOOL if tools else None)
    if client in RAW:
        return raw(stage, format, body, request_id)
    del body["stream"]
    told = sse.Told()
    headers = {"x-request-id": request_id}
    try:
        {"chat": chat, "responses": responses, "messages": messages}[format](stage, body, headers, told)
    except (openai.APIError, anthropic.APIError) as error:
        told.error = error
    return told


def raw(stage, format, body, request_id):
    headers = rig.bearer(rig.MASTER_KEY) | {"content-type": "application/json", "x-request-id": request_id}
    with http1.Connection(stage.gateway.port, timeout=30) as connection:
        response = connection.ask("POST", sse.PATHS[format], headers, json.dumps(body).encode())
    if response.status != 200:
        return sse.Told(error={"status": response.status, "body": response.body.decode(errors="replace")})
    return sse.read_stream(format, response.body)


def chat(stage, body, headers, told):
    with stage.openai.chat.completions.stream(**body, extra_headers=headers) as stream:
        for event in stream:
            if event.type == "chunk":
                told.ids.add(event.chunk.id)
            elif event.type == "content.delta":
                told.text += event.delta
        final = stream.get_final_completion().choices[0]
    told.expect((final.message.content or "") == told.text, "the final completion says something else")
    told.calls = [(call.function.name, call.function.arguments) for call in final.message.tool_calls or []]
    told.finish, told.ends = final.finish_reason, 1


def responses(stage, body, headers, told):
    with stage.openai.responses.stream(**body, extra_headers=headers) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                told.text += event.delta
            elif event.type == "response.completed":
                told.ends += 1
            elif event.type == "response.failed":
                told.error = event.response.error
            if hasattr(event, "response"):
                told.ids.add(event.response.id)
        if told.error:
            return
        final = stream.get_final_response()
    told.expect(final.output_text == told.text, "the final response says something else")
    told.calls = [(item.name, item.arguments) for item in final.output if item.type == "function_call"]
    told.finish = final.status


def messages(stage, body, headers, told):
    with stage.anthropic.messages.stream(**body, extra_headers=headers) as stream:
        for event in stream:
            if event.type == "text":
                told.text += event.text
            elif event.type == "message_start":
                told.ids.add(event.message.id)
            elif event.type == "message_stop":
                told.ends += 1
        final = stream.get_final_message()
    said = "".join(block.text for block in final.content if block.type == "text")
    told.expect(said == told.text, "the final message says something else")
    told.calls = [(block.name, json.dumps(block.input)) for block in final.content if block.type == "tool_use"]
    told.finish = final.stop_reason
