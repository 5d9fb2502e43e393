"""Duration of retention under load, on a large database and on one of a tenth of the rows with as many rows per day.

In each round both gateways are told to keep fewer days, and delete as many rows. Their logs say when they begin and end, so
that nothing but the load reads the tables meanwhile. The fixed pauses between the steps count.
"""

import collections
import dataclasses
import datetime
import re
import statistics
import threading
import time

import backends
import machine_time
import rig
import traffic
from measure import percentile
from reports import generated

# Deletion along an index takes as long in each table. The large one needs more pages from disk for as many rows, and the
# machine is not equally busy in both halves of a round; searching through all rows would take ten times as long.
MOST = 1.5
# The quick form deletes for a fraction of a second, so that a single wait for the drainer counts: milliseconds per 1,000 more.
MOST_QUICK, NOISE_QUICK = 4, 250
# Age of the oldest record that storage does not have yet, in seconds. Whole seconds are told.
MOST_LAG = 3
# The small database has a tenth of the rows, over a tenth of the days.
SMALL = 10
WORKERS, PAUSE = 4, 0.02
# Seconds of load before a deletion, to compare with, and at most during it.
CALM, PATIENCE = 0.5, 600
UNLIMITED = "usage: {retention_days: 0}\nlogging: {retention_days: 0, enabled: true}\n"


@dataclasses.dataclass
class Table:
    setting: str
    # How log lines of its deletion begin.
    done: str
    failed: str
    # Milliseconds per 1,000 rows: 10 ms after each step (crates/store/src/expiry.rs, audit/retention.rs).
    pauses: int


TABLES = {
    "usage": Table("usage.retention_days", "expired usage rows deleted", "failed to delete expired usage rows", 10),
    "audit": Table("logging.retention_days", "expired audit entries deleted", "failed to delete expired audit entries", 50),
}


@dataclasses.dataclass
class Database:
    """A gateway on generated calls, and the days that are left of each table."""

    name: str
    gateway: rig.Gateway
    rows_per_day: float
    days: dict


@dataclasses.dataclass
class Deletion:
    rows: int
    # Milliseconds per 1,000 rows, without the share of CPU time that the host refused.
    each: float


def run(app, backend, database, directory, options):
    """Measures on the filled database of the other parts, and on a small one."""
    rounds, step = (1, 3) if options.quick else (3, 1)
    large = start(app, "large", database, directory, options.rows, options.days, options.rows // generated.AUDITED)
    small = start_small(app, backend, directory / "small", options, rounds * step + 1)
    for table in TABLES:
        if large.days[table] <= rounds * step or small.days[table] <= rounds * step:
            app.suite.skip(f"{app.name}: retention of {table}", f"{large.days[table]} and {small.days[table]} days: see --days")
            continue
        measured = collections.defaultdict(list)
        for number in range(rounds):
            # A background task of one may end in the other.
            for each in (small, large) if number % 2 == 0 else (large, small):
                measured[each.name].append(delete(app, each, table, step))
        judge(app, table, small, large, measured)
    for each in (small, large):
        each.gateway.stop()


def start_small(app, backend, directory, options, audited_days):
    rig.remove(directory)
    directory.mkdir(mode=0o755)
    rows, days = options.rows // SMALL, options.days // SMALL
    audited = min(rows, -(-rows * audited_days // max(1, days)))
    database = app.add(backends.start(backend, directory))
    generated.fill(directory, database, rows, days, audited)
    return start(app, "small", database, directory, rows, days, audited)


def start(app, name, database, directory, rows, days, audited):
    # Not in the environment, which locks a setting.
    (directory / "gatehouse.yaml").write_text(UNLIMITED)
    gateway = app.start_gateway(directory=directory, ENCRYPTION_KEY=generated.ENCRYPTION_KEY, **database.settings)
    rows_per_day = rows / max(1, days)
    return Database(f"{name}, {rows} rows", gateway, rows_per_day, {"usage": days, "audit": int(audited / max(1, rows_per_day) + 0.01)})


def delete(app, database, table, step):
    """Lets the oldest days of a table expire under load, and checks the calls made meanwhile."""
    gateway, what = database.gateway, f"{table}, {database.name}"
    database.days[table] -= step
    path = f"/retention/{table}/{database.days[table]}"
    load = traffic.Load(gateway.port, WORKERS, path.replace("/", "-"), plan, rig.bearer(rig.MASTER_KEY) | {"x-gateway-user-path": path})
    load.start()
    with LagWatch(gateway) as calm:
        time.sleep(CALM)
    begun = time.monotonic()
    with LagWatch(gateway) as lag:
        deletion = expire(gateway, table, database.days[table])
    calls = load.stop()
    amid = [call.ended - call.started for call in calls if call.ended >= begun]
    app.note(
        f"{what}: {deletion.rows} rows deleted, {deletion.each:.1f} ms per 1,000, meanwhile {len(amid)} calls (p50 {percentile(amid, 0.5) * 1000:.1f} ms, "
        f"p99 {percentile(amid, 0.99) * 1000:.1f} ms), journal lag at most {lag.records} records, before {calm.records}"
    )
    expected = step * database.rows_per_day
    app.check(f"{what}: the expired days are deleted", not 0.9 < deletion.rows / expected < 1.2 and f"{deletion.rows} of {expected:.0f} rows")
    check_calls(app, gateway, what, calls, path)
    app.check_at_most(f"{what}: journal lag", lag.seconds, MOST_LAG, " s")
    return deletion


def plan(_, request_id):
    time.sleep(PAUSE)
    return traffic.Call(request_id, "chat", "demo/demo-chat", False)


def check_calls(app, gateway, what, calls, path):
    failed = [call for call in calls if not call.served]
    app.check(f"{what}: all {len(calls)} calls succeed", *failed)
    count = lambda: gateway.usage_log(user_path=path, days=1, limit=1)["total"]
    rig.eventually(lambda: count() >= len(calls), 30, pause=0.2, what=f"the booking of {len(calls)} calls")
    booked = count()
    app.check(f"{what}: every call is booked once", booked != len(calls) and f"{booked} rows of {len(calls)} calls")


def expire(gateway, table, days):
    """Keeps only that many days from now on, and waits until the others are deleted."""
    told, seen, watch = TABLES[table], len(gateway.log()), machine_time.Stopwatch()
    answer = gateway.admin("PATCH", "/settings", json={told.setting: days})
    assert answer.status_code == 200, answer.text
    rig.eventually(lambda: any(text in gateway.log()[seen:] for text in (told.done, told.failed)), PATIENCE, 0.05, f"'{told.done}' (log: {gateway.log_path})")
    log = gateway.log()[seen:]
    assert told.failed not in log, log
    begun, _ = find_line(log, f'configuration reloaded changed="{told.setting}"')
    ended, line = find_line(log, told.done)
    rows = int(re.search(r"rows=(\d+)", line)[1])
    return Deletion(rows, (ended - begun) * 1e6 / max(1, rows) * watch.granted_share())


def find_line(log, text):
    """The time of the first line with this text, in seconds, and the line."""
    line = next(line for line in log.splitlines() if text in line)
    return datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")).timestamp(), line


class LagWatch:
    """Samples the lag of the journal until it is left; has the most seen of it."""

    INTERVAL = 0.05

    def __init__(self, gateway):
        self.gateway, self.records, self.seconds = gateway, 0, 0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def _sample(self):
        while not self.ending.wait(self.INTERVAL):
            journal = self.gateway.admin("GET", "/runtime/status").json()["journal"]
            self.records = max(self.records, journal["lag_records"])
            self.seconds = max(self.seconds, journal["lag_seconds"])


def judge(app, table, small, large, measured):
    few, many = ([deletion.each for deletion in measured[database.name]] for database in (small, large))
    # Adjacent measurements had the same machine load.
    ratio = statistics.median(mine / other for mine, other in zip(many, few))
    few, many, what = statistics.median(few), statistics.median(many), f"{table}: time per 1,000 deletes, large beside small"
    app.note(f"{table}: {few:.1f} ms per 1,000 deletes ({small.name}), {many:.1f} ms ({large.name}), {ratio:.2f} times; {TABLES[table].pauses} ms are pauses")
    if app.quick:
        app.check_at_most(what, many, MOST_QUICK * few + NOISE_QUICK, " ms")
    else:
        app.check_at_most(what, ratio, MOST, " ×")
