"""Rate limits on four replicas, measured by the clock of the upstream while replicas and Redis fail.

Every stage has keys of its own, and lasts longer than the minute of its limits unless the run is quick.
"""

import time

import machine_time
import traffic
from measure import percentile
from replicas.cluster import KNOWN, WORKERS, create_key, stop_load
from spend import workload
from spend.limits import MINUTE, ON_THE_WAY, busiest, overlap, strange

REQUESTS, TOKENS = 240, 12_000
# Mean pause of a worker in seconds: the keys with limits have all workers, the one without has few.
PAUSE, FEW, SHORT_PAUSE = 1.5, 8, 0.3
# A call waits for Redis for its timeout at most; and the noise of a machine, without the time that its host refused, and of a
# busy one.
REDIS_TIMEOUT, NOISE, BUSY_NOISE = 0.1, 0.2, 1.0
# Seconds that Redis is silent in the stage of stalls, and between two of them.
STALL, BETWEEN_STALLS = 0.15, 4.0


def replicas_fail(cluster, chance):
    """A crash and a pause of replicas, while Redis is up."""
    cluster.replicas[1].kill()
    time.sleep(0.5)
    cluster.replicas[1].start()
    cluster.replicas[2].pause()
    time.sleep(2.0)
    cluster.replicas[2].resume()


def redis_restarts(cluster, seconds):
    cluster.redis.halt()
    time.sleep(seconds)
    cluster.redis.revive()


def redis_is_flushed(cluster, _):
    cluster.redis.flush()


def redis_freezes(cluster, seconds):
    cluster.redis.freeze()
    time.sleep(seconds)
    cluster.redis.thaw()


def redis_stalls(cluster, seconds):
    """Redis is silent for a little longer than a call waits, several times: it is slow, not away."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        cluster.redis.freeze()
        time.sleep(STALL)
        cluster.redis.thaw()
        time.sleep(BETWEEN_STALLS)


def redis_fails(cluster, seconds):
    for fault in (redis_restarts, redis_is_flushed, redis_freezes):
        fault(cluster, seconds / 3)
        time.sleep(0.5)


# The faults of each stage, and how often the limit one minute may contain at most.
STAGES = {
    "calm": (None, 1),
    "replicas fail": (replicas_fail, 1),
    "Redis stalls": (redis_stalls, 1),
    "Redis restarts": (redis_restarts, 2),
    "Redis is flushed": (redis_is_flushed, 2),
    "Redis freezes": (redis_freezes, 2),
}
QUICK = {"calm": (None, 1), "Redis fails": (redis_fails, 2)}
SUFFIXES = [f"{kind}-{number}" for kind in ("requests", "tokens", "unlimited") for number in range(len(STAGES))]
# Answers take a moment, so that calls overlap.
MODELS = [f"slow-20@{suffix}" for suffix in SUFFIXES]


def run(app, cluster, options):
    seconds = 6 if options.quick else 75
    for number, (name, (fault, times)) in enumerate((QUICK if options.quick else STAGES).items()):
        stage(app, cluster, options, number, name, fault, times, seconds)
        cluster.heal()


def stage(app, cluster, options, number, name, fault, times, seconds):
    limits = {"requests": {"requests_per_minute": REQUESTS}, "tokens": {"tokens_per_minute": TOKENS}, "unlimited": None}
    loads = {}
    for kind, limit in limits.items():
        made = create_key(cluster, name=f"{kind} {number}", rate_limits=limit, user_path="/replicas/limits")
        plan = plan_of(f"openai/slow-20@{kind}-{number}", PAUSE if limit else SHORT_PAUSE)
        loads[kind] = cluster.load(f"{options.seed}{kind}{number}", plan, made["key"], WORKERS if limit else FEW)
    time.sleep(KNOWN)
    for group in loads.values():
        for load in group:
            load.start()
    begun = time.monotonic()
    machine_time.sleep(seconds / 3, at_most=2)
    from_fault, watch = time.monotonic(), machine_time.Stopwatch()
    if fault:
        fault(cluster, seconds / 3)
    to_fault, granted = time.monotonic(), watch.granted_share()
    time.sleep(max(seconds / 3, begun + seconds - time.monotonic()))
    calls = {kind: stop_load(group) for kind, group in loads.items()}
    judge_requests(app, cluster, number, name, times, calls["requests"], fault)
    judge_tokens(app, cluster, number, name, times, calls["tokens"])
    failed = [call for call in calls["unlimited"] if call.acknowledged and not call.served]
    app.check(f"{name}: calls of a key without limits are served", *(f"{call.status} {call.code} {call.error_text}: {call}" for call in failed))
    if fault in (redis_restarts, redis_stalls, redis_freezes, redis_fails):
        amid = {kind: [call for call in made if call.started <= to_fault and call.ended >= from_fault] for kind, made in calls.items()}
        # They do not wait for Redis: their times are those of the machine.
        noise = judge_times(app, f"{name}: calls without limits", amid.pop("unlimited"), granted, REDIS_TIMEOUT + BUSY_NOISE)
        noise = BUSY_NOISE if app.quick else max(NOISE, noise)
        for kind, made in amid.items():
            judge_times(app, f"{name}: calls with a limit of {kind}", made, granted, REDIS_TIMEOUT + noise)


def plan_of(model, pause):
    def plan(chance, request_id):
        time.sleep(chance.uniform(0.3, 1.7) * pause)
        call = traffic.Call(request_id, chance.choice(workload.FORMATS), model, chance.random() < 0.5)
        call.max_tokens = 100
        return call

    return plan


def judge_requests(app, cluster, number, name, times, calls, fault):
    arrivals = [(line["began_ms"] / 1000, 1) for line in cluster.lines(f"requests-{number}")]
    most, served = busiest(arrivals), sum(call.served for call in calls)
    refused = len(calls) - served
    app.check_at_most(f"{name}: requests in any minute, limit {REQUESTS}, {served} served, {refused} not", most, times * REQUESTS)
    app.check(f"{name}: the limit can be reached", most < 0.7 * REQUESTS and f"only {most} of {REQUESTS}")
    if fault is None:
        app.check(f"{name}: refusals say when to come back", *strange(calls))


def judge_tokens(app, cluster, number, name, times, calls):
    """A bucket admits its content, its refill, and what the calls in flight exceed their estimates by.

    When Redis has lost its data, or is away, another full bucket follows within the minute, with its own calls in flight.
    """
    lines = cluster.lines(f"tokens-{number}")
    used = [(line["began_ms"] / 1000, line["prompt_tokens"] - line["cached_tokens"] + line["completion_tokens"]) for line in lines]
    sizes = [size for _, size in used] or [0]
    in_flight = overlap([{"began_ms": call.started, "ended_ms": call.ended} for call in calls if call.served])
    # Estimates are means of earlier calls, so that a call exceeds its own by less than the range of all.
    error = in_flight * (max(sizes) - min(sizes))
    over = overrun(used, TOKENS)
    # A loss of Redis may be followed by a full bucket; what is above that too is due to estimates.
    above, second = max(0, over), min(max(0, over), (times - 1) * TOKENS)
    app.note(f"{name}: tokens above the limit: {above:.0f}, of them {second:.0f} in the second full bucket after a loss, {above - second:.0f} beyond it")
    noise = TOKENS / MINUTE * ON_THE_WAY
    what = f"{name}: tokens above the limit of {TOKENS} per minute, {len(lines)} calls, {in_flight} at once of {min(sizes)} to {max(sizes)}"
    app.check_at_most(what, over, times * error + noise + (times - 1) * TOKENS, " tokens")


def overrun(used, limit):
    """The most tokens in any interval beyond a full bucket and its refill in that time."""
    total, least, most = 0, float("inf"), float("-inf")
    for at, tokens in sorted(used):
        refilled = at * limit / MINUTE
        least = min(least, total - refilled)
        total += tokens
        most = max(most, total - refilled - least)
    return most - limit if used else -limit


def judge_times(app, what, calls, granted, most):
    """Compares the slowest call with a bound, and returns its time. `granted` is the share of the CPU time that the machine had
    meanwhile."""
    times = [call.ended - call.started for call in calls if call.acknowledged]
    slowest = max(times, default=99.0) * (1.0 if app.quick else granted)
    what = f"{what}: slowest of {len(times)} meanwhile, p50 {percentile(times, 0.5):.3f} s, p99 {percentile(times, 0.99):.3f} s"
    what += f", {1 - granted:.0%} of the CPU time refused" if granted < 0.99 else ""
    app.check_at_most(what, slowest, most, " s")
    return slowest
