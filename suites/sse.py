"""Parses an answer of each format, complete or streamed, and reports violations of the format's grammar."""

import dataclasses
import json


@dataclasses.dataclass
class ParsedAnswer:
    """The answer as a client understands it."""

    text: str = ""
    # (name, arguments as text), in order.
    calls: list = dataclasses.field(default_factory=list)
    ids: set = dataclasses.field(default_factory=set)
    finish: str | None = None
    # Number of regular end events.
    ends: int = 0
    error: dict | None = None
    comments: list = dataclasses.field(default_factory=list)
    # Violations of the format.
    faults: list = dataclasses.field(default_factory=list)

    def expect(self, condition, what):
        if not condition:
            self.faults.append(what)


def events(body):
    """Returns (name, data) of each event and (None, comment) of each comment, and whether an unfinished event remains.
    """
    found, name, data = [], "", []
    lines = body.decode().replace("\r\n", "\n").split("\n")
    for line in lines[:-1]:
        if line.startswith(":"):
            found.append((None, line[1:].strip()))
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line:
            if data:
                found.append((name, "\n".join(data)))
            name, data = "", []
    return found, bool(lines[-1] or data)


def read_stream(format, body):
    answer = ParsedAnswer()
    found, unfinished = events(body)
    answer.expect(not unfinished, "the body ends inside an event")
    answer.comments = [text for name, text in found if name is None]
    STREAMS[format](answer, [(name, data) for name, data in found if name is not None])
    return answer


def read_document(format, body):
    answer = ParsedAnswer()
    DOCUMENTS[format](answer, json.loads(body))
    return answer


# Chat completions.


def chat_stream(answer, found):
    calls, done, finishes, roles = {}, 0, [], 0
    for _, data in found:
        answer.expect(not done, "something after [DONE]")
        if data == "[DONE]":
            done += 1
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            answer.error = chunk["error"]
            continue
        answer.expect(answer.error is None, "a chunk after the error")
        answer.ids.add(chunk["id"])
        answer.expect(chunk["object"] == "chat.completion.chunk", f"object {chunk['object']}")
        for choice in chunk["choices"]:
            delta = choice["delta"]
            answer.expect(choice["index"] == 0, "another choice")
            answer.expect(not finishes or not delta.get("content"), "content after finish_reason")
            roles += "role" in delta
            answer.expect(roles == 1, f"{roles} roles so far")
            answer.text += delta.get("content") or ""
            for part in delta.get("tool_calls") or []:
                chat_call(answer, calls, part)
            if choice.get("finish_reason"):
                finishes.append(choice["finish_reason"])
    answer.calls = [tuple(calls[index]) for index in sorted(calls)]
    answer.expect(len(finishes) == (0 if answer.error else 1), f"finish reasons {finishes}")
    answer.expect(done == (0 if answer.error else 1), f"{done} [DONE], error {answer.error}")
    answer.expect(len(answer.ids) == 1 or answer.error, f"ids {answer.ids}")
    answer.finish = finishes[0] if finishes else None
    answer.ends = done


def chat_call(answer, calls, part):
    function = part.get("function") or {}
    if part["index"] not in calls:
        answer.expect(part.get("id") and function.get("name"), f"a call begins without id or name: {part}")
        answer.expect(part["index"] == len(calls), f"call {part['index']} after {len(calls)}")
        calls[part["index"]] = [function.get("name"), ""]
    else:
        answer.expect("id" not in part, f"call {part['index']} begins twice")
    calls[part["index"]][1] += function.get("arguments") or ""


def chat_document(answer, document):
    [choice] = document["choices"]
    message = choice["message"]
    answer.ids.add(document["id"])
    answer.text = message.get("content") or ""
    answer.calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
    answer.finish, answer.ends = choice["finish_reason"], 1


# Responses.


def responses_stream(answer, found):
    items, open_item, parts, done = {}, None, {}, 0
    last = None
    for number, (name, data) in enumerate(found):
        answer.expect(not done, "something after [DONE]")
        if data == "[DONE]":
            done += 1
            continue
        event = json.loads(data)
        kind = event.get("type", name)
        answer.expect(name == kind, f"event {name!r} with type {kind!r}")
        if kind == "error":
            answer.error = event.get("error") or event
            continue
        answer.expect(event["sequence_number"] == number, f"sequence {event['sequence_number']} at {number}")
        answer.expect(last is None, f"{kind} after the end")
        if "response" in event:
            answer.ids.add(event["response"]["id"])
        match kind:
            case "response.created":
                answer.expect(number == 0, "created is not first")
            case "response.output_item.added":
                answer.expect(open_item is None, "an item opens inside another")
                answer.expect(event["output_index"] == len(items), f"output_index {event['output_index']}")
                open_item = event["item"]["id"]
                items[open_item] = ""
            case "response.content_part.added":
                parts[event["item_id"], event["content_index"]] = ""
            case "response.output_text.delta":
                answer.expect((event["item_id"], event["content_index"]) in parts, "a delta outside a part")
                answer.expect(event["item_id"] == open_item, "a delta of an item that is not open")
                parts[event["item_id"], event["content_index"]] += event["delta"]
                answer.text += event["delta"]
            case "response.function_call_arguments.delta":
                answer.expect(event["item_id"] == open_item, "arguments of an item that is not open")
                items[event["item_id"]] += event["delta"]
            case "response.output_text.done":
                text = parts[event["item_id"], event["content_index"]]
                answer.expect(event["text"] == text, f"done says {event['text']!r}, the deltas {text!r}")
            case "response.function_call_arguments.done":
                answer.expect(event["arguments"] == items[event["item_id"]], "done has other arguments")
            case "response.output_item.done":
                answer.expect(event["item"]["id"] == open_item, "another item is done")
                if event["item"]["type"] == "function_call":
                    answer.calls.append((event["item"]["name"], event["item"]["arguments"]))
                open_item = None
            case "response.completed" | "response.incomplete":
                last, answer.ends = kind, answer.ends + 1
                answer.expect(open_item is None, "the end comes inside an item")
                whole = ParsedAnswer()
                responses_document(whole, event["response"])
                answer.expect(whole.text == answer.text, f"the end says {whole.text!r}, the deltas {answer.text!r}")
                answer.expect(whole.calls == answer.calls, f"the end has calls {whole.calls}, the items {answer.calls}")
                answer.expect([item["id"] for item in event["response"]["output"]] == list(items), "other items")
                answer.finish = whole.finish
            case "response.failed":
                last = kind
                answer.error = event["response"].get("error")
    answer.expect(last is not None, "no end")
    # After a failure reported by the provider itself, a native stream also has its [DONE].
    passed_on = last == "response.failed" and found[-1] == ("", "[DONE]")
    answer.expect(done == (1 if answer.ends or passed_on else 0), f"{done} [DONE] after {last}")
    answer.expect(len(answer.ids) == 1, f"ids {answer.ids}")


def responses_document(answer, document):
    answer.ids.add(document["id"])
    for item in document["output"]:
        if item["type"] == "message":
            answer.text += "".join(part.get("text", "") for part in item["content"])
        elif item["type"] == "function_call":
            answer.calls.append((item["name"], item["arguments"]))
    answer.finish, answer.ends = document["status"], 1


# Messages.


def messages_stream(answer, found):
    blocks, open_block, stopped = [], None, False
    for number, (name, data) in enumerate(found):
        event = json.loads(data)
        kind = event["type"]
        answer.expect(name == kind, f"event {name!r} with type {kind!r}")
        if kind == "ping":
            continue
        answer.expect(not stopped and not answer.error, f"{kind} after the end")
        match kind:
            case "message_start":
                answer.expect(not answer.ids, "a second message_start")
                answer.ids.add(event["message"]["id"])
            case "content_block_start":
                answer.expect(open_block is None, "a block opens inside another")
                answer.expect(event["index"] == len(blocks), f"block {event['index']} after {len(blocks)}")
                open_block = event["index"]
                blocks.append([event["content_block"], ""])
            case "content_block_delta":
                answer.expect(event["index"] == open_block, f"a delta of block {event['index']}, open is {open_block}")
                delta = event["delta"]
                blocks[-1][1] += delta.get("text", "") + delta.get("partial_json", "")
            case "content_block_stop":
                answer.expect(event["index"] == open_block, f"block {event['index']} ends, open is {open_block}")
                open_block = None
            case "message_delta":
                answer.expect(open_block is None, "message_delta inside a block")
                answer.expect(answer.finish is None, "a second message_delta")
                answer.finish = event["delta"]["stop_reason"]
            case "message_stop":
                stopped = True
                answer.ends += 1
            case "error":
                answer.error = event["error"]
            case _:
                answer.faults.append(f"an unknown event {kind}")
    answer.expect(len(answer.ids) == 1, f"{len(answer.ids)} message ids")
    answer.expect(stopped != bool(answer.error), f"message_stop {stopped}, error {answer.error}")
    answer.text = "".join(text for block, text in blocks if block["type"] == "text")
    answer.calls = [(block["name"], text or "{}") for block, text in blocks if block["type"] == "tool_use"]


def messages_document(answer, document):
    answer.ids.add(document["id"])
    answer.text = "".join(block["text"] for block in document["content"] if block["type"] == "text")
    used = [block for block in document["content"] if block["type"] == "tool_use"]
    answer.calls = [(block["name"], json.dumps(block["input"])) for block in used]
    answer.finish, answer.ends = document["stop_reason"], 1


STREAMS = {"chat": chat_stream, "responses": responses_stream, "messages": messages_stream}
DOCUMENTS = {"chat": chat_document, "responses": responses_document, "messages": messages_document}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
# Finish reasons of a regular end and of tool calls, by format.
FINISHES = {"chat": ("stop", "tool_calls"), "responses": ("completed", "completed"), "messages": ("end_turn", "tool_use")}


def request(format, model, text, stream, tool=None):
    """The same question in each format."""
    body = {"model": model, "stream": stream}
    if format == "responses":
        body["input"] = text
    else:
        body["messages"] = [{"role": "user", "content": text}]
    if format == "messages":
        body["max_tokens"] = 4000
    if tool:
        schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        described = {"name": tool, "description": "Looks at a city"}
        body["tools"] = [
            {
                "chat": {"type": "function", "function": described | {"parameters": schema}},
                "responses": {"type": "function", **described, "parameters": schema},
                "messages": described | {"input_schema": schema},
            }[format]
        ]
    return body
