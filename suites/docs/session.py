"""One shell per page, in a directory of its own, and the gateway that the page talks to."""

import os
import pathlib
import signal
import subprocess

import httpx

import rig

# A page must not depend on commands that hang.
MOST_SECONDS = 30
# An answer of 400 and above is an error, and its body is shown.
CURLRC = "silent\nshow-error\nfail-with-body\n"
# `pidof gatehouse` finds the page's own gateway and none of another suite.
PIDOF = '#!/bin/sh\nexec pgrep -g "$(cat {pid_file})" -x "$1"\n'


class Failure(Exception):
    """A block did not do what its page says."""


class Session:
    def __init__(self, directory, environment, port):
        self.control = pathlib.Path(directory) / "control"
        self.page = pathlib.Path(directory) / "page"
        self.pid_file = self.control / "gateway.pid"
        self.ready_url = f"http://127.0.0.1:{port}/ready"
        self.log = None
        self.count = 0
        self.install()
        self.path = f"{self.control / 'bin'}:{os.environ.get('PATH', '')}:/usr/sbin"
        environment = environment | {
            "PATH": self.path, "HOME": str(self.page), "CURL_HOME": str(self.control), "PORT": str(port), "LC_ALL": "C.UTF-8",
        }
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE, cwd=self.page, env=environment, text=True, start_new_session=True,
        )
        self.send("set -euo pipefail")

    def install(self):
        """The commands of the pages: `gatehouse` on the PATH, where `make run` builds it, and the files of deploy/."""
        gatehouse = rig.binary("gatehouse")
        for directory in (self.control / "bin", self.page / "target" / "quick"):
            directory.mkdir(parents=True)
            (directory / "gatehouse").symlink_to(gatehouse)
        (self.page / "deploy").symlink_to(rig.ROOT / "deploy")
        pidof = self.control / "bin" / "pidof"
        pidof.write_text(PIDOF.format(pid_file=self.pid_file))
        pidof.chmod(0o755)
        (self.control / ".curlrc").write_text(CURLRC)

    def send(self, line):
        try:
            self.shell.stdin.write(line + "\n")
            self.shell.stdin.flush()
        except BrokenPipeError:
            raise Failure("the shell of the page has ended") from None

    def save(self, text):
        self.count += 1
        script = self.control / f"{self.count}.sh"
        script.write_text(text)
        return script, self.control / f"{self.count}.out", self.control / f"{self.count}.status"

    def run(self, text, input_line=None, may_fail=False):
        """Runs a block in the page's shell; returns its exit status and its output."""
        script, output, status = self.save(text)
        source = "/dev/null"
        if input_line is not None:
            source = self.control / f"{self.count}.in"
            source.write_text(input_line + "\n")
        # Without `set -e`, the last command decides; with it, the shell ends at the first command that fails.
        before, after = ("set +e; ", "; set -e") if may_fail else ("", "")
        self.send(f"{before}. {script} <{source} >{output} 2>&1; echo $? >{status}.new; mv {status}.new {status}{after}")
        try:
            rig.eventually(lambda: status.exists() or self.shell.poll() is not None, timeout=MOST_SECONDS, what="its end")
        except AssertionError as error:
            raise Failure(f"{error}\n{output.read_text(errors='replace')}{self.gateway_log()}") from None
        ended = status.read_text().strip() if status.exists() else self.shell.returncode
        return int(ended), output.read_text(errors="replace")

    def start_gateway(self, text="gatehouse"):
        """Runs a block that does not end and waits until the gateway is ready; stops the one before it."""
        self.stop_gateway()
        script, self.log, _ = self.save(text)
        # Job control gives the block its own process group.
        self.send(f"set -m; (. {script}) </dev/null >{self.log} 2>&1 & echo $! >{self.pid_file}.new; set +m")
        self.send(f"mv {self.pid_file}.new {self.pid_file}")
        rig.eventually(self.pid_file.exists, what="the start of the block")
        try:
            rig.eventually(self.is_ready, timeout=MOST_SECONDS, what="/ready")
        except AssertionError as error:
            raise Failure(f"{error}{self.gateway_log()}") from None
        # docs/index.md says that KEY is the master key.
        self.run('[ -n "${KEY:-}" ] || [ ! -e data/master.key ] || export KEY=$(cat data/master.key)')

    def gateway_log(self):
        lines = self.log.read_text(errors="replace").splitlines() if self.log else []
        return "\n".join(["", "log of the gateway:", *lines[-15:]])

    def is_ready(self):
        if not self.is_gateway_running():
            raise AssertionError("the gateway has ended")
        try:
            return httpx.get(self.ready_url, trust_env=False, timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def is_gateway_running(self):
        return self.pid_file.exists() and signal_group(int(self.pid_file.read_text()), 0)

    def stop_gateway(self):
        if not self.pid_file.exists():
            return
        group = int(self.pid_file.read_text())
        if signal_group(group, signal.SIGTERM):
            try:
                rig.eventually(lambda: not signal_group(group, 0), what="the end of the gateway")
            except AssertionError:
                signal_group(group, signal.SIGKILL)
        self.pid_file.unlink()

    def stop(self):
        # A clean stop takes two seconds, and the data of the page is not needed any more.
        if self.pid_file.exists():
            signal_group(int(self.pid_file.read_text()), signal.SIGKILL)
        self.shell.stdin.close()
        signal_group(self.shell.pid, signal.SIGKILL)
        self.shell.wait()
        end_processes_in(self.page)


def signal_group(group, number):
    """Whether the process group still exists."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def end_processes_in(directory):
    """Ends what a page left behind, such as a proxy of a block that failed: it still has its directory there."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve().is_relative_to(directory):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue
