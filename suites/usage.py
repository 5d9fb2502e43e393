"""Usage rows of the gateway: their fields in the upstream's bill, and reading them once the journal is drained."""

import time

import machine_time

# The upstream's name of each token count.
FIELDS = {
    "input_tokens": "prompt_tokens",
    "cached_input_tokens": "cached_tokens",
    "output_tokens": "completion_tokens",
    "reasoning_tokens": "reasoning_tokens",
}


def drained_rows(gateway, expected, user_path, patience=30.0, quiet=2.0, cache_mode="uncached"):
    """The rows, once there are as many as expected and no more arrive, or at the timeout."""
    wanted = {"user_path": user_path, "days": 2, "cache_mode": cache_mode}
    watch = machine_time.Stopwatch()
    total, since = -1, time.monotonic()
    while watch.wall_seconds() < patience or watch.seconds() < patience:
        now = gateway.usage_log(limit=1, **wanted)["total"]
        if now != total:
            total, since = now, time.monotonic()
        if total >= expected and time.monotonic() - since > quiet:
            break
        time.sleep(0.1)
    return gateway.usage_rows(**wanted)
