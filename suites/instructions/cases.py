"""The measured calls, one line each: what is sent, what is expected, and the settings of the gateway.

A feature is priced by two cases with the same request: one without its setting, one with it in `settings`.
"""

import dataclasses
import json

MODEL = "openai/gpt-4o-mini"
# Events with content in every stream.
EVENTS = 100
# The `user` of a request for a stream whose events are sent at once.
UNPACED = "unpaced"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    path: str
    body: bytes = b""
    method: str = "POST"
    # managed: a key without limits; limited: a key that has used up its limit; wrong: an unknown key; token: a token of a
    # configured issuer.
    key: str = "managed"
    status: int = 200
    streams: bool = False
    # Whether the events of a stream arrive one by one, or all at once.
    paced: bool = True
    # Whether the call leaves a row in the database, which is then part of its cost.
    booked: bool = True
    # With more than one connection only system calls are counted: the instructions then depend on timing.
    connections: int = 1
    # Environment variables of the gateway, as pairs.
    settings: tuple = ()
    # The type of a guardrail that inspects all requests and answers, with its default settings.
    guardrail: str = ""
    # Whether all calls have a price and count against a budget that they do not exhaust.
    budget: bool = False
    # Numbers of calls of the short and the long run, per build, about a second under valgrind. At least 2: see `runs.py`.
    release: tuple = (20, 120)
    debug: tuple = (4, 24)
    # Part of the bounded form.
    quick: bool = True

    def calls(self, profile):
        return self.debug if profile == "debug" else self.release


def conversation(size, **options):
    """A conversation of about `size` bytes, in turns of at most 2 KB."""
    words = "The quick brown fox jumps over the lazy dog, and \"escapes\" follow:\n"
    turn = (words * (2000 // len(words) + 1))[: min(size, 2000) - 100]
    turns = max(1, size // 2000) | 1
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": f"{number} {turn}"} for number in range(turns)]
    return json.dumps({"model": MODEL, "messages": messages, "max_tokens": 200, **options}).encode()


CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"

ALL = [
    Case("chat-1k", CHAT, conversation(1000)),
    Case("chat-100k", CHAT, conversation(100_000), release=(5, 45), debug=(2, 5)),
    Case("stream-100", CHAT, conversation(1000, stream=True), streams=True, release=(2, 22), debug=(2, 4)),
    Case("stream-100-unpaced", CHAT, conversation(1000, stream=True, user=UNPACED), streams=True, paced=False, debug=(2, 8)),
    Case("translated-stream-100", MESSAGES, conversation(1000, stream=True), streams=True, quick=False, release=(2, 22), debug=(2, 4)),
    Case("wrong-key", CHAT, conversation(1000), key="wrong", status=401, booked=False, release=(50, 350), debug=(10, 60)),
    Case("rate-limited", CHAT, conversation(1000), key="limited", status=429, quick=False),
    # All calls but the first one of the warm-up are answered from the cache.
    Case("cached-chat-1k", CHAT, conversation(1000), settings=(("RESPONSE_CACHE_ENABLED", "true"),), quick=False),
    Case("guarded-chat-1k", CHAT, conversation(1000), guardrail="pii_redact", quick=False),
    Case("budget-chat-1k", CHAT, conversation(1000), settings=(("GATEWAY_EDITION", "enterprise"),), budget=True, quick=False),
    # At most TOKEN_RATIO times the instructions of the same call with a key.
    Case("chat-1k-token", CHAT, conversation(1000), key="token", quick=False),
    Case("chat-1k-concurrent", CHAT, conversation(1000), connections=8, quick=False, release=(160, 1760)),
    Case("models", "/v1/models", method="GET", booked=False, release=(50, 350), debug=(10, 60)),
]
