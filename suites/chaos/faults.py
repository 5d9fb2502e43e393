"""The ways in which a provider fails, each with its beginning and its end."""

import dataclasses
import time


@dataclasses.dataclass
class Fault:
    name: str
    mood: dict
    # What happens to the process once the calls that were well have ended.
    process: str = ""
    # After this many failures of one model nobody calls it any more; for a while.
    patience: int = 5
    # That while, where it is not the breaker's.
    rest: float | None = None
    # It is the breaker that keeps callers away, not the provider's own word.
    opens: bool = True
    # The calls came to a process that could note them.
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
        """The calls that met the fault, by model; from now on the provider is well and notes anew."""
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
