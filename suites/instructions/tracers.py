"""The gateway under a tracer that counts: callgrind for instructions, strace for system calls."""

import os
import re
import signal
import subprocess
import time

import rig

# Seconds for steps of a process that valgrind slows down fifty times.
PATIENCE = 120
CALLGRIND = [
    "valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=no", "--dump-line=no", "--fair-sched=yes",
]


class TracedGateway(rig.Gateway):
    """A gateway on a fixed number of cores, which sets its number of worker threads."""

    workers = 1

    def command(self):
        return [rig.binary("gatehouse"), "serve"]

    def spawn(self):
        cores = sorted(os.sched_getaffinity(0))[: self.workers]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.command(), env=self.settings, cwd=self.directory, stdout=log, stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )

    def start(self, models=()):
        self.spawn()
        rig.eventually(self.is_ready, PATIENCE, pause=0.1, what=f"/ready (log: {self.log_path})")
        rig.eventually(lambda: set(models) <= set(self.models()), PATIENCE, pause=0.1, what=f"discovery of {models}")

    def attach(self):
        """Ends the warm-up; the gateway may be much faster before."""

    def stop(self):
        if self.process and self.process.poll() is None:
            self.terminate()
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()


class InstructionCounter(TracedGateway):
    """Counts the instructions of all threads in user space. `attach` slows it down about ten times."""

    dumps = 0

    def command(self):
        files = [f"--callgrind-out-file={self.directory}/callgrind.out", f"--vgdb-prefix={self.directory}/vgdb"]
        return [*CALLGRIND, *files, *super().command()]

    def monitor(self, *command):
        vgdb = ["vgdb", f"--vgdb-prefix={self.directory}/vgdb", f"--pid={self.process.pid}", *command]
        # The same environment: the names of the pipes contain USER and HOST.
        result = subprocess.run(vgdb, env=self.settings, capture_output=True, text=True, timeout=PATIENCE)
        assert result.returncode == 0, result.stderr

    def attach(self):
        self.monitor("instrumentation", "on")

    def begin(self):
        self.monitor("zero")

    def end(self):
        """The instructions since `begin`."""
        self.monitor("dump")
        self.dumps += 1
        return {"instructions": total(self.dump_path())}

    def dump_path(self):
        return self.directory / f"callgrind.out.{self.dumps}"


def total(path):
    """The total of a callgrind file."""
    with open(path) as lines:
        found = [line for line in lines if line.startswith("totals:")]
    return int(found[-1].split()[1])


class SystemCallCounter(TracedGateway):
    """Counts the system calls of all threads by name."""

    workers = 2

    def begin(self):
        self.summary = self.directory / "strace.out"
        command = ["strace", "-f", "-c", "-U", "calls,name", "-o", self.summary, "-p", str(self.process.pid)]
        self.tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.tracer.stderr.readline()
        assert "attached" in line, line
        # Further threads are attached one by one.
        time.sleep(0.1)

    def end(self):
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.communicate(timeout=PATIENCE)
        return counts(self.summary.read_text())


def counts(summary):
    """The calls by name of a summary of strace."""
    found = re.findall(r"^ *(\d+) +(\w+)$", summary, re.MULTILINE)
    return {name: int(number) for number, name in found if name != "total"}
