"""The rounds of the budget part: which faults hit the cluster while its workers race for a budget."""

import random
import time

from replicas import leases

# Seconds that a replica needs after /ready until its old journal is drained, and the command needs at most.
DRAINED = 3.0


class Round:
    """A race for one budget, and the faults during it. A fault is a method; it returns when the fault is over."""

    def __init__(self, cluster, name, path, seed):
        self.cluster, self.name, self.path = cluster, name, path
        self.chance = random.Random(f"{seed}-{name}")
        self.strandings = []
        # Intervals in which the database was away, or a replica was paused and could not ask it: 503 may be answered.
        self.outages = []
        # Exit status and last line of each `gatehouse journal drain`.
        self.drains = []

    def pick(self):
        return self.chance.randrange(len(self.cluster.replicas))

    def kill(self):
        """kill -9, and a restart on the same data directory."""
        number = self.pick()
        replica = self.cluster.replicas[number]
        replica.kill()
        stranding = self.begin(number, "kill -9")
        time.sleep(self.chance.uniform(0.3, 1.0))
        replica.start()
        self.end(stranding)

    def vanish(self):
        """kill -9 of a replica that does not come back: its journal is drained by the command, on the side."""
        number = self.pick()
        replica = self.cluster.replicas[number]
        replica.kill()
        stranding = self.begin(number, "kill -9, journal drain")
        time.sleep(self.chance.uniform(1.0, 2.0))
        status, output = replica.drain_journal(self.cluster.directory / "drain")
        self.drains.append((status, output.splitlines()[-1] if output else ""))
        self.end(stranding)
        replica.start()

    def pause(self):
        """SIGSTOP, for longer than a replica may be silent."""
        number = self.pick()
        replica = self.cluster.replicas[number]
        begun = time.monotonic()
        replica.pause()
        stranding = self.begin(number, "SIGSTOP")
        time.sleep(self.chance.uniform(0.5, 2.0))
        replica.resume()
        stranding.ended = time.monotonic() + 1.0
        self.outages.append((begun, stranding.ended))

    def restart_database(self):
        begun = time.monotonic()
        self.cluster.database.halt()
        time.sleep(self.chance.uniform(0.2, 1.0))
        self.cluster.database.revive()
        self.outages.append((begun, time.monotonic() + 3.0))

    def freeze_database(self):
        begun = time.monotonic()
        self.cluster.database.freeze()
        time.sleep(self.chance.uniform(0.5, 1.5))
        self.cluster.database.thaw()
        self.outages.append((begun, time.monotonic() + 3.0))

    def restart_redis(self):
        self.cluster.redis.halt()
        time.sleep(self.chance.uniform(0.2, 1.0))
        self.cluster.redis.revive()

    def flush_redis(self):
        self.cluster.redis.flush()

    def freeze_redis(self):
        self.cluster.redis.freeze()
        time.sleep(self.chance.uniform(0.5, 2.0))
        self.cluster.redis.thaw()

    def begin(self, number, what):
        stranding = leases.Stranding.begin(self.cluster, self.path, number, what)
        self.strandings.append(stranding)
        return stranding

    def end(self, stranding):
        """Waits until the lease has nothing left, or for as long as draining may take."""
        patience = time.monotonic() + DRAINED
        stranding.end(self.cluster, self.path)
        while stranding.remaining and time.monotonic() < patience:
            time.sleep(0.1)
            stranding.end(self.cluster, self.path)


FAULTS = {
    "calm": [],
    "kill": [Round.kill] * 3,
    "vanish": [Round.vanish, Round.vanish],
    "pause": [Round.pause] * 3,
    "database": [Round.restart_database, Round.freeze_database],
    "redis": [Round.restart_redis, Round.flush_redis, Round.freeze_redis],
    "all": [Round.kill, Round.pause, Round.restart_database, Round.flush_redis, Round.vanish, Round.freeze_redis, Round.restart_redis],
}
QUICK = {"quick": [Round.vanish, Round.pause, Round.flush_redis, Round.restart_database, Round.kill]}
