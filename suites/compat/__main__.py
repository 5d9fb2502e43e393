"""Runs the whole grid of clients and providers, then the checks outside it; prints the coverage."""

import concurrent.futures
import dataclasses
import sys
import time
import traceback

from compat import (
    bad_input,
    cells,
    chat,
    clients,
    flow,
    gemini,
    lifecycle,
    messages,
    opaque,
    plain,
    report,
    responses,
    rules,
    sockets,
)
from compat.app import CompatApp
from harness import Suite

INGRESS_CHECKS = {
    "chat": chat.CHECKS,
    "responses": responses.CHECKS,
    "messages": messages.CHECKS,
    "generate": gemini.CHECKS,
}
OUTSIDE = (lifecycle, sockets, plain, opaque, rules, clients, bad_input, flow)


@dataclasses.dataclass
class Check:
    name: str
    run: object
    cell: object = None
    # Whether it measures time and must run alone.
    alone: bool = False
    faults: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0


def checks(app):
    for cell in cells.grid(app):
        act = INGRESS_CHECKS[cell.ingress][cell.feature]
        yield Check(cell.name, lambda act=act, cell=cell: act(cell), cell)
    for module in OUTSIDE:
        for name, act in module.CHECKS.items():
            title = f"{module.__name__.removeprefix('compat.')}: {name}"
            yield Check(title, lambda act=act: act(app), alone=act in getattr(module, "ALONE", ()))


def perform(app, check):
    app.local.check = check
    begun = time.monotonic()
    try:
        check.run()
    except Exception as error:  # Any exception is the check's result.
        check.faults.append(summary(error))
    check.seconds = time.monotonic() - begun


def summary(error):
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "/compat/" in frame.filename]
    frames = " < ".join(f"{frame.filename.rsplit('/', 1)[1]}:{frame.lineno}" for frame in reversed(ours[-3:]))
    text = str(error) or (ours[-1].line if ours else "")
    body = getattr(error, "body", None)
    details = f" {body}" if body and str(body) not in text else ""
    return f"{type(error).__name__}: {text}{details} [{frames}]"


def main():
    suite = Suite("compat", __doc__, only="checks whose name contains this text")
    suite.add_argument("--write", action="store_true", help="write docs/compatibility.md")
    suite.add_argument("--jobs", type=int, default=4)
    suite.parse()
    suite.run("", lambda app: run(app, suite))
    return suite.finish()


def run(test_app, suite):
    app = CompatApp(test_app)
    app.start()
    begun = time.monotonic()
    chosen = [check for check in checks(app) if suite.selects(check.name)]
    with concurrent.futures.ThreadPoolExecutor(suite.options.jobs) as pool:
        list(pool.map(lambda check: perform(app, check), [check for check in chosen if not check.alone]))
    for check in chosen:
        if check.alone:
            perform(app, check)
    for check, fault in app.audit():
        check.faults.append(fault)
    report.show(chosen, app.notes)
    for check in chosen:
        suite.count(check.faults)
    test_app.keep_files = any(check.faults for check in chosen)
    compared = sum(1 for *_, estimated in app.expectations if not estimated)
    seconds = time.monotonic() - begun
    print(f"\n{len(app.heads)} calls in {seconds:.0f} s, {compared} of them compared with the bill and the usage rows")
    if not suite.options.only and not any(check.faults for check in chosen):
        suite.count([] if write_or_compare(report.page(chosen), suite.options.write) else ["out of date"])


def write_or_compare(text, write):
    """Whether docs/compatibility.md is what this run generates."""
    if write:
        report.PAGE.write_text(text, encoding="utf-8")
    is_current = report.PAGE.read_text(encoding="utf-8") == text
    if not is_current:
        print("FAIL docs/compatibility.md is out of date: make suite compat ARGS=--write")
    return is_current


if __name__ == "__main__":
    sys.exit(main())
