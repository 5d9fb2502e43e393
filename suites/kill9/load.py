"""The load: workers that call without pause and remember which answers they received to the last byte."""

import dataclasses
import json
import random
import threading
import time

import http1
import rig

# Quick and slow, short and long, so that a kill finds calls in every state.
MIX = ["text", "text", "cached", "reasoning", "long", "drip-5", "drip-20", "slow-20"]


@dataclasses.dataclass
class Call:
    request_id: str
    model: str
    stream: bool
    acknowledged: bool = False
    # The upstream's id, as far as it was seen.
    provider_id: str = ""
    status: int = 0


class Load:
    def __init__(self, port, workers, seed):
        self.port = port
        self.stopping = threading.Event()
        self.calls = [[] for _ in range(workers)]
        self.seed = seed
        self.threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(workers)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def run_for(self, seconds):
        time.sleep(seconds)

    def acknowledged(self):
        return sum(call.acknowledged for calls in self.calls for call in list(calls))

    def stop(self):
        """Lets the calls in flight end and gives them all."""
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=30)
            if thread.is_alive():
                raise AssertionError("a worker hangs: an answer neither came nor broke off")
        return [call for calls in self.calls for call in calls]

    def _work(self, number):
        chance = random.Random(f"{self.seed}-{number}")
        connection = None
        while not self.stopping.is_set():
            try:
                connection = connection or http1.Connection(self.port)
            except OSError:
                time.sleep(0.01)
                continue
            call = Call(f"k9-{self.seed}-{number}-{len(self.calls[number])}", chance.choice(MIX), chance.random() < 0.6)
            self.calls[number].append(call)
            try:
                make(connection, call)
            except http1.Broken:
                connection.close()
                connection = None
        if connection:
            connection.close()


def make(connection, call):
    words = " ".join(["word"] * (len(call.request_id) % 7 + 1))
    body = {
        "model": f"openai/{call.model}",
        "messages": [{"role": "user", "content": f"{call.request_id} {words}"}],
        "stream": call.stream,
    }
    headers = rig.bearer(rig.MASTER_KEY) | {"content-type": "application/json", "x-request-id": call.request_id}
    connection.request("POST", "/v1/chat/completions", headers, json.dumps(body).encode())
    response = connection.head()
    call.status = response.status
    if call.stream and response.status == 200:
        take_stream(connection, response, call)
    else:
        for piece in connection.pieces(response):
            response.body += piece
        if response.status == 200:
            call.provider_id = response.json()["id"]
            call.acknowledged = True


def take_stream(connection, response, call):
    """A stream is acknowledged once `[DONE]` has been seen, even if the connection breaks right after it."""
    tail = b""
    for piece in connection.pieces(response):
        tail += piece
        *lines, tail = tail.split(b"\n")
        for line in lines:
            if line == b"data: [DONE]":
                call.acknowledged = True
            elif not call.provider_id and line.startswith(b'data: {"'):
                call.provider_id = json.loads(line[6:]).get("id", "")
