"""Keys with limits and 64 racing workers each: calls that reach the upstream, by its own clock, stay within the limits.
"""

import collections
import threading
import time

import machine_time
import rig
import traffic
from spend import workload

WORKERS = 64
MINUTE = 60.0
# Tolerance in seconds: calls are counted on admission and recorded on arrival, and their delay varies.
ON_THE_WAY = 0.5
REQUESTS, TOKENS, PARALLEL = 60, 2000, 5
MODELS = ["text@requests", "max-tokens@tokens", "slow-20@parallel"]


def run(gateway, upstream, options):
    seconds = 12 if options.quick else 70
    cases = {
        "requests": ({"requests_per_minute": REQUESTS}, MODELS[0]),
        "tokens": ({"tokens_per_minute": TOKENS}, MODELS[1]),
        "parallel": ({"max_parallel_requests": PARALLEL}, MODELS[2]),
    }
    loads = {}
    for name, (limits, model) in cases.items():
        answer = gateway.admin("POST", "/auth-keys", json={"name": name, "rate_limits": limits})
        assert answer.status_code == 201, answer.text
        loads[name] = traffic.Load(gateway.port, WORKERS, f"{options.seed}{name}", plan(f"openai/{model}"), rig.bearer(answer.json()["key"]))
    patient = None if options.quick else Patient(gateway)
    begun = time.monotonic()
    for load in loads.values():
        load.start()
    machine_time.sleep(seconds, at_most=4)  # Within a minute: the limits are per minute.
    calls = {name: load.stop() for name, load in loads.items()}
    print(f"spend: limits: {sum(map(len, calls.values()))} calls in {time.monotonic() - begun:.0f} s", flush=True)
    bill = collections.defaultdict(list)
    for line in upstream.bill():
        bill[line["model"].rpartition("@")[2]].append(line)
    arrivals = [(line["began_ms"] / 1000, 1) for line in bill["requests"]]
    tokens = [(line["began_ms"] / 1000, line["prompt_tokens"] + line["completion_tokens"]) for line in bill["tokens"]]
    most = {
        "requests": (busiest(arrivals), REQUESTS),
        "tokens": (busiest(tokens), TOKENS),
        "parallel": (overlap(bill["parallel"]), PARALLEL),
    }
    # A token bucket admits its content, its refill meanwhile, and the excess of calls in flight over their estimates.
    largest = max((weight for _, weight in tokens), default=0)
    allowed = {"requests": REQUESTS, "tokens": 2 * TOKENS + WORKERS * largest, "parallel": PARALLEL}
    checks = []
    for name, (found, limit) in most.items():
        served = sum(call.served for call in calls[name])
        print(f"spend: limits: {name}: at most {found} of {limit}, {served} served, {len(calls[name]) - served} refused", flush=True)
        checks.append((f"limit of {name}: never over it", [f"{found} of {allowed[name]}"] if found > allowed[name] else []))
        checks.append((f"limit of {name}: it can be reached", [f"{found} of {limit}"] if found < limit * 0.7 else []))
        checks.append((f"limit of {name}: refusals say when to come back", strange(calls[name])))
    if patient:
        checks.append(("a client that waits for Retry-After is served, and one that does not is refused", patient.judge()))
    return checks


def plan(model):
    def next_call(chance, request_id):
        # Rejected calls would otherwise take the machine's capacity from the served ones.
        time.sleep(chance.uniform(0.1, 0.5) if not request_id.endswith("-0") else 0)
        call = traffic.Call(request_id, chance.choice(workload.FORMATS), model, chance.random() < 0.5)
        call.max_tokens = 20
        return call

    return next_call


def busiest(events):
    """The maximum sum of weights in any minute."""
    events, most, first, sum_of = sorted(events), 0, 0, 0
    for at, weight in events:
        sum_of += weight
        while events[first][0] < at - (MINUTE - ON_THE_WAY):
            sum_of -= events[first][1]
            first += 1
        most = max(most, sum_of)
    return most


def overlap(lines):
    steps = [(line["began_ms"], 1) for line in lines] + [(line["ended_ms"] or float("inf"), -1) for line in lines]
    now = most = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def strange(calls):
    found = []
    for call in calls:
        if call.acknowledged and not call.served:
            wait = call.headers.get("retry-after", "")
            missing = [name for name in ("limit", "remaining", "reset", "scope") if f"x-ratelimit-{name}" not in call.headers]
            code = "rate_limit_error" if call.format == "messages" else "rate_limit_exceeded"
            if (call.status, call.code) != (429, code) or not wait.isdigit() or missing:
                found.append(f"{call.status} {call.code}, retry-after {wait!r}, without {missing}: {call.error_text}")
        elif call.served and "x-ratelimit-remaining" not in call.headers:
            found.append(f"served without its limits: {call}")
    return found


class Patient:
    """Two calls a minute are allowed; a third waits exactly as long as its Retry-After."""

    def __init__(self, gateway):
        made = gateway.admin("POST", "/auth-keys", json={"name": "patient", "rate_limits": {"requests_per_minute": 2}})
        self.gateway, self.key, self.faults = gateway, rig.bearer(made.json()["key"]), ["it never came back"]
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def ask(self):
        body = {"model": "openai/text", "messages": [{"role": "user", "content": "patience"}]}
        return self.gateway.http.post("/v1/chat/completions", headers=self.key, json=body)

    def _wait(self):
        first = [self.ask().status_code for _ in range(2)]
        refused = self.ask()
        seconds = int(refused.headers.get("retry-after", "0"))
        time.sleep(max(0, seconds - 1.5))
        early = self.ask().status_code
        time.sleep(1.5)
        statuses = [*first, refused.status_code, early, self.ask().status_code]
        good = statuses == [200, 200, 429, 429, 200]
        self.faults = [] if good else [f"Retry-After was {seconds} s; answered {statuses}"]

    def judge(self):
        self.thread.join(timeout=80)
        return self.faults
