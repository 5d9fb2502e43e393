"""python -m compat [--write] [--only TEXT]: runs the whole grid, then the checks outside it; prints the coverage."""

import argparse
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
    generate,
    lifecycle,
    messages,
    opaque,
    plain,
    report,
    responses,
    rules,
    sockets,
)
from compat.house import House

INGRESS_CHECKS = {
    "chat": chat.CHECKS,
    "responses": responses.CHECKS,
    "messages": messages.CHECKS,
    "generate": generate.CHECKS,
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


def checks(house):
    for cell in cells.grid(house):
        act = INGRESS_CHECKS[cell.ingress][cell.feature]
        yield Check(cell.name, lambda act=act, cell=cell: act(cell), cell)
    for module in OUTSIDE:
        for name, act in module.CHECKS.items():
            title = f"{module.__name__.removeprefix('compat.')}: {name}"
            yield Check(title, lambda act=act: act(house), alone=act in getattr(module, "ALONE", ()))


def perform(house, check):
    house.place.check = check
    begun = time.monotonic()
    try:
        check.run()
    except Exception as error:  # Any exception is the check's result.
        check.faults.append(summary(error))
    check.seconds = time.monotonic() - begun


def summary(error):
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "/compat/" in frame.filename]
    places = " < ".join(f"{frame.filename.rsplit('/', 1)[1]}:{frame.lineno}" for frame in reversed(ours[-3:]))
    text = str(error) or (ours[-1].line if ours else "")
    body = getattr(error, "body", None)
    told = f" {body}" if body and str(body) not in text else ""
    return f"{type(error).__name__}: {text}{told} [{places}]"


def main():
    parser = argparse.ArgumentParser(prog="compat")
    parser.add_argument("--write", action="store_true", help="write docs/compatibility.md")
    parser.add_argument("--only", default="", help="checks whose name holds this text")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    house = House()
    begun = time.monotonic()
    try:
        house.start()
        chosen = [check for check in checks(house) if options.only in check.name]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda check: perform(house, check), [check for check in chosen if not check.alone]))
        for check in chosen:
            if check.alone:
                perform(house, check)
        for check, fault in house.audit():
            check.faults.append(fault)
    finally:
        house.stop()
    report.show(chosen, house.notes)
    failed = sum(1 for check in chosen if check.faults)
    compared = sum(1 for *_, estimated in house.expectations if not estimated)
    print(
        f"\n{len(house.heads)} calls in {time.monotonic() - begun:.0f} s, {compared} of them compared with the bill and the books"
    )
    passed = len(chosen) - failed
    if not options.only and not failed:
        is_current = write_or_compare(report.page(chosen), options.write)
        passed, failed = passed + is_current, failed + (not is_current)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not chosen else 0)


def write_or_compare(text, write):
    """Whether docs/compatibility.md is what this run generates."""
    if write:
        report.PAGE.write_text(text, encoding="utf-8")
    is_current = report.PAGE.read_text(encoding="utf-8") == text
    if not is_current:
        print("FAIL docs/compatibility.md is out of date: make suite compat ARGS=--write")
    return is_current


if __name__ == "__main__":
    main()
