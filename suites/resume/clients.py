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


def send(app, client, model, prompt, request_id, tools=False):
    """Returns what this client received; an exception of an SDK is recorded as its error."""
    format = client.removeprefix("sdk-")
    body = sse.request(format, model, prompt, True, TOOL if tools else None)
    if client in RAW:
        return raw(app, format, body, request_id)
    del body["stream"]
    answer = sse.ParsedAnswer()
    headers = {"x-request-id": request_id}
    try:
        {"chat": chat, "responses": responses, "messages": messages}[format](app, body, headers, answer)
    except (openai.APIError, anthropic.APIError) as error:
        answer.error = error
    return answer


def raw(app, format, body, request_id):
    headers = rig.bearer(rig.MASTER_KEY) | {"content-type": "application/json", "x-request-id": request_id}
    with http1.Connection(app.gateway.port, timeout=30) as connection:
        response = connection.ask("POST", sse.PATHS[format], headers, json.dumps(body).encode())
    if response.status != 200:
        return sse.ParsedAnswer(error={"status": response.status, "body": response.body.decode(errors="replace")})
    return sse.read_stream(format, response.body)


def chat(app, body, headers, answer):
    with app.openai.chat.completions.stream(**body, extra_headers=headers) as stream:
        for event in stream:
            if event.type == "chunk":
                answer.ids.add(event.chunk.id)
            elif event.type == "content.delta":
                answer.text += event.delta
        final = stream.get_final_completion().choices[0]
    answer.expect((final.message.content or "") == answer.text, "the final completion has another text")
    answer.calls = [(call.function.name, call.function.arguments) for call in final.message.tool_calls or []]
    answer.finish, answer.ends = final.finish_reason, 1


def responses(app, body, headers, answer):
    with app.openai.responses.stream(**body, extra_headers=headers) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                answer.text += event.delta
            elif event.type == "response.completed":
                answer.ends += 1
            elif event.type == "response.failed":
                answer.error = event.response.error
            if hasattr(event, "response"):
                answer.ids.add(event.response.id)
        if answer.error:
            return
        final = stream.get_final_response()
    answer.expect(final.output_text == answer.text, "the final response has another text")
    answer.calls = [(item.name, item.arguments) for item in final.output if item.type == "function_call"]
    answer.finish = final.status


def messages(app, body, headers, answer):
    with app.anthropic.messages.stream(**body, extra_headers=headers) as stream:
        for event in stream:
            if event.type == "text":
                answer.text += event.text
            elif event.type == "message_start":
                answer.ids.add(event.message.id)
            elif event.type == "message_stop":
                answer.ends += 1
        final = stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    answer.expect(text == answer.text, "the final message has another text")
    answer.calls = [(block.name, json.dumps(block.input)) for block in final.content if block.type == "tool_use"]
    answer.finish = final.stop_reason
