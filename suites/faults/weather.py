"""Machine load, measured continuously as the delay of calls that bypass the gateway."""

import threading
import time

import httpx

# Delay in seconds above which a missed case may be due to the machine and is repeated.
CALM = 0.08
PAUSE = 0.04


class Weather:
    def __init__(self, origin):
        self.origin = origin
        self.samples = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        body = {"model": "text", "messages": [{"role": "user", "content": "How is the weather?"}]}
        with httpx.Client(base_url=self.origin, trust_env=False, timeout=30) as http:
            while not self.over.is_set():
                begun = time.monotonic()
                http.post("/v1/chat/completions", json=body)
                self.over.wait(PAUSE)
                self.samples.append((begun, time.monotonic()))

    def start(self):
        self.thread.start()

    def stop(self):
        self.over.set()
        self.thread.join()

    def worst(self, begun, ended):
        """The longest delay that overlaps this time, in seconds."""
        near = [end - start - PAUSE for start, end in self.samples if end >= begun and start <= ended]
        return max(near, default=0.0)
