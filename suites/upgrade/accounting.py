"""The accounts after an upgrade: one row per call, tokens as in the upstream's bill, sums as of the rows."""

import collections

from spend import prices, workload
from usage import FIELDS, drained_rows

PATH = "/upgrade"


def check(app, gateway, upstream, calls, price, rows_before):
    rows = drained_rows(gateway, len(calls), PATH, patience=60)
    bill = {line["id"]: line for line in upstream.bill()}
    count = collections.Counter(row["request_id"] for row in rows)
    wrong = [f"{count[call.request_id]} rows: {call}" for call in calls if count[call.request_id] != 1]
    app.check(f"every one of {len(calls)} calls has exactly one row", *wrong, len(rows) != len(calls) and f"{len(rows)} rows")
    app.check("every row has the tokens of the upstream's bill", *unequal(rows, bill))
    app.check("every row has its cost, to the nano-dollar", *mispriced(rows, bill, price))
    booked, spent = sum(prices.usd(row["total_cost"]) for row in rows), prices.usd(workload.budgets(gateway)[PATH]["spent"])
    app.check(f"the budget knows what was booked: ${booked}", spent != booked and f"it says ${spent}")
    summary = gateway.admin("GET", "/usage/summary", params={"days": 2, "user_path": PATH, "cache_mode": "all"}).json()
    app.check("the report has all calls", summary["total_requests"] != len(rows) and f"{summary['total_requests']}")
    total = int(app.backend.run("SELECT COUNT(*) FROM usage")[0][0])
    app.check(f"the ledger has {total} rows, {rows_before} of them from before", total != rows_before + len(rows) and "not their sum")


def unequal(rows, bill):
    for row in rows:
        line = bill.get(row["provider_id"])
        if row["estimated"] or line is None or any(row[ours] != line[theirs] for ours, theirs in FIELDS.items()):
            yield f"{row} is not {line}"


def mispriced(rows, bill, price):
    for row in rows:
        line = bill.get(row["provider_id"])
        right = sum(prices.cost(price, prices.of_row(row, line)))
        if prices.usd(row["total_cost"]) != right:
            yield f"${row['total_cost']} is not ${right}: {row}"
