"""Prices defined by the suite, and the cost of a call: computed in decimals, independently of the gateway."""

import dataclasses
from decimal import ROUND_HALF_UP, Decimal

NANO = Decimal("0.000000001")
MILLION = Decimal(1_000_000)


@dataclasses.dataclass(frozen=True)
class Buckets:
    """Disjoint token counts."""

    input: int
    cached: int = 0
    written_5m: int = 0
    written_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def total_input(self):
        return self.input + self.cached + self.written_5m + self.written_1h


def of_line(line):
    """The upstream's bill line, whose totals include the parts."""
    parts = line["cached_tokens"] + line["cache_write_5m_tokens"] + line["cache_write_1h_tokens"]
    return Buckets(
        line["prompt_tokens"] - parts,
        line["cached_tokens"],
        line["cache_write_5m_tokens"],
        line["cache_write_1h_tokens"],
        line["completion_tokens"] - line["reasoning_tokens"],
        line["reasoning_tokens"],
    )


def of_row(row, line):
    """The gateway's row; only the bill has the lifetime of cache writes."""
    written = row["cache_write_input_tokens"]
    for_an_hour = line["cache_write_1h_tokens"] if line and written else 0
    return Buckets(
        row["input_tokens"] - row["cached_input_tokens"] - written,
        row["cached_input_tokens"],
        written - for_an_hour,
        for_an_hour,
        row["output_tokens"] - row["reasoning_tokens"],
        row["reasoning_tokens"],
    )


def price(number, revision):
    """A different price for every model and revision, irregular enough that no two mistakes cancel out."""
    unit = Decimal(7 * number + 3) / 8 * (Decimal("1.37") if revision else 1)
    made = {
        "input_per_mtok": unit,
        "output_per_mtok": unit * Decimal("4.019"),
        "cached_input_per_mtok": unit * Decimal("0.103"),
        "cache_write_per_mtok": unit * Decimal("1.251"),
        "cache_write_1h_per_mtok": unit * Decimal("2.003"),
        "reasoning_output_per_mtok": unit * Decimal("5.107"),
    }
    made = {name: value.quantize(NANO) for name, value in made.items()}
    if number % 3 == 0:
        above = made["input_per_mtok"] * 2
        made["tiers"] = [
            {"above_tokens": 13, "input_per_mtok": above, "output_per_mtok": above * 3, "cached_input_per_mtok": above / 4}
        ]
    return made


def document(made):
    """The price as the admin API accepts it."""
    plain = {name: float(value) for name, value in made.items() if name != "tiers"}
    tiers = [{name: float(value) if name != "above_tokens" else value for name, value in tier.items()} for tier in made.get("tiers", [])]
    return {"currency": "USD", **plain, **({"tiers": tiers} if tiers else {})}


def cost(made, buckets):
    """(input, output) in US dollars, each rounded once, to the nano-dollar."""
    rates = dict(made)
    for tier in sorted(made.get("tiers", []), key=lambda tier: tier["above_tokens"]):
        if buckets.total_input > tier["above_tokens"]:
            rates |= {name: value for name, value in tier.items() if name != "above_tokens"}
    incoming = (
        buckets.input * rates["input_per_mtok"]
        + buckets.cached * rates["cached_input_per_mtok"]
        + buckets.written_5m * rates["cache_write_per_mtok"]
        + buckets.written_1h * rates["cache_write_1h_per_mtok"]
    )
    outgoing = buckets.output * rates["output_per_mtok"] + buckets.reasoning * rates["reasoning_output_per_mtok"]
    return rounded(incoming / MILLION), rounded(outgoing / MILLION)


def rounded(amount):
    return amount.quantize(NANO, rounding=ROUND_HALF_UP)


def usd(number):
    """A JSON amount, rounded to the nano-dollar; None is zero."""
    return Decimal(0) if number is None else Decimal(repr(number)).quantize(NANO, rounding=ROUND_HALF_UP)
