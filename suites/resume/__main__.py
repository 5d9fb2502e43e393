"""Interrupts streams at random offsets of their text; another model continues, and the client must see one unbroken
answer."""

import collections
import concurrent.futures
import random
import sys
import time

import rig
from harness import Suite
from resume import cases, clients
from resume.app import ResumeApp


def main():
    suite = Suite("resume", __doc__, quick="40 kills instead of 500")
    suite.add_argument("--kills", type=int)
    suite.add_argument("--workers", type=int, default=6)
    suite.add_argument("--seed", type=int, help="repeats the texts and offsets of a run; the quick form always has the same")
    options = suite.parse()
    options.kills = options.kills or (40 if options.quick else 500)
    if options.seed is None:
        options.seed = 7 if options.quick else random.randrange(2**32)
    suite.note(f"{options.kills} kills, seed {options.seed}")
    few = max(6, options.kills // 12)
    on = [
        ("kills", cases.kills, options.kills),
        ("calls cut in their arguments", cases.calls, 2 * few),
        ("the continuing model fails", cases.detours, few),
        ("no model left", cases.hopeless, few),
        ("no fault", cases.untouched, few),
    ]
    suite.run("", lambda app: run(app, "on", options, on))
    off = [("resume is off", cases.hopeless, few)]
    suite.run("", lambda app: run(app, "off", options, off, RESUME_STREAMS="false"))
    return suite.finish()


def run(test_app, name, options, wanted, **settings):
    app = ResumeApp(test_app, **settings)
    chance = random.Random(f"{options.seed}-{name}")
    groups = [(title, make(app, chance, count)) for title, make, count in wanted]
    everything = [case for _, group in groups for case in group]
    begun = time.monotonic()

    def perform(case):
        try:
            prompt, has_calls = case.script.prompt(), bool(case.script.calls)
            case.answer = clients.send(app, case.client, case.model, prompt, case.request_id, has_calls)
            case.judge()
        except Exception as fault:
            case.faults.append(f"{type(fault).__name__}: {fault}")

    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(perform, everything))
    seconds = time.monotonic() - begun
    try:
        rig.eventually(lambda: app.gateway.usage_log(limit=1)["total"] >= len(everything), what="the usage rows")
    except AssertionError as late:
        test_app.note(late)
    rows = app.rows()
    for case in everything:
        case.judge_row(rows.get(case.request_id, []))
    test_app.note(f"{len(everything)} streams with resume {name} in {seconds:.0f} s")
    for title, group in groups:
        report(test_app, title, group)


def report(app, title, group):
    wrong = [case for case in group if case.faults]
    complete = sum(bool(case.answer and case.answer.ends == 1 and not case.answer.error) for case in group)
    doubled, lost = sum(case.doubled for case in group), sum(case.lost for case in group)
    figures = f"{len(group)} streams, {complete} complete, {doubled} characters doubled, {lost} lost, {len(wrong)} wrong"
    app.check(f"{title}: {figures}", *[f"{case.name}: {case.faults[0]}" for case in wrong])
    if wrong:
        show_distribution(group, wrong)


def show_distribution(group, wrong):
    """Prints the distribution of the failed cases."""
    views = {
        "client": lambda case: case.client,
        "first": lambda case: case.path[0],
        "then": lambda case: case.path[-1],
        "fault": lambda case: case.script.fault_names.split("+")[0],
        "continuation": lambda case: case.script.continuation_name,
    }
    for view, key in views.items():
        every, bad = collections.Counter(map(key, group)), collections.Counter(map(key, wrong))
        print(f"         by {view}: " + ", ".join(f"{name} {bad[name]}/{every[name]}" for name in sorted(every)))


if __name__ == "__main__":
    sys.exit(main())
