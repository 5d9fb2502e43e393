"""Parses an answer of each format, complete or streamed, and reports violations of the format's grammar."""

import dataclasses
import json


@dataclasses.dataclass
class Told:
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
    told = Told()
    found, unfinished = events(body)
    told.expect(not unfinished, "the body ends inside an event")
    told.comments = [text for name, text in found if name is None]
    STREAMS[format](told, [(name, data) for name, data in found if name is not None])
    return told


def read_document(format, body):
    told = Told()
    DOCUMENTS[format](told, json.loads(body))
    return told


# Chat completions.


def chat_stream(told, found):
    calls, done, finishes, roles = {}, 0, [], 0
    for _, data in found:
        told.expect(not done, "something after [DONE]")
        if data == "[DONE]":
            done += 1
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            told.error = chunk["error"]
            continue
        told.expect(told.error is None, "a chunk after the error")
        told.ids.add(chunk["id"])
        told.expect(chunk["object"] == "chat.completion.chunk", f"object {chunk['object']}")
        for choice in chunk["choices"]:
            delta = choice["delta"]
            told.expect(choice["index"] == 0, "another choice")
            told.expect(not finishes or not delta.get("content"), "content after finish_reason")
            roles += "role" in delta
            told.expect(roles == 1, f"{roles} roles so far")
            told.text += delta.get("content") or ""
            for part in delta.get("tool_calls") or []:
                chat_call(told, calls, part)
            if choice.get("finish_reason"):
                finishes.append(choice["finish_reason"])
    told.calls = [tuple(calls[index]) for index in sorted(calls)]
    told.expect(len(finishes) == (0 if told.error else 1), f"finish reasons {finishes}")
    told.expect(done == (0 if told.error else 1), f"{done} [DONE], error {told.error}")
    told.expect(len(told.ids) == 1 or told.error, f"ids {told.ids}")
    told.finish = finishes[0] if finishes else None
    told.ends = done


def chat_call(told, calls, part):
    function = part.get("function") or {}
    if part["index"] not in calls:
        told.expect(part.get("id") and function.get("name"), f"a call begins without id or name: {part}")
        told.expect(part["index"] == len(calls), f"call {part['index']} after {len(calls)}")
        calls[part["index"]] = [function.get("name"), ""]
    else:
        told.expect("id" not in part, f"call {part['index']} begins twice")
    calls[part["index"]][1] += function.get("arguments") or ""


def chat_document(told, document):
    [choice] = document["choices"]
    message = choice["message"]
    told.ids.add(document["id"])
    told.text = message.get("content") or ""
    told.calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
    told.finish, told.ends = choice["finish_reason"], 1


# Responses.


def responses_stream(told, found):
    items, open_item, parts, done = {}, None, {}, 0
    last = None
    for number, (name, data) in enumerate(found):
        told.expect(not done, "something after [DONE]")
        if data == "[DONE]":
            done += 1
            continue
        event = json.loads(data)
        kind = event.get("type", name)
        told.expect(name == kind, f"event {name!r} with type {kind!r}")
        if kind == "error":
            told.error = event.get("error") or event
            continue
        told.expect(event["sequence_number"] == number, f"sequence {event['sequence_number']} at {number}")
        told.expect(last is None, f"{kind} after the end")
        if "response" in event:
            told.ids.add(event["response"]["id"])
        match kind:
            case "response.created":
                told.expect(number == 0, "created is not first")
            case "response.output_item.added":
                told.expect(open_item is None, "an item opens inside another")
                told.expect(event["output_index"] == len(items), f"output_index {event['output_index']}")
                open_item = event["item"]["id"]
                items[open_item] = ""
            case "response.content_part.added":
                parts[event["item_id"], event["content_index"]] = ""
            case "response.output_text.delta":
                told.expect((event["item_id"], event["content_index"]) in parts, "a delta outside a part")
                told.expect(event["item_id"] == open_item, "a delta of an item that is not open")
                parts[event["item_id"], event["content_index"]] += event["delta"]
                told.text += event["delta"]
            case "response.function_call_arguments.delta":
                told.expect(event["item_id"] == open_item, "arguments of an item that is not open")
                items[event["item_id"]] += event["delta"]
            case "response.output_text.done":
                said = parts[event["item_id"], event["content_index"]]
                told.expect(event["text"] == said, f"done says {event['text']!r}, the deltas {said!r}")
            case "response.function_call_arguments.done":
                told.expect(event["arguments"] == items[event["item_id"]], "done has other arguments")
            case "response.output_item.done":
                told.expect(event["item"]["id"] == open_item, "another item is done")
                if event["item"]["type"] == "function_call":
                    told.calls.append((event["item"]["name"], event["item"]["arguments"]))
                open_item = None
            case "response.completed" | "response.incomplete":
                last, told.ends = kind, told.ends + 1
                told.expect(open_item is None, "the end comes inside an item")
                whole = Told()
                responses_document(whole, event["response"])
                told.expect(whole.text == told.text, f"the end says {whole.text!r}, the deltas {told.text!r}")
                told.expect(whole.calls == told.calls, f"the end has calls {whole.calls}, the items {told.calls}")
                told.expect([item["id"] for item in event["response"]["output"]] == list(items), "other items")
                told.finish = whole.finish
            case "response.failed":
                last = kind
                told.error = event["response"].get("error")
    told.expect(last is not None, "no end")
    # After a failure reported by the provider itself, a native stream also has its [DONE].
    passed_on = last == "response.failed" and found[-1] == ("", "[DONE]")
    told.expect(done == (1 if told.ends or passed_on else 0), f"{done} [DONE] after {last}")
    told.expect(len(told.ids) == 1, f"ids {told.ids}")


def responses_document(told, document):
    told.ids.add(document["id"])
    for item in document["output"]:
        if item["type"] == "message":
            told.text += "".join(part.get("text", "") for part in item["content"])
        elif item["type"] == "function_call":
            told.calls.append((item["name"], item["arguments"]))
    told.finish, told.ends = document["status"], 1


# Messages.


def messages_stream(told, found):
    blocks, open_block, stopped = [], None, False
    for number, (name, data) in enumerate(found):
        event = json.loads(data)
        kind = event["type"]
        told.expect(name == kind, f"event {name!r} with type {kind!r}")
        if kind == "ping":
            continue
        told.expect(not stopped and not told.error, f"{kind} after the end")
        match kind:
            case "message_start":
                told.expect(not told.ids, "a second message_start")
                told.ids.add(event["message"]["id"])
            case "content_block_start":
                told.expect(open_block is None, "a block opens inside another")
                told.expect(event["index"] == len(blocks), f"block {event['index']} after {len(blocks)}")
                open_block = event["index"]
                blocks.append([event["content_block"], ""])
            case "content_block_delta":
                told.expect(event["index"] == open_block, f"a delta of block {event['index']}, open is {open_block}")
                delta = event["delta"]
                blocks[-1][1] += delta.get("text", "") + delta.get("partial_json", "")
            case "content_block_stop":
                told.expect(event["index"] == open_block, f"block {event['index']} ends, open is {open_block}")
                open_block = None
            case "message_delta":
                told.expect(open_block is None, "message_delta inside a block")
                told.expect(told.finish is None, "a second message_delta")
                told.finish = event["delta"]["stop_reason"]
            case "message_stop":
                stopped = True
                told.ends += 1
            case "error":
                told.error = event["error"]
            case _:
                told.faults.append(f"an unknown event {kind}")
    told.expect(len(told.ids) == 1, f"{len(told.ids)} message ids")
    told.expect(stopped != bool(told.error), f"message_stop {stopped}, error {told.error}")
    told.text = "".join(said for block, said in blocks if block["type"] == "text")
    told.calls = [(block["name"], said or "{}") for block, said in blocks if block["type"] == "tool_use"]


def messages_document(told, document):
    told.ids.add(document["id"])
    told.text = "".join(block["text"] for block in document["content"] if block["type"] == "text")
    used = [block for block in document["content"] if block["type"] == "tool_use"]
    told.calls = [(block["name"], json.dumps(block["input"])) for block in used]
    told.finish, told.ends = document["stop_reason"], 1


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
