"""Gateway, upstream and measurements of a case."""

import dataclasses
import os
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Callable

import rig


@dataclasses.dataclass
class Case:
    name: str
    attack: Callable[["Stage"], None]


class Stage:
    """Starts processes for one case, collects its checks and cleans up."""

    def __init__(self, name, quick):
        self.name = name
        self.quick = quick
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="abuse-"))
        self.checks = []
        self.stoppable = []

    def upstream(self, **options):
        upstream = rig.Upstream(**options)
        self.stoppable.append(upstream)
        return upstream

    def gateway(self, upstream=None, models=(), **settings):
        gateway = rig.Gateway(self.directory, upstream, **settings)
        self.stoppable.append(gateway)
        gateway.start(models=models)
        return gateway

    def check(self, what, *wrong):
        """Adds a check: `wrong` holds the faults; empty and None entries do not count."""
        self.checks.append((what, [fault for fault in wrong if fault]))

    def check_at_most(self, what, value, bound, unit=""):
        """Adds a check of a value against a bound; the value is printed in any case."""
        self.check(f"{what}: {value:.4g}{unit} (at most {bound:.4g}{unit})", value > bound and "over the bound")

    def note(self, text):
        print(f"abuse: {self.name}: {text}", flush=True)

    def close(self, keep_files):
        for process in reversed(self.stoppable):
            process.stop()
        if keep_files:
            print(f"abuse: the files of '{self.name}' stay in {self.directory}", file=sys.stderr)
        else:
            rig.remove(self.directory)


def cpu_seconds(gateway):
    """User and system CPU time of the gateway's process so far."""
    fields = pathlib.Path(f"/proc/{gateway.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_share(gateway, seconds):
    """Share of one core that the gateway uses during the next `seconds`."""
    before, begun = cpu_seconds(gateway), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(gateway) - before) / (time.monotonic() - begun)


def rss_bytes(gateway):
    for line in pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the process has no VmRSS")


def open_files(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


def percentile(values, share):
    """The quantile `share` of the values (0.99: p99)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values):
    return statistics.median(values)
