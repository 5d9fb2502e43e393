"""Mixed load on pools and combos over three providers, one of which fails in turns: every call must succeed."""

import argparse
import pathlib
import random
import sys
import tempfile
import threading
import time

import httpx

import rig
from chaos import audit, cast
from chaos.faults import FAULTS
from chaos.load import Load


def main():
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each fault once and short, in about a minute")
    parser.add_argument("--rounds", type=int, help="how often each fault comes, each time at another provider")
    parser.add_argument("--rate", type=float, default=60, help="calls per second (default 60)")
    parser.add_argument("--fault", action="append", help="only these faults")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.fault_seconds, options.gap_seconds = (4.0, 4.0) if options.quick else (8.0, 6.0)
    options.open_seconds, options.silence_seconds = (1.5, 0.8) if options.quick else (2.0, 1.0)
    chosen = [fault for fault in FAULTS if not options.fault or fault.name in options.fault]
    print(f"chaos: {options.rounds} rounds of {len(chosen)} faults, {options.rate:g} calls/s, seed {options.seed}", flush=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
    providers = [cast.Provider(name) for name in cast.NAMES]
    gateway = rig.Gateway(directory, REQUEST_TIMEOUT="20s")
    try:
        passed, failed = run(gateway, providers, chosen, options)
    except BaseException:
        print(f"chaos: the run broke off; its files stay in {directory}", file=sys.stderr)
        raise
    finally:
        gateway.stop()
        for provider in providers:
            provider.stop()
    if failed:
        print(f"chaos: the files of the failed run stay in {directory}")
    else:
        rig.remove(directory)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run(gateway, providers, chosen, options):
    gateway.start()
    routes = cast.equip(gateway, providers, int(options.open_seconds * 1000), int(options.silence_seconds * 1000))
    watch = Watch(gateway)
    watch.thread.start()
    load = Load(gateway.port, routes, options.rate, 24, options.seed)
    load.start()
    time.sleep(2)
    phases = []
    for turn in range(options.rounds):
        for number, fault in enumerate(chosen):
            phases.append(suffer(fault, providers[(number + turn) % 3], load, options))
            phase = phases[-1]
            print(f"chaos: {fault.name} at {phase.provider} is over", flush=True)
    calls = load.stop()
    watch.stop()
    for phase in phases:
        phase.closed = watch.closed(phase)
    return report(calls, phases, watch, audit.rows_of(gateway, calls), options)


def suffer(fault, provider, load, options):
    phase = audit.Phase(fault, provider.name, time.monotonic())
    fault.begin(provider)
    time.sleep(max(0.0, phase.begun + options.fault_seconds - time.monotonic()))
    phase.met = fault.end(provider)
    phase.ended = time.monotonic()
    load.visit(load.routes[f"combo-{provider.name}"][1], options.gap_seconds)
    calls, _ = provider.met()
    phase.returned = {model: min(times) for model, times in calls.items()}
    return phase


class Watch:
    """Polls the breaker states reported by the gateway ten times a second."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.seen = []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self.ending.wait(0.1):
            try:
                answer = self.gateway.admin("GET", "/providers/status")
            except httpx.HTTPError:
                continue
            if answer.status_code == 200:
                states = {entry["name"]: breaker(entry) for entry in rig.entries(answer.json())}
                self.seen.append((time.monotonic(), states))

    def stop(self):
        self.ending.set()
        self.thread.join(timeout=5)

    def opened(self, phase):
        """Seconds until a breaker of the faulty provider opened."""
        times = [at for at, states in self.seen if phase.begun < at < phase.ended and states.get(phase.provider) != "closed"]
        return min(times) - phase.begun if times else None

    def closed(self, phase):
        """Seconds after the fault until all of them were closed."""
        times = [at for at, states in self.seen if at > phase.ended and states.get(phase.provider) == "closed"]
        return min(times) - phase.ended if times else None


def breaker(entry):
    health = entry.get("health", entry)
    return health.get("breaker", "closed")


def report(calls, phases, watch, rows, options):
    bound = options.open_seconds + 2
    lines, late = [], []
    for phase in phases:
        own = phase.calls(calls)
        stubborn = audit.late(phase, own, options.open_seconds)
        late += [(phase, what) for what in stubborn]
        extra = sum(call.attempts - 1 for call in own if call.attempts)
        opened = watch.opened(phase)
        lines.append(
            [
                f"{phase.fault.name} at {phase.provider}",
                len(own),
                sum(bool(call.fault) for call in own),
                extra,
                audit.burst(phase, options.open_seconds) or "-",
                len(stubborn),
                f"{opened:.1f}" if opened is not None else "-",
                f"{max(phase.returned.values()):.1f}" if phase.returned else "never",
                f"{phase.closed:.1f}" if phase.closed is not None else "never",
                *audit.milliseconds(own),
            ]
        )
    heads = ["fault", "calls", "failed", "extra", "burst", "late", "opened s", "back s", "closed s", "p50 ms", "p99 ms"]
    audit.table(heads, lines)
    by_strategy = {strategy: [call for call in calls if call.strategy == strategy] for strategy in cast.STRATEGIES}
    print()
    audit.table(
        ["strategy", "calls", "failed", "attempts", "one", "two", "three", "p50 ms", "p99 ms"],
        [[name, *share(own)] for name, own in by_strategy.items()],
    )
    good = sum(not call.fault for call in calls)
    answered = [call for call in calls if call.attempts]
    success = good / len(calls)
    attempts = sum(call.attempts for call in answered) / max(1, len(answered))
    p50, p99 = audit.milliseconds(calls)
    print(f"\ncalls {len(calls)}, success {success:.4%}, attempts per call {attempts:.3f}, p50 {p50} ms, p99 {p99} ms")
    books = audit.check_books(calls, rows)
    slow = [phase for phase in phases if len(phase.returned) < len(cast.MODELS) or max(phase.returned.values()) > bound]
    open_still = [phase for phase in phases if phase.closed is None or phase.closed > bound]
    unopened = [phase for phase in phases if phase.fault.opens and watch.opened(phase) is None]
    name = "{0.fault.name} at {0.provider}".format
    checks = [
        (f"success is at least {audit.SUCCESS:.2%}", success >= audit.SUCCESS, [f"{c.request_id} ({c.format}, {c.route}, stream {c.stream}, {c.seconds:.2f} s): {c.fault}" for c in calls if c.fault]),
        (f"attempts per call are at most {audit.ATTEMPTS}", attempts <= audit.ATTEMPTS, [f"{attempts:.3f}"]),
        ("nobody calls a model that has failed often enough", not late, [f"{name(phase)}: {what}" for phase, what in late]),
        ("the breaker opens", not unopened, [name(phase) for phase in unopened]),
        (f"a provider that is well is called again within {bound:g} s", not slow, [f"{name(p)}: {p.returned}" for p in slow]),
        (f"its breakers are closed within {bound:g} s", not open_still, [f"{name(p)}: {p.closed}" for p in open_still]),
        ("each call has exactly one usage row", not books, books),
    ]
    for what, holds, details in checks:
        print(f"{'ok    ' if holds else 'MISSED'} {what}")
        for detail in [] if holds else details[:12]:
            print(f"         {detail}")
    return sum(holds for _, holds, _ in checks), sum(not holds for _, holds, _ in checks)


def share(calls):
    answered = [call for call in calls if call.attempts]
    attempts = sum(call.attempts for call in answered) / max(1, len(answered))
    served = [sum(call.provider == name for call in calls) for name in cast.NAMES]
    return [len(calls), sum(bool(call.fault) for call in calls), f"{attempts:.3f}", *served, *audit.milliseconds(calls)]


if __name__ == "__main__":
    sys.exit(main())
