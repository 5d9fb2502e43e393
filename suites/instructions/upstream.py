"""An OpenAI upstream with a fixed answer, whose streams advance one event at a time, on demand of the client, or at once.

The gateway then reads and writes every event separately, however fast the machine is.
"""

import json
import queue
import socket
import threading

from instructions.cases import EVENTS, UNPACED

MODELS = ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "o3", "o4-mini", "text-embedding-3-small"]
USAGE = {"prompt_tokens": 250, "completion_tokens": EVENTS, "total_tokens": 250 + EVENTS}


def marker(number):
    """The text of an event; no other part of an answer contains it."""
    return f"w{number:03}x "


class LockstepUpstream:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        # One entry allows one further event.
        self.permits = queue.SimpleQueue()
        threading.Thread(target=self._accept, daemon=True).start()

    def advance(self):
        """Lets the stream send its next event."""
        self.permits.put(None)

    def stop(self):
        self.listener.close()

    def _accept(self):
        try:
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()
        except OSError:
            pass

    def _serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            while request_line := reader.readline():
                length = 0
                while (line := reader.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                body = reader.read(length)
                if request_line.startswith(b"GET"):
                    connection.sendall(LIST)
                elif b'"stream":true' in body.replace(b" ", b""):
                    self._stream(connection, paced=UNPACED.encode() not in body)
                else:
                    connection.sendall(ANSWER)

    def _stream(self, connection, paced):
        if not paced:
            connection.sendall(b"".join(STREAM))
            return
        first, *others = STREAM
        connection.sendall(first)
        for piece in others:
            self.permits.get()
            connection.sendall(piece)


def document(body):
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: req_1\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunk(**fields):
    """One event as one chunk of the transfer encoding."""
    base = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1700000000, "model": "gpt-4o-mini-2024-07-18"}
    return framed(json.dumps(base | fields, separators=(",", ":")))


def framed(data):
    event = f"data: {data}\n\n".encode()
    return f"{len(event):x}\r\n".encode() + event + b"\r\n"


def delta(content, finish=None):
    return chunk(choices=[{"index": 0, "delta": content, "logprobs": None, "finish_reason": finish}])


def stream():
    """The bytes of each write: the head and the first event, every further event, and the end."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req_1\r\ntransfer-encoding: chunked\r\n\r\n"
    opening = head + delta({"role": "assistant", "content": ""})
    events = [delta({"content": marker(number)}) for number in range(EVENTS)]
    end = delta({}, "stop") + chunk(choices=[], usage=USAGE) + framed("[DONE]") + b"0\r\n\r\n"
    return [opening + events[0], *events[1:], end]


LIST = document(json.dumps({"object": "list", "data": [{"id": name, "object": "model", "created": 1, "owned_by": "openai"} for name in MODELS]}).encode())
ANSWER = document(json.dumps({
    "id": "chatcmpl-0123456789", "object": "chat.completion", "created": 1700000000, "model": "gpt-4o-mini-2024-07-18",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "word " * EVENTS, "refusal": None}, "logprobs": None, "finish_reason": "stop"}],
    "usage": USAGE, "service_tier": "default", "system_fingerprint": "fp_0123456789",
}).encode())
STREAM = stream()
