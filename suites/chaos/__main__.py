"""Mixed load on pools and combos over three providers, one of which fails in turns: every call must succeed."""

import random
import sys
import threading
import time

import httpx

import rig
from chaos import figures, providers
from chaos.faults import FAULTS
from chaos.load import Load
from harness import Suite, print_table


def main():
    suite = Suite("chaos", __doc__, quick="each fault once and short, in about a minute")
    suite.add_argument("--rounds", type=int, help="how often each fault comes, each time at another provider")
    suite.add_argument("--rate", type=float, default=60, help="calls per second (default 60)")
    suite.add_argument("--fault", action="append", help="only these faults")
    suite.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = suite.parse()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.fault_seconds, options.gap_seconds = (4.0, 4.0) if options.quick else (8.0, 6.0)
    options.open_seconds, options.silence_seconds = (1.5, 0.8) if options.quick else (2.0, 1.0)
    chosen = [fault for fault in FAULTS if not options.fault or fault.name in options.fault]
    suite.note(f"{options.rounds} rounds of {len(chosen)} faults, {options.rate:g} calls/s, seed {options.seed}")
    suite.run("", lambda app: run(app, chosen, options))
    return suite.finish()


def run(app, chosen, options):
    upstreams = [app.add(providers.Provider(name)) for name in providers.NAMES]
    gateway = app.start_gateway(REQUEST_TIMEOUT="20s")
    open_ms, silence_ms = int(options.open_seconds * 1000), int(options.silence_seconds * 1000)
    routes = providers.configure(gateway, upstreams, open_ms, silence_ms)
    watch = BreakerWatch(gateway)
    watch.thread.start()
    load = Load(gateway.port, routes, options.rate, 24, options.seed)
    load.start()
    time.sleep(2)
    phases = []
    for turn in range(options.rounds):
        for number, fault in enumerate(chosen):
            phases.append(run_phase(fault, upstreams[(number + turn) % 3], load, options))
            app.note(f"{fault.name} at {phases[-1].provider} is over")
    calls = load.stop()
    watch.stop()
    for phase in phases:
        phase.closed = watch.closed(phase)
    report(app, calls, phases, watch, figures.rows_of(gateway, calls), options)


def run_phase(fault, provider, load, options):
    phase = figures.Phase(fault, provider.name, time.monotonic())
    fault.begin(provider)
    time.sleep(max(0.0, phase.begun + options.fault_seconds - time.monotonic()))
    phase.met = fault.end(provider)
    phase.ended = time.monotonic()
    load.probe(load.routes[f"combo-{provider.name}"][1], options.gap_seconds)
    calls, _ = provider.calls_since_fault()
    phase.returned = {model: min(times) for model, times in calls.items()}
    return phase


class BreakerWatch:
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


def report(app, calls, phases, watch, rows, options):
    bound = options.open_seconds + 2
    lines, late = [], []
    for phase in phases:
        own = phase.calls(calls)
        forbidden = figures.late(phase, own, options.open_seconds)
        late += [(phase, what) for what in forbidden]
        extra = sum(call.attempts - 1 for call in own if call.attempts)
        opened = watch.opened(phase)
        lines.append(
            [
                f"{phase.fault.name} at {phase.provider}",
                len(own),
                sum(bool(call.fault) for call in own),
                extra,
                figures.burst(phase, options.open_seconds) or "-",
                len(forbidden),
                f"{opened:.1f}" if opened is not None else "-",
                f"{max(phase.returned.values()):.1f}" if phase.returned else "never",
                f"{phase.closed:.1f}" if phase.closed is not None else "never",
                *figures.milliseconds(own),
            ]
        )
    heads = ["fault", "calls", "failed", "extra", "burst", "late", "opened s", "back s", "closed s", "p50 ms", "p99 ms"]
    print_table(heads, lines)
    by_strategy = {strategy: [call for call in calls if call.strategy == strategy] for strategy in providers.STRATEGIES}
    print()
    print_table(
        ["strategy", "calls", "failed", "attempts", "one", "two", "three", "p50 ms", "p99 ms"],
        [[name, *share(own)] for name, own in by_strategy.items()],
    )
    good = sum(not call.fault for call in calls)
    answered = [call for call in calls if call.attempts]
    success = good / len(calls)
    attempts = sum(call.attempts for call in answered) / max(1, len(answered))
    p50, p99 = figures.milliseconds(calls)
    print(f"\ncalls {len(calls)}, success {success:.4%}, attempts per call {attempts:.3f}, p50 {p50} ms, p99 {p99} ms")
    unequal = figures.accounting_faults(calls, rows)
    slow = [phase for phase in phases if len(phase.returned) < len(providers.MODELS) or max(phase.returned.values()) > bound]
    open_still = [phase for phase in phases if phase.closed is None or phase.closed > bound]
    unopened = [phase for phase in phases if phase.fault.opens and watch.opened(phase) is None]
    name = "{0.fault.name} at {0.provider}".format
    checks = [
        (f"success is at least {figures.SUCCESS:.2%}", success >= figures.SUCCESS, [f"{c.request_id} ({c.format}, {c.route}, stream {c.stream}, {c.seconds:.2f} s): {c.fault}" for c in calls if c.fault]),
        (f"attempts per call are at most {figures.ATTEMPTS}", attempts <= figures.ATTEMPTS, [f"{attempts:.3f}"]),
        ("a model that failed too often is not called while its breaker is open", not late, [f"{name(phase)}: {what}" for phase, what in late]),
        ("the breaker opens", not unopened, [name(phase) for phase in unopened]),
        (f"a recovered provider is called again within {bound:g} s", not slow, [f"{name(p)}: {p.returned}" for p in slow]),
        (f"its breakers are closed within {bound:g} s", not open_still, [f"{name(p)}: {p.closed}" for p in open_still]),
        ("each call has exactly one usage row", not unequal, unequal),
    ]
    for what, holds, details in checks:
        app.check(what, *([] if holds else details or ["it does not hold"]))


def share(calls):
    answered = [call for call in calls if call.attempts]
    attempts = sum(call.attempts for call in answered) / max(1, len(answered))
    served = [sum(call.provider == name for call in calls) for name in providers.NAMES]
    return [len(calls), sum(bool(call.fault) for call in calls), f"{attempts:.3f}", *served, *figures.milliseconds(calls)]


if __name__ == "__main__":
    sys.exit(main())
