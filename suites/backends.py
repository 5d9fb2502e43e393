"""The databases a suite runs the gateway on: SQLite, and a private PostgreSQL that can be stopped, frozen and started; and
a private Redis.
"""

import os
import pathlib
import pwd
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess

import rig

SCRIPT = rig.ROOT / "scripts" / "postgres.sh"
NAMES = ["sqlite", "postgres"]


class Sqlite:
    name = "sqlite"

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.settings = {}

    @property
    def path(self):
        return self.directory / "data" / "gatehouse.db"

    def run(self, *statements):
        """Runs SQL while no gateway is running."""
        connection = sqlite3.connect(self.path, isolation_level=None)
        with_rows = [connection.execute(statement).fetchall() for statement in statements]
        connection.close()
        return with_rows[-1]

    def columns(self, table):
        return [row[1] for row in self.run(f"PRAGMA table_info({table})")]

    def stop(self):
        pass


class Postgres:
    name = "postgres"

    def __init__(self, directory, password=""):
        self.cluster = pathlib.Path(directory) / "postgres"
        # PostgreSQL runs as another user, who must be able to traverse this directory.
        pathlib.Path(directory).chmod(0o755)
        # The server inherits open files, so its output must not be our pipe.
        with open(pathlib.Path(directory) / "postgres.out", "w+") as output:
            started = subprocess.run([SCRIPT, "start", str(self.cluster)], stdout=output)
            output.seek(0)
            lines = output.read().split()
        if started.returncode or not lines:
            raise SystemExit("PostgreSQL could not be started. Install it with: sudo apt-get install postgresql")
        self.url = lines[-1]
        url = self.url.replace("@", f":{password}@") if password else self.url
        self.settings = {"STORAGE_TYPE": "postgres", "POSTGRES_URL": url}
        self.data = self.cluster / "data"
        command = shlex.split((self.data / "postmaster.opts").read_text())
        self.binaries = pathlib.Path(command[0]).parent
        self.options = shlex.join(word for word in command[1:] if word not in ("-D", str(self.data)))

    def run(self, *statements):
        command = [self.binaries / "psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", self.url]
        for statement in statements:
            answer = subprocess.run([*command, "-c", statement], capture_output=True, text=True, check=False)
            if answer.returncode:
                raise AssertionError(answer.stderr)
        return [line.split("\t") for line in answer.stdout.splitlines()]

    def columns(self, table):
        asked = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
        return [row[0] for row in self.run(asked)]

    def control(self, *words):
        command = [self.binaries / "pg_ctl", "-D", self.data, "-w", "-t", "30", *words]
        if os.getuid() == 0:
            owner = pwd.getpwuid(self.data.stat().st_uid)
            command = ["setpriv", f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups", *command]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        return subprocess.run(list(map(str, command)), cwd=self.cluster, check=False, **quiet).returncode

    def halt(self):
        assert self.control("-m", "immediate", "stop") == 0, "PostgreSQL does not stop"

    def revive(self):
        log = str(self.data / "server.log")
        assert self.control("-l", log, "-o", self.options, "start") == 0, f"PostgreSQL does not start: {log}"

    def processes(self):
        """The process ids of the server and its children."""
        server = int((self.data / "postmaster.pid").read_text().split()[0])
        found = [server]
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == server:
                found.append(int(entry.name))
        return found

    def freeze(self):
        for process in self.processes():
            os.kill(process, signal.SIGSTOP)

    def thaw(self):
        for process in self.processes():
            os.kill(process, signal.SIGCONT)

    def stop(self):
        subprocess.run([SCRIPT, "stop", str(self.cluster)], stdout=subprocess.DEVNULL)


class Redis:
    """A private Redis that keeps nothing on disk. It can be killed, frozen, flushed, and started again on its port."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory) / "redis"
        self.directory.mkdir()
        subprocess.run([rig.ROOT / "scripts" / "program.sh", "redis-server"], check=False)
        if not shutil.which("redis-server"):
            raise SystemExit("Redis could not be started. Install it with: sudo apt-get install redis-server")
        self.port = rig.free_port()
        self.settings = {"REDIS_URL": f"redis://127.0.0.1:{self.port}/0"}
        self.process = None
        self.revive()

    def revive(self):
        if self.process and self.process.poll() is None:
            return
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no", "--dir", str(self.directory)]
        with open(self.directory / "redis.log", "ab") as log:
            self.process = subprocess.Popen(["redis-server", *options], stdout=log, stderr=log)
        rig.eventually(lambda: self.command("PING") == "+PONG", what=f"an answer of Redis (log: {self.directory}/redis.log)")

    def command(self, words):
        """The first line of the answer; empty if there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(f"{words}\r\n".encode())
                return connection.recv(4096).decode(errors="replace").partition("\r\n")[0]
        except OSError:
            return ""

    def flush(self):
        assert self.command("FLUSHALL") == "+OK", "Redis does not flush"

    def halt(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        # SIGKILL also ends a frozen process.
        self.halt()


def start(name, directory, **options):
    return {"sqlite": Sqlite, "postgres": Postgres}[name](directory, **options)
