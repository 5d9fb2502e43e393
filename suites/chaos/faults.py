"""The faults of a provider, each with its start and end."""

import dataclasses
import time


@dataclasses.dataclass
class Fault:
    name: str
    # The fault script of every call.
    script: str
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
        provider.set_fault(self.script)
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
            calls, _ = provider.calls_since_fault()
        provider.set_fault()
        return calls


FAULTS = [
    Fault("refused", "reset-before-head", process="kill", noted=False),
    Fault("500", "error-500"),
    Fault("503 in 2 s", "error-503-2", opens=False),
    Fault("429 in 1 s", "error-429-1", patience=1, rest=1.0, opens=False),
    Fault("silence", "hang", process="freeze", noted=False),
    Fault("reset", "reset-before-content"),
    Fault("error in 200", "error-in-stream"),
]
