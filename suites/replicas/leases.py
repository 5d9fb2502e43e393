"""The lease tables, read by SQL: what the journal of a replica has, and what is stranded in it after a kill."""

import dataclasses
import time

# Seconds of its spending, and calls of worst-case cost, that a replica leases; it gives back what exceeds twice that.
SUPPLY, SPARE_CALLS, MOST = 15.0, 4, 2


def exist(cluster):
    return cluster.database.run("SELECT to_regclass('budget_leases') IS NOT NULL")[0][0] == "t"


def of(cluster, path, journals):
    """(granted, booked) of these journals in the budgets of a path, in nano-dollars."""
    if not journals or not exist(cluster):
        return 0, 0
    names = ", ".join(f"'{name}'" for name in journals)
    rows = cluster.database.run(
        "SELECT COALESCE(SUM(l.granted), 0), COALESCE(SUM(l.booked), 0) FROM budget_leases l JOIN budget_windows w USING (budget, opened) "
        f"WHERE w.user_path = '{path}' AND l.journal IN ({names})"
    )
    return int(rows[0][0]), int(rows[0][1])


def slice_of(calls, killed_at, worst):
    """The most that a replica with these calls may have leased at this time, in nano-dollars."""
    recent = [call for call in calls if call.served and killed_at - 5 <= call.ended <= killed_at]
    busiest = max((sum(other.ended - 1 <= call.ended <= other.ended for call in recent) for other in recent), default=0)
    return int(MOST * (SUPPLY * busiest * worst + SPARE_CALLS * worst))


@dataclasses.dataclass
class Stranding:
    """A replica that could not give back its lease for a while."""

    replica: int
    what: str
    begun: float
    # The lease that was neither booked nor given back at that time.
    leased: int
    journals: list
    granted: int = 0
    ended: float = float("inf")
    # What was left of the lease once the journal was drained: never spent, and free again.
    stranded: int = 0
    # What the lease still had when its journal should have been drained.
    remaining: int = 0

    @staticmethod
    def begin(cluster, path, number, what):
        journals = cluster.replicas[number].journals
        begun = time.monotonic()
        granted, booked = of(cluster, path, journals)
        return Stranding(number, what, begun, granted - booked, journals, granted)

    def end(self, cluster, path):
        granted, booked = of(cluster, path, self.journals)
        self.remaining = granted - booked
        self.stranded = max(0, self.granted - booked) if booked else self.leased
        self.ended = time.monotonic()
