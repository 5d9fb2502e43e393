"""A one-dollar budget and 64 racing workers: it is never exceeded, and unspent reservations are released."""

import collections
import random
import time
from decimal import Decimal

import machine_time
import rig
import traffic
from usage import drained_rows
from spend import prices, workload

WORKERS = 64
NAMES = ["calm", "failing", "killed"]
AMOUNT = Decimal(1)
BACK_SECONDS = 1.0
# No answer of the upstream is longer; sixteen output tokens cost a thousandth of a dollar.
LIMIT = 20
PRICE = {name: Decimal("0.5") for name in ["input_per_mtok", "cached_input_per_mtok", "cache_write_per_mtok", "cache_write_1h_per_mtok"]}
PRICE |= {"output_per_mtok": Decimal("62.5"), "reasoning_output_per_mtok": Decimal("62.5")}


def run(gateway, upstream, options):
    checks = []
    for name in NAMES:
        path = f"/race/{name}"
        models = publish(gateway, name)
        workload.budget(gateway, path, "daily", float(AMOUNT))
        kills = 3 if name == "killed" else 0
        calls = compete(gateway, f"{options.seed}{name}", path, models[:1] if name == "calm" else models, kills)
        checks += judge(gateway, upstream, name, path, calls)
    return checks


def models_of(name):
    """Models of this race only, so that its bill lines can be identified."""
    return [f"{behaviour}@{name}" for behaviour in ("max-tokens", "every-4-error-503", "late-30-max-tokens")]


def publish(gateway, name):
    steady, failing, late = models_of(name)
    for model in models_of(name):
        answer = gateway.admin("PUT", f"/model-pricing/openai/{model}", json=prices.document(PRICE))
        assert answer.status_code in (200, 201), answer.text
    combo = {"name": f"race-{name}", "selectors": [f"openai/{failing}", f"openai/{steady}"]}
    answer = gateway.admin("POST", "/combos", json=combo)
    assert answer.status_code in (200, 201), answer.text
    return [f"openai/{steady}", f"openai/{late}", combo["name"]]


def compete(gateway, seed, path, models, kills):
    """Makes calls until the budget has rejected every worker several times."""

    def plan(chance, request_id):
        if chance.random() < 0.2:
            time.sleep(0.01)
        leave = chance.randrange(3) if len(models) > 1 and chance.random() < 0.05 else None
        call = traffic.Call(request_id, chance.choice(workload.FORMATS), chance.choice(models), chance.random() < 0.5, leave)
        call.max_tokens, call.extra = LIMIT, {"x-gateway-user-path": path}
        return call

    load = traffic.Load(gateway.port, WORKERS, seed, plan).start()
    chance = random.Random(seed)
    for _ in range(kills):
        time.sleep(chance.uniform(0.3, 1.0))
        gateway.kill()
        gateway.start()

    def refused():
        last = [calls[-3:] for calls in load.calls]
        return all(calls and all(call.status == 429 or not call.ended for call in calls) for calls in last)

    rig.eventually(refused, 120, 0.1, "the end of the budget")
    return load.stop()


def outcome(call):
    """The outcome of a call; Anthropic's format has no codes, only a message."""
    budgeted = call.format == "messages" and call.status == 429 and "budget" in call.error_text
    return "429 budget_exceeded" if budgeted else f"{call.status} {call.code}"


def judge(gateway, upstream, name, path, calls):
    watch = machine_time.Stopwatch()
    rig.eventually(lambda: workload.budgets(gateway)[path]["reserved"] == 0, 10, 0.02, "the reservations to come back")
    back = watch.seconds()
    served = [call for call in calls if call.served]
    codes = collections.Counter(outcome(call) for call in calls if call.acknowledged and not call.served)
    rows = drained_rows(gateway, len(served), path)
    booked = sum(prices.usd(row["total_cost"]) for row in rows)
    spent = prices.usd(workload.budgets(gateway)[path]["spent"])
    lines = [line for line in upstream.bill() if line["model"].endswith(f"@{name}")]
    # Interrupted and abandoned answers have no usage: they are booked by estimate.
    unheard = {call.request_id for call in calls if not call.acknowledged}
    whole = [line for line in lines if line["finished"] and line["word"] not in unheard]
    billed = sum((sum(prices.cost(PRICE, prices.of_line(line))) for line in whole), Decimal(0))
    print(f"spend: race {name}: {len(served)} served, booked ${booked}, billed ${billed}, back in {back:.2f} s, refused {dict(codes)}", flush=True)
    strange = [f"{count} × {code}" for code, count in codes.items() if code != "429 budget_exceeded"]
    strange += [] if codes["429 budget_exceeded"] >= WORKERS else [f"the budget refused only {codes}"]
    worst = max((prices.usd(row["total_cost"]) for row in rows if not row["estimated"]), default=Decimal(0))
    idle = [] if booked > AMOUNT * Decimal("0.8") else [f"only ${booked} of it, the dearest call being ${worst}"]
    return [
        (f"race {name}: the usage rows do not exceed the budget", [f"${booked}"] if booked > AMOUNT else []),
        (f"race {name}: the upstream's bill does not either", [f"${billed}"] if billed > AMOUNT else []),
        (f"race {name}: the budget knows what was booked", [f"{spent} is not {booked}"] if spent != booked else []),
        (f"race {name}: the rest is refused with budget_exceeded", strange),
        (f"race {name}: the budget could be used up", idle),
        (f"race {name}: what was held is back within {BACK_SECONDS:g} s", [f"{back:.2f} s"] if back > BACK_SECONDS else []),
    ]
