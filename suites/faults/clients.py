"""One call by an official SDK, and everything received for it."""

import dataclasses
import time

import anthropic
import httpx2
import openai

import rig

# Contains characters of two, three and four bytes, which faults may split.
PROMPT = "one two Grüße € 🙂"
GREETING = f"Hello from the upstream. You said: {PROMPT}"
DIALECTS = ("chat", "responses", "messages")
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
# A call that takes longer counts as hanging.
HANGS = 8.0


@dataclasses.dataclass
class Received:
    request_id: str
    seconds: float = 0.0
    # Status of the head; None if there was none.
    status: int | None = None
    headers: dict = dataclasses.field(default_factory=dict)
    raw: bytes = b""
    text: str = ""
    # Whether the format's own end of the answer was received.
    finished: bool = False
    # Whether the response reported itself as failed.
    failed: bool = False
    error: Exception | None = None

    @property
    def inside(self):
        """The error object, from any of the SDKs' exceptions."""
        body = getattr(self.error, "body", None)
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            body = body["error"]
        return body if isinstance(body, dict) else {}

    def header(self, name):
        return self.headers.get(name)

    @property
    def attempts(self):
        value = self.header("x-gateway-attempts")
        return int(value) if value and value.isdigit() else value

    def short(self):
        error = f"{type(self.error).__name__}: {str(self.error)[:300]}" if self.error else "no error"
        return f"status {self.status}, {len(self.text)} characters, finished={self.finished}, {error}"


class Tee(httpx2.BaseTransport):
    """Records the head and body of each answer, by request id."""

    def __init__(self):
        limits = httpx2.Limits(max_keepalive_connections=0)
        self.inner = httpx2.HTTPTransport(limits=limits)
        self.records = {}

    def handle_request(self, request):
        response = self.inner.handle_request(request)
        record = {"status": response.status_code, "headers": dict(response.headers), "raw": bytearray()}
        self.records[request.headers.get("x-request-id")] = record
        response.stream = TeeStream(response.stream, record["raw"])
        return response

    def close(self):
        self.inner.close()


class TeeStream(httpx2.SyncByteStream):
    def __init__(self, inner, sink):
        self.inner = inner
        self.sink = sink

    def __iter__(self):
        for piece in self.inner:
            # The beginning of a huge answer is sufficient.
            if len(self.sink) < 1 << 20:
                self.sink.extend(piece)
            yield piece

    def close(self):
        self.inner.close()


class Clients:
    """The SDKs on one gateway, without their own retries and without keep-alive."""

    def __init__(self, port, key=rig.MASTER_KEY):
        self.tee = Tee()
        http = httpx2.Client(transport=self.tee, trust_env=False, timeout=HANGS)
        url = f"http://127.0.0.1:{port}"
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=HANGS, http_client=http)
        self.anthropic = anthropic.Anthropic(
            base_url=url, api_key=key, max_retries=0, timeout=HANGS, http_client=http
        )

    def call(self, dialect, model, stream, request_id, timeout=HANGS, headers=None):
        received = Received(request_id)
        options = {
            "model": model,
            "stream": stream,
            "timeout": timeout,
            "extra_headers": {"x-request-id": request_id} | (headers or {}),
        }
        begun = time.monotonic()
        try:
            SENDERS[dialect](self, received, stream, options)
        except Exception as error:  # Any exception of the SDK is checked.
            received.error = error
        received.seconds = time.monotonic() - begun
        if record := self.tee.records.pop(request_id, None):
            received.status, received.headers, received.raw = record["status"], record["headers"], bytes(record["raw"])
        return received


def chat(clients, received, stream, options):
    messages = [{"role": "user", "content": PROMPT}]
    answer = clients.openai.chat.completions.create(messages=messages, **options)
    for part in answer if stream else [answer]:
        for choice in part.choices:
            received.text += (choice.delta if stream else choice.message).content or ""
            received.finished |= choice.finish_reason == "stop"


def responses(clients, received, stream, options):
    answer = clients.openai.responses.create(input=PROMPT, **options)
    if not stream:
        received.text, received.finished = answer.output_text, answer.status == "completed"
        if answer.status == "failed":
            raise Failed(answer.error)
        return
    for event in answer:
        if event.type == "response.output_text.delta":
            received.text += event.delta
        received.finished |= event.type == "response.completed"
        received.failed |= event.type == "response.failed"


class Failed(Exception):
    """A response object that reports itself as failed."""


def messages(clients, received, stream, options):
    turns = [{"role": "user", "content": PROMPT}]
    answer = clients.anthropic.messages.create(messages=turns, max_tokens=512, **options)
    if not stream:
        received.text = "".join(block.text for block in answer.content if block.type == "text")
        received.finished = answer.stop_reason == "end_turn"
        return
    for event in answer:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            received.text += event.delta.text
        received.finished |= event.type == "message_stop"


SENDERS = {"chat": chat, "responses": responses, "messages": messages}

BY_STATUS = {
    400: ("BadRequestError", "BadRequestError"),
    401: ("AuthenticationError", "AuthenticationError"),
    403: ("PermissionDeniedError", "PermissionDeniedError"),
    404: ("NotFoundError", "NotFoundError"),
    408: ("APIStatusError", "RequestTimeoutError"),
    409: ("ConflictError", "ConflictError"),
    413: ("APIStatusError", "RequestTooLargeError"),
    429: ("RateLimitError", "RateLimitError"),
    503: ("InternalServerError", "ServiceUnavailableError"),
    504: ("InternalServerError", "GatewayTimeoutError"),
    529: ("InternalServerError", "OverloadedError"),
}


def exception_for(dialect, status):
    """The SDK's exception for a status."""
    default = "InternalServerError" if status >= 500 else "APIStatusError"
    names = BY_STATUS.get(status, (default, default))
    return getattr(anthropic, names[1]) if dialect == "messages" else getattr(openai, names[0])


def exception_in_band(dialect):
    """The SDK's exception for an error event. Anthropic's raises a status error with the 200 of the stream."""
    return anthropic.APIStatusError if dialect == "messages" else openai.APIError


ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}
OPENAI_TYPES = {
    401: "authentication_error",
    403: "authorization_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


def type_for(dialect, status):
    if dialect == "messages":
        default = "api_error" if status >= 500 else "invalid_request_error"
        return ANTHROPIC_TYPES.get(status, default)
    return OPENAI_TYPES.get(status, "provider_error" if status >= 500 else "invalid_request_error")
