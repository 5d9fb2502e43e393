"""Storage faults, each with its start, end and requirements."""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess

import backends

SIZE = 64 * 1024 * 1024


class Fault:
    """A fault, prepared before the gateway starts; `settings` are the gateway settings it needs."""

    backend = "sqlite"
    # Whether reads are still possible, so that only writes must be rejected.
    readable = True
    # Whether a small write may still succeed.
    fits = False
    # Whether it lasts long enough to be noticed.
    degrades = True
    # Minimum duration in seconds, until pending operations time out.
    least = 0.0
    # Whether it is part of the quick run.
    brief = True

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.database = backends.start(self.backend, directory)
        self.settings = dict(self.database.settings)

    @staticmethod
    def missing():
        """The reason why it is not possible on this machine, or an empty string."""
        return ""

    def stop(self):
        self.database.stop()


class Frozen(Fault):
    name, backend, readable = "PostgreSQL frozen", "postgres", False

    def begin(self):
        self.database.freeze()

    def end(self):
        self.database.thaw()

    def stop(self):
        with contextlib.suppress(OSError):
            self.database.thaw()
        super().stop()


class Stopped(Fault):
    name, backend, readable = "PostgreSQL stopped and started", "postgres", False

    def begin(self):
        self.database.halt()

    def end(self):
        self.database.revive()


class Restarted(Fault):
    name, backend, readable = "PostgreSQL restarted twice", "postgres", True
    degrades = brief = False

    def begin(self):
        for _ in range(2):
            self.database.halt()
            self.database.revive()

    def end(self):
        pass


class Locked(Fault):
    name = "SQLite locked by another process"
    least = 7.0

    def begin(self):
        self.connection = sqlite3.connect(self.database.path, isolation_level=None, timeout=30)
        self.connection.execute("BEGIN EXCLUSIVE")

    def end(self):
        self.connection.execute("ROLLBACK")
        self.connection.close()


class ReadOnly(Fault):
    name = "SQLite file read-only"

    @staticmethod
    def missing():
        if os.getuid() or not shutil.which("chattr"):
            return "only root can make an open file immutable"
        return ""

    def files(self):
        """The files to make immutable, without the shared memory: a process writing to that would be killed by the
        kernel."""
        return [f"{self.database.path}{ending}" for ending in ("", "-wal")]

    def begin(self):
        changed = subprocess.run(["chattr", "+i", *self.files()], capture_output=True, text=True)
        if changed.returncode:
            raise Impossible(changed.stderr.strip())

    def end(self):
        subprocess.run(["chattr", "-i", *self.files()], check=True, capture_output=True)

    def stop(self):
        subprocess.run(["chattr", "-i", *self.files()], capture_output=True)


class Full(Fault):
    """A small separate disk, filled to the last byte and freed again."""

    name = "data directory's disk full"
    mounted = "data"
    fits = True

    @staticmethod
    def missing():
        return "" if os.getuid() == 0 else "only root can mount a small disk"

    def __init__(self, directory):
        super().__init__(directory)
        self.mount = self.directory / self.mounted
        self.mount.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "gatehouse-suite", self.mount], capture_output=True, text=True)
        if made.returncode:
            raise Impossible(made.stderr.strip())

    def begin(self):
        block = b"\0" * 4096
        with open(self.mount / "ballast", "wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(block):
                pass

    def end(self):
        (self.mount / "ballast").unlink()

    def stop(self):
        subprocess.run(["umount", "-l", self.mount], capture_output=True)


class DatabaseFull(Full):
    """Space for the journal, but none for the database."""

    name = "database's disk full"
    mounted = "small"

    def __init__(self, directory):
        super().__init__(directory)
        self.settings["SQLITE_PATH"] = str(self.mount / "gatehouse.db")


class Impossible(Exception):
    """The fault is not possible on this machine."""


ALL = [Frozen, Stopped, Restarted, Locked, ReadOnly, Full, DatabaseFull]
