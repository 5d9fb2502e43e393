"""Measurements: memory, CPU and open files of a process, percentiles, and the load of the machine."""

import os
import pathlib
import threading
import time

import httpx

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(gateway):
    """User and system CPU time of the gateway's process so far."""
    fields = pathlib.Path(f"/proc/{gateway.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_share(gateway, seconds):
    """Share of one core that the gateway uses during the next `seconds`."""
    before, begun = cpu_seconds(gateway), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(gateway) - before) / (time.monotonic() - begun)


def memory_status(gateway, field):
    """A field of /proc/PID/status in bytes."""
    for line in pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the process has no {field}")


def rss_bytes(gateway):
    return memory_status(gateway, "VmRSS")


def anonymous_bytes(gateway):
    """Memory that no file backs: without code, whose pages come and go with its use."""
    return memory_status(gateway, "RssAnon")


class PeakMemory:
    """Growth of the gateway's peak memory since the start of the measurement, in MiB."""

    def __init__(self, gateway):
        self.gateway = gateway
        pathlib.Path(f"/proc/{gateway.process.pid}/clear_refs").write_text("5")
        self.before = memory_status(gateway, "VmHWM")

    def growth(self):
        return (memory_status(self.gateway, "VmHWM") - self.before) / (1 << 20)


def open_files(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


def threads(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/task"))


def percentile(values, share):
    """The quantile `share` of the values (0.99: p99); zero without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class MachineLoad:
    """Load of the machine, measured continuously as the delay of calls that bypass the gateway."""

    # Delay in seconds above which a missed deadline may be due to the machine.
    BUSY = 0.08
    PAUSE = 0.04

    def __init__(self, origin):
        self.origin = origin
        self.samples = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self):
        body = {"model": "text", "messages": [{"role": "user", "content": "Are you busy?"}]}
        with httpx.Client(base_url=self.origin, trust_env=False, timeout=30) as http:
            while not self.stopping.is_set():
                begun = time.monotonic()
                http.post("/v1/chat/completions", json=body)
                self.stopping.wait(self.PAUSE)
                self.samples.append((begun, time.monotonic()))

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.stopping.set()
        self.thread.join()

    def was_busy(self, begun, ended):
        """Whether a delay that overlaps this time was too long."""
        near = [end - start - self.PAUSE for start, end in self.samples if end >= begun and start <= ended]
        return max(near, default=0.0) > self.BUSY
