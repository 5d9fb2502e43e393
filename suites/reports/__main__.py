"""Fills a database with generated usage, starts the gateway on it and measures its reports, the cost of calls, and how long
expired rows take to be deleted."""

import pathlib
import sys
import time

import backends
import rig
from harness import Suite
from measure import percentile
from reports import generated, inference, retention

# Upper bound of the p95 in milliseconds.
MOST = 100
ROUTES = ["/usage/summary", "/usage/daily", "/usage/models", "/usage/user-paths", "/usage/log", "/audit/log"]
RANGES = [("30 days", {"days": 30}), ("90 days", {"days": 90})]
ZONES = ["UTC", "Asia/Kolkata"]
PARTS = ["reports", "inference", "retention"]


def main():
    suite = Suite("reports", __doc__, quick="200,000 rows; durations are not judged, or loosely", only=f"parts whose name contains this text: {', '.join(PARTS)}")
    suite.add_argument("--rows", type=int, default=10_000_000, help="generated calls (default 10,000,000)")
    suite.add_argument("--days", type=int, default=90, help="the time that they are spread over")
    suite.add_argument("--calls", type=int, default=50, help="calls of each report")
    suite.add_argument("--inference", type=int, default=5000, help="calls of each round that weighs inference")
    suite.add_argument("--backend", choices=backends.NAMES, action="append", help="default: both")
    suite.add_argument("--directory", help="keeps the database here, and finds it filled the next time (SQLite)")
    options = suite.parse()
    if options.quick:
        options.rows, options.inference = min(options.rows, 200_000), min(options.inference, 500)
    suite.note(f"{options.rows} rows over {options.days} days, {options.calls} calls each")
    for backend in options.backend or backends.NAMES:
        suite.run(backend, lambda app: run(app, backend, options))
    return suite.finish()


def run(app, backend, options):
    directory = pathlib.Path(options.directory or app.directory)
    directory.mkdir(parents=True, exist_ok=True)
    # PostgreSQL runs as another user, who must be able to traverse this directory.
    directory.chmod(0o755)
    database = app.add(backends.start(backend, directory))
    is_new = not (options.directory and generated.path_of(directory).exists())
    if is_new:
        generated.fill(directory, database, options.rows, options.days, options.rows // generated.AUDITED)
    chosen = [part for part in PARTS if app.suite.selects(part)]
    if set(chosen) - {"retention"}:
        measure(app, backend, database, directory, options, chosen, is_new)
    if "retention" in chosen and options.directory:
        app.suite.skip("retention", "it would delete rows of the database in --directory")
    elif "retention" in chosen:
        retention.run(app, backend, database, directory, options)


def measure(app, backend, database, directory, options, chosen, is_new):
    """Measures the reports and the cost of calls, and stops the gateways."""
    # The generated calls are as old as the retention allows: none may be deleted meanwhile.
    settings = {"USAGE_RETENTION_DAYS": "0", "LOGGING_RETENTION_DAYS": "0", "LOGGING_ENABLED": "true"}
    settings["ENCRYPTION_KEY"] = generated.ENCRYPTION_KEY
    gateway = app.gateway(directory=directory, **settings, **database.settings)
    app.note(f"/ready after {gateway.start() * 1000:.0f} ms")
    # Timings of a debug build on a busy machine are not meaningful.
    judged = app.check if not options.quick else lambda what, *_: app.check(what)
    if "reports" in chosen:
        app.check("all reports agree with the generated rows", *check_total(gateway, options, is_new))
        for what, fault in measure_reports(gateway, options):
            judged(what, fault)
    if "inference" in chosen:
        cost, empty_cost, ratio = compare_with_empty(app, backend, gateway, directory, settings, options)
        figures = f"CPU-µs a call {cost:.1f}, on an empty database {empty_cost:.1f}, {ratio:.2f} times"
        judged(figures, ratio > inference.MOST_MORE and "over the bound")
    gateway.stop()


def compare_with_empty(app, backend, full, directory, settings, options):
    """Cost of a call on the full database and on an empty one of the same type."""
    empty_directory = directory / "empty"
    rig.remove(empty_directory)
    empty_directory.mkdir(mode=0o755)
    database = app.add(backends.start(backend, empty_directory))
    empty = app.start_gateway(directory=empty_directory, **settings, **database.settings)
    figures = inference.compare(full, empty, options.inference)
    empty.stop()
    return figures


def check_total(gateway, options, is_new):
    """Yields where summary, daily report and log differ from the generated rows; a reused database has more."""
    query = {"days": options.days + 1, "cache_mode": "all"}
    summary = gateway.admin("GET", "/usage/summary", params=query).json()["total_requests"]
    daily = sum(line["requests"] for line in gateway.admin("GET", "/usage/daily", params=query).json())
    log = gateway.usage_log(limit=1, **query)["total"]
    audited = gateway.admin("GET", "/audit/log", params={"days": options.days + 1, "limit": 1}).json()["total"]
    agrees = summary == daily == log and (summary == options.rows or not is_new)
    if not agrees or audited < options.rows // generated.AUDITED:
        yield f"{options.rows} rows, {summary} in the summary, {daily} by days, {log} in the log, {audited} audited"


def measure_reports(gateway, options):
    """Yields each report with its figures, and the fault if it takes too long."""
    for route in ROUTES:
        for name, query in RANGES:
            for zone in ZONES:
                times = timed(gateway, route, query, zone, options.calls)
                p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
                what = f"{route}, {name}, {zone}: p50 {p50:.1f} ms, p95 {p95:.1f} ms (at most {MOST} ms)"
                yield what, p95 > MOST and "over the bound"


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


if __name__ == "__main__":
    sys.exit(main())
