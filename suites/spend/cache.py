"""The response cache under load: every provider's answer is booked once, and every answer from the cache is free."""

import traffic
from usage import FIELDS, drained_rows

SETTINGS = {"RESPONSE_CACHE_ENABLED": "true"}
MODELS = ["openai/text", "anthropic/text", "openai/drip-5"]
FORMATS = ["chat", "responses", "messages"]
PATHS = ["/cache/one", "/cache/two"]
# Few enough that most calls repeat an earlier one, or one in flight.
PROMPTS = 20


def plan(chance, request_id):
    call = traffic.Call(request_id, chance.choice(FORMATS), chance.choice(MODELS), chance.random() < 0.5)
    call.prompt = f"prompt-{chance.randrange(PROMPTS)}"
    call.extra = {"x-gateway-user-path": chance.choice(PATHS)}
    return call


def run(gateway, upstream, options):
    count = min(options.calls, 20_000)
    calls = traffic.Load(gateway.port, options.workers, options.seed, plan, most=count).start().join(600)
    rows = drained_rows(gateway, count, "/cache", cache_mode="all")
    hits = [row for row in rows if row["cache_type"] == "exact"]
    return [
        (f"cache: {count} calls, {len(hits)} answered from the cache", served(calls, hits)),
        ("cache: one row for each call", one_row_each(calls, rows)),
        ("cache: every answer of a provider is booked once, token for token", booked(rows, upstream)),
        ("cache: answers from the cache cost nothing", free(hits)),
        ("cache: the overview counts the same", overview(gateway, rows, hits)),
    ]


def served(calls, hits):
    found = [f"{call.status} {call.error_text}" for call in calls if not call.served][:5]
    told = sum(call.headers.get("x-gateway-cache") == "hit-exact" for call in calls)
    # A stream that has sent its head while it waited for another call has told of a miss.
    if told > len(hits) or not hits:
        found.append(f"{told} headers tell of a hit, {len(hits)} rows do")
    return found


def one_row_each(calls, rows):
    asked, booked = {call.request_id for call in calls}, [row["request_id"] for row in rows]
    missing, doubled = asked - set(booked), len(booked) - len(set(booked))
    return [f"{len(missing)} calls without a row, {doubled} rows too many"] if missing or doubled else []


def booked(rows, upstream):
    uncached = {row["provider_id"]: row for row in rows if not row["cache_type"]}
    bill = {line["id"]: line for line in upstream.bill()}
    found = [f"{len(uncached)} rows, {len(bill)} answers"] if uncached.keys() != bill.keys() else []
    for number in uncached.keys() & bill.keys():
        row, line = uncached[number], bill[number]
        for name, known in FIELDS.items():
            if row[name] != line.get(known, 0):
                found.append(f"{number}: {name} {row[name]} instead of {line.get(known)}")
    return found[:5]


def free(hits):
    paid = [row["request_id"] for row in hits if row["total_cost"] != 0]
    return [f"{len(paid)} were charged, for example {paid[0]}"] if paid else []


def overview(gateway, rows, hits):
    answer = gateway.admin("GET", "/cache/overview", params={"user_path": "/cache", "days": 2})
    summary = answer.json()["summary"]
    expected = {
        "total_hits": len(hits),
        "misses": len(rows) - len(hits),
        "total_tokens": sum(row["total_tokens"] for row in hits),
    }
    return [f"{name}: {summary[name]} instead of {value}" for name, value in expected.items() if summary[name] != value]
