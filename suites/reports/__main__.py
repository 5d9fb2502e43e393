"""Fills a database with generated usage, starts the gateway on it and measures its reports and the cost of calls."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import rig
import backends
from reports import inference

# Upper bound of the p95 in milliseconds.
MOST = 100
ROUTES = ["/usage/summary", "/usage/daily", "/usage/models", "/usage/user-paths", "/usage/log", "/audit/log"]
RANGES = [("30 days", {"days": 30}), ("90 days", {"days": 90})]
ZONES = ["UTC", "Asia/Kolkata"]
# One in this many calls is also in the audit log, the newest ones.
AUDITED = 10


def main():
    parser = argparse.ArgumentParser(prog="reports", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="generated calls (default 10,000,000)")
    parser.add_argument("--quick", action="store_true", help="200,000 rows, and figures that are not judged")
    parser.add_argument("--days", type=int, default=90, help="the time that they are spread over")
    parser.add_argument("--calls", type=int, default=50, help="calls of each report")
    parser.add_argument("--inference", type=int, default=5000, help="calls of each round that weighs inference")
    parser.add_argument("--backend", choices=["sqlite", "postgres"], action="append", help="default: both")
    parser.add_argument("--directory", help="keeps the database here, and finds it filled the next time (SQLite)")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.inference = min(options.rows, 200_000), min(options.inference, 500)
    print(f"reports: {options.rows} rows over {options.days} days, {options.calls} calls each", flush=True)
    passed = failed = 0
    for backend in options.backend or ["sqlite", "postgres"]:
        for verdict in run(backend, options):
            passed, failed = passed + verdict, failed + (not verdict)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run(backend, options):
    directory = pathlib.Path(options.directory or tempfile.mkdtemp(prefix=f"reports-{backend}-"))
    directory.mkdir(parents=True, exist_ok=True)
    # PostgreSQL runs as another user, who must be able to traverse this directory.
    directory.chmod(0o755)
    database = backends.start(backend, directory)
    # The generated calls are as old as the retention allows: none may be deleted meanwhile.
    settings = {"USAGE_RETENTION_DAYS": "0", "LOGGING_RETENTION_DAYS": "0", "LOGGING_ENABLED": "true"}
    # The generator opens the database with this key.
    settings["ENCRYPTION_KEY"] = "00" * 32
    gateway = rig.Gateway(directory, **settings, **database.settings)
    try:
        is_new = fill(directory, database.settings, options)
        ready = gateway.start()
        print(f"{backend}: /ready after {ready * 1000:.0f} ms")
        yield check_total(gateway, options, is_new)
        for verdict in [*measure(backend, gateway, options), weigh(backend, gateway, directory, settings, options)]:
            # Timings of a debug build on a busy machine are not meaningful.
            yield verdict or options.quick
    finally:
        gateway.stop()
        database.stop()
        if not options.directory:
            rig.remove(directory)


def weigh(backend, full, directory, settings, options):
    """Whether a call costs the same on the full database as on an empty one of the same type."""
    empty_place = directory / "empty"
    rig.remove(empty_place)
    empty_place.mkdir(mode=0o755)
    database = backends.start(backend, empty_place)
    empty = rig.Gateway(empty_place, **settings, **database.settings)
    try:
        empty.start()
        cost, beside, ratio = inference.compare(full, empty, options.inference)
    finally:
        empty.stop()
        database.stop()
    verdict = "" if ratio <= inference.MOST_MORE else "  MISS"
    print(f"{backend}: CPU-µs a call {cost:.1f}, on an empty database {beside:.1f}, {ratio:.2f} times{verdict}", flush=True)
    return not verdict


def fill(directory, settings, options):
    generator = pathlib.Path(rig.binary("gatehouse")).parent / "examples" / "fill"
    if not generator.exists():
        raise SystemExit("fill is not built: cargo build -p store --features generate --example fill")
    path = directory / "data" / "gatehouse.db"
    if options.directory and path.exists():
        return False
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = settings.get("POSTGRES_URL", f"sqlite:{path}")
    arguments = ["--rows", options.rows, "--days", options.days, "--audited", options.rows // AUDITED, "--database", target]
    subprocess.run([generator, *map(str, arguments)], check=True)
    return True


def check_total(gateway, options, is_new):
    """Checks that summary, daily report and log agree with the generated rows; a reused database has more."""
    query = {"days": options.days + 1, "cache_mode": "all"}
    summary = gateway.admin("GET", "/usage/summary", params=query).json()["total_requests"]
    daily = sum(line["requests"] for line in gateway.admin("GET", "/usage/daily", params=query).json())
    log = gateway.usage_log(limit=1, **query)["total"]
    audited = gateway.admin("GET", "/audit/log", params={"days": options.days + 1, "limit": 1}).json()["total"]
    whole = summary == daily == log and (summary == options.rows or not is_new)
    if not whole or audited < options.rows // AUDITED:
        print(f"MISS {options.rows} rows, {summary} in the summary, {daily} by days, {log} in the log, {audited} audited")
        return False
    return True


def measure(backend, gateway, options):
    heads = ["backend", "report", "range", "zone", "p50 ms", "p95 ms", ""]
    rows = [heads]
    for route in ROUTES:
        for name, query in RANGES:
            for zone in ZONES:
                times = timed(gateway, route, query, zone, options.calls)
                p50, p95 = percentile(times, 50), percentile(times, 95)
                verdict = "" if p95 <= MOST else "MISS"
                rows.append([backend, route, name, zone, f"{p50:.1f}", f"{p95:.1f}", verdict])
                yield p95 <= MOST
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), flush=True)


def timed(gateway, route, query, zone, calls):
    """The duration of each call in milliseconds."""
    headers = rig.bearer(rig.MASTER_KEY) | {"x-gateway-timezone": zone}
    times = []
    for _ in range(calls):
        begun = time.monotonic()
        answer = gateway.http.get(f"/admin/api/v1{route}", params=query, headers=headers)
        times.append((time.monotonic() - begun) * 1000)
        if answer.status_code != 200:
            raise SystemExit(f"reports: {route} answered {answer.status_code}: {answer.text}")
    return times


def percentile(values, hundredths):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * hundredths // 100)]


if __name__ == "__main__":
    sys.exit(main())
