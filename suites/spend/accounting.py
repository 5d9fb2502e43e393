"""Accounting of the long run: rows against the bill, costs against the prices, sums against the rows."""

import collections
import statistics

from usage import FIELDS
from spend import prices, workload

TOKENS = ["input_tokens", "output_tokens", "total_tokens"]
COSTS = ["input_cost", "output_cost", "total_cost"]

# Output tokens reserved for a request without a limit.
ASSUMED = 4096


class Accounting:
    def __init__(self, calls, rows, bill, tariff):
        self.calls = {call.request_id: call for call in calls}
        self.rows, self.tariff = rows, tariff
        self.lines = {line["id"]: line for line in bill}
        self.by_word = collections.defaultdict(list)
        for line in bill:
            self.by_word[line["word"]].append(line)
        self.by_request = collections.Counter(row["request_id"] for row in rows)
        self.exact = [row for row in rows if not row["estimated"]]

    def lost(self):
        made = [call for call in self.calls.values() if call.acknowledged]
        return [f"no row: {call}" for call in made if not self.by_request[call.request_id]]

    def doubled(self):
        twice = [f"{count} rows: {name}" for name, count in self.by_request.items() if count > 1]
        ids = collections.Counter(row["provider_id"] for row in self.rows if row["provider_id"])
        return twice + [f"{count} rows for the answer {name}" for name, count in ids.items() if count > 1]

    def foreign(self):
        return [f"a row for a call that was never made: {row}" for row in self.rows if row["request_id"] not in self.calls]

    def unequal(self):
        """Rows not marked as estimated that differ from the bill."""
        found = []
        for row in self.exact:
            line = self.lines.get(row["provider_id"])
            if line is None:
                if row["total_tokens"]:
                    found.append(f"tokens that were not billed: {row}")
            elif any(row[ours] != line[theirs] for ours, theirs in FIELDS.items()):
                found.append(f"{row} is not {line}")
            elif line["word"] != row["request_id"]:
                found.append(f"{row} is another call's: {line}")
        return found

    def unbooked(self):
        """Finished bill lines without a row that are not of a call marked as estimated, and started ones without any
        row."""
        booked = {row["provider_id"] for row in self.rows}
        begun = [line for line in self.lines.values() if line["word"] in self.calls]
        unknown = [f"without any row: {line}" for line in begun if not self.by_request[line["word"]]]
        marked = {row["request_id"] for row in self.rows if row["estimated"]}
        finished = [line for line in begun if line["finished"]]
        return unknown + [f"not booked: {line}" for line in finished if line["id"] not in booked and line["word"] not in marked]

    def unmarked(self):
        """Rows that are wrongly marked: estimated although the usage was received, or exact although it was not."""
        found = []
        for row in self.rows:
            call = self.calls.get(row["request_id"])
            has_usage = "no-usage" not in row["model"] and not is_lost(row)
            if row["estimated"] and call and call.served and has_usage:
                found.append(f"served, yet estimated: {row}")
            if not row["estimated"] and row["model"] == "no-usage" and row["total_tokens"]:
                found.append(f"no usage was reported, yet it is exact: {row}")
        return found

    def mispriced(self):
        found = []
        for row in self.rows:
            call, line = self.calls.get(row["request_id"]), self.lines.get(row["provider_id"])
            selector = f"{row['provider_name']}/{row['model']}"
            charged = (prices.usd(row["input_cost"]), prices.usd(row["output_cost"]))
            if prices.usd(row["total_cost"]) != sum(charged):
                found.append(f"the halves are not the whole: {row}")
            if row["total_tokens"] == 0 or call is None:
                if sum(charged):
                    found.append(f"nothing consumed, yet charged: {row}")
                continue
            if selector not in self.tariff.before and not row["interrupted"]:
                if row["total_cost"] is not None or row["cost_source"] != "none":
                    found.append(f"charged without a price: {row}")
                continue
            # The bill is used if known, so that the price of every bucket is checked independently of the gateway's
            # counts.
            parts = self.parts(row, line)
            # An interrupted call is charged its reservation: at the most expensive target it could have gone to.
            targets = workload.COMBOS.get(call.model, [selector]) if row["interrupted"] else [selector]
            known = [target for target in targets if target in self.tariff.before]
            charges = [charge(made, parts) for target in known for made in self.tariff.possible(target, call)]
            if charged not in charges:
                found.append(f"costs {charged}, should be one of {charges}: {row}")
        return found

    def parts(self, row, line):
        """The separately priced parts: the received answer, and each one lost before it."""
        if is_lost(row):
            came = [prices.of_line(line)] if line else []
            lost = max(1, len(self.by_word[row["request_id"]]) - len(came))
            incoming = row["input_tokens"] - (line["prompt_tokens"] if line else 0)
            outgoing = row["output_tokens"] - (line["completion_tokens"] if line else 0)
            return [*came, *[prices.Buckets(incoming // lost, output=outgoing // lost)] * lost]
        attempts = row["output_tokens"] // ASSUMED if row["interrupted"] and row["output_tokens"] % ASSUMED == 0 else 1
        if attempts > 1:
            # Reserved for a lost attempt and for the one in progress.
            return [prices.Buckets(row["input_tokens"] // attempts, output=ASSUMED)] * attempts
        return [prices.of_line(line) if line and not row["estimated"] else prices.of_row(row, line)]

    def errors(self):
        """The relative error of the estimated total against the bill, by the cause of the estimate."""
        kinds = collections.defaultdict(list)
        for row in self.rows:
            if row["estimated"]:
                lines = self.by_word[row["request_id"]]
                line = self.lines.get(row["provider_id"]) or (lines[-1] if lines else None)
                call = self.calls.get(row["request_id"])
                kinds[cause(row, call)].append(line and off(row, lines if is_lost(row) else [line]))
        return kinds


def is_lost(row):
    """Whether an earlier attempt had begun to answer, whose estimate is added."""
    return "lost" in (row["caveat"] or "")


def charge(made, parts):
    costs = [prices.cost(made, part) for part in parts]
    return sum(cost[0] for cost in costs), sum(cost[1] for cost in costs)


def cause(row, call):
    if row["interrupted"]:
        return "killed"
    if is_lost(row):
        return "an answer lost before"
    if call and call.leave is not None and not call.acknowledged:
        return "client left"
    return "no usage reported" if row["model"] == "no-usage" else "provider failed"


def off(row, lines):
    billed = sum(line["prompt_tokens"] + line["completion_tokens"] for line in lines)
    return abs(row["total_tokens"] - billed) / max(1, billed)


def describe(errors):
    lines = []
    for kind, found in sorted(errors.items()):
        known = sorted(value for value in found if value is not None)
        text = f"estimates: {kind}: {len(found)}"
        if known:
            p95 = known[min(len(known) - 1, len(known) * 95 // 100)]
            text += f", off by mean {statistics.mean(known):.0%}, p95 {p95:.0%}, max {known[-1]:.0%} of the bill"
        lines.append(text + f", {len(found) - len(known)} of them never reached the upstream")
    return lines


def add(rows):
    """Requests, tokens and costs of rows or of a report, as one tuple."""
    rows = list(rows)
    requests = sum(row.get("requests", 1) for row in rows)
    tokens = [sum(row[name] for row in rows) for name in TOKENS]
    return (requests, *tokens, *[sum(prices.usd(row[name]) for row in rows) for name in COSTS])


def sums(gateway, rows):
    """Differences between reports or budgets and the rows."""
    whole, found = add(rows), []
    query = {"days": 2, "user_path": "/spend"}

    def ask(name):
        answer = gateway.admin("GET", f"/usage/{name}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def compare(what, reported, wanted):
        if reported != wanted:
            found.append(f"{what} reports {tuple(map(str, reported))}, the rows {tuple(map(str, wanted))}")

    summary = {name.removeprefix("total_"): value for name, value in ask("summary").items()}
    summary["total_tokens"], summary["total_cost"] = summary["tokens"], summary["cost"]
    compare("/usage/summary", add([summary]), whole)
    compare("/usage/daily", add(ask("daily")), whole)
    for name, key in [("models", lambda row: (row["provider_name"], row["model"])), ("user-paths", lambda row: row["user_path"])]:
        entries = ask(name)
        compare(f"/usage/{name}", add(entries), whole)
        groups = collections.defaultdict(list)
        for row in rows:
            groups[key(row)].append(row)
        for entry in entries:
            compare(f"/usage/{name} of {key(entry)}", add([entry]), add(groups[key(entry)]))
    for path, budget in workload.budgets(gateway).items():
        below = [row for row in rows if (row["user_path"] + "/").startswith(path.rstrip("/") + "/")]
        spent = sum(prices.usd(row["total_cost"]) for row in below)
        if prices.usd(budget["spent"]) != spent:
            found.append(f"the budget of {path} reports {budget['spent']} as spent, the rows {spent}")
        if budget["reserved"]:
            found.append(f"the budget of {path} still holds {budget['reserved']}")
    return found
