"""The faults of a provider, each with its start and end."""

import dataclasses
import time


@dataclasses.dataclass
class Fault:
    name: str
    mood: dict
    # Action on the process once the earlier calls have ended.
    process: str = ""
    # Number of failures of one model after which it is not called for a while.
    patience: int = 5
    # Length of that pause, if it is not the breaker's.
    rest: float | None = None
    # Whether the breaker keeps calls away, not the provider's Retry-After.
    opens: bool = True
    # Whether the calls reached a process that could record them.
    noted: bool = True

    def begin(self, provider):
        provider.mood(**self.mood)
        if self.process:
            provider.finish()
        if self.process == "kill":
            provider.stop()
        elif self.process == "freeze":
            provider.freeze()

    def end(self, provider):
        """Ends the fault, restarts the recording and returns the calls that met the fault, by model."""
        calls = {}
        if self.process == "kill":
            provider.spawn()
        elif self.process == "freeze":
            provider.thaw()
            time.sleep(0.05)
        if self.noted:
            calls, _ = provider.met()
        provider.mood()
        return calls


FAULTS = [
    Fault("refused", {"reset": "before_head"}, process="kill", noted=False),
    Fault("500", {"status": 500}),
    Fault("503 in 2 s", {"status": 503, "retry_after": "2"}, opens=False),
    Fault("429 in 1 s", {"status": 429, "retry_after": "1"}, patience=1, rest=1.0, opens=False),
    Fault("silence", {"hang": True}, process="freeze", noted=False),
    Fault("reset", {"reset": "before_content"}),
    Fault("error in 200", {"like": "error-in-stream"}),
]
