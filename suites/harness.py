"""The harness of the suites: arguments, processes and files of a run, checks, and the summary.

A suite creates one `Suite`, runs its cases with `Suite.run`, and exits with `Suite.finish`. Each case gets a `TestApp`,
which starts processes and records checks.
"""

import argparse
import dataclasses
import os
import pathlib
import sys
import tempfile
import traceback
from typing import Callable

import backends
import rig

# Details printed of a failed check.
SHOWN_FAULTS = 8
SHOWN_CHARACTERS = 700

# SDKs would otherwise send requests to the loopback interface through a configured proxy.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


@dataclasses.dataclass
class Case:
    name: str
    act: Callable[["TestApp"], None]


class Suite:
    """One run of a suite: its options, and the count of its checks."""

    def __init__(self, name, description, quick="", only=""):
        """`quick` and `only` are the help texts of these options; a suite without the text does not have the option."""
        self.name = name
        self.parser = argparse.ArgumentParser(prog=name, description=description)
        if quick:
            self.parser.add_argument("--quick", action="store_true", help=quick)
        if only:
            self.parser.add_argument("--only", action="append", metavar="TEXT", help=only)
        self.options = argparse.Namespace()
        self.passed = self.failed = self.skipped = 0

    def add_argument(self, *names, **options):
        self.parser.add_argument(*names, **options)

    def parse(self):
        self.options = self.parser.parse_args()
        return self.options

    def selects(self, name):
        """Whether `--only` selects this name; without the option, all names are selected."""
        return not self.options.only or any(text in name for text in self.options.only)

    def note(self, text):
        print(f"{self.name}: {text}", flush=True)

    def count(self, faults):
        """Counts a check that the suite prints itself."""
        self.failed += bool(faults)
        self.passed += not faults

    def check(self, what, *faults):
        """Counts and prints a check; empty faults do not count."""
        faults = [str(fault) for fault in faults if fault]
        self.count(faults)
        print(f"{'MISSED' if faults else 'ok    '} {what}", flush=True)
        for fault in faults[:SHOWN_FAULTS]:
            print(f"         {fault}"[:SHOWN_CHARACTERS], flush=True)

    def skip(self, what, why):
        self.skipped += 1
        self.note(f"{what}: SKIPPED: {why}")

    def run(self, name, act):
        """Runs a case with its own processes and files. A case that raises counts as one failed check."""
        app = TestApp(self, name)
        try:
            act(app)
        except Exception:
            app.check("runs to its end", *traceback.format_exc().strip().splitlines()[-6:])
        finally:
            app.close()

    def finish(self):
        """Prints the summary and returns the exit status; a run without any check fails."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not (self.passed or self.skipped) else 0


class TestApp:
    """The processes and files of one case. The files are kept if a check failed or the case broke off."""

    # Not a test class of pytest.
    __test__ = False

    def __init__(self, suite, name=""):
        self.suite, self.name = suite, name
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{suite.name}-"))
        self.processes = []
        self.keep_files = False

    @property
    def quick(self):
        return self.suite.options.quick

    def add(self, process):
        """Registers a process, or anything else with a method `stop`."""
        self.processes.append(process)
        return process

    def upstream(self):
        return self.add(rig.Upstream())

    def database(self, name, **options):
        return self.add(backends.start(name, self.directory, **options))

    def redis(self):
        return self.add(backends.Redis(self.directory))

    def gateway(self, upstream=None, directory=None, **settings):
        """A gateway that is not started yet."""
        return self.add(rig.Gateway(directory or self.directory, upstream, **settings))

    def start_gateway(self, upstream=None, models=(), **settings):
        gateway = self.gateway(upstream, **settings)
        gateway.start(models=models)
        return gateway

    def check(self, what, *faults):
        """Adds a check: empty faults do not count."""
        faults = [fault for fault in faults if fault]
        self.keep_files = self.keep_files or bool(faults)
        self.suite.check(f"{self.name}: {what}" if self.name else what, *faults)

    def check_at_most(self, what, value, bound, unit=""):
        """Adds a check of a value against a bound; the value is printed in any case."""
        self.check(f"{what}: {value:.4g}{unit} (at most {bound:.4g}{unit})", value > bound and "over the bound")

    def note(self, text):
        self.suite.note(f"{self.name}: {text}" if self.name else text)

    def stop(self):
        while self.processes:
            self.processes.pop().stop()

    def close(self):
        """Stops the processes; removes the files unless they are kept."""
        self.stop()
        if self.keep_files or sys.exc_info()[0]:
            print(f"{self.suite.name}: the files of '{self.name or self.suite.name}' stay in {self.directory}", file=sys.stderr)
        else:
            rig.remove(self.directory)


def print_table(heads, rows, right=True):
    """Prints a table; the first column is aligned to the left."""
    rows = [[str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        cells = [cell.rjust(width) if right else cell.ljust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]).rstrip(), flush=True)
