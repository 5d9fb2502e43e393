"""Cost of a run: the upstream's bill, compared with the gateway's accounting."""

import dataclasses

import rig

FIELDS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}


@dataclasses.dataclass
class Vendor:
    """A provider: its gateway settings, and its behaviour on the scripted upstream."""

    name: str
    model: str
    # The upstream's formats that this provider has.
    dialects: set
    path: str = "/v1"

    def settings(self, upstream):
        prefix = self.name.upper()
        root = upstream.url.removesuffix("/v1")
        return {
            f"{prefix}_API_KEY": rig.PROVIDER_KEY,
            f"{prefix}_BASE_URL": root + self.path,
            f"{prefix}_MODELS": self.model,
        }


VENDORS = [
    Vendor("anthropic", "claude-sonnet-4-5~agent", {"messages"}),
    Vendor("openai", "gpt-5-mini~agent", {"chat", "responses"}),
    Vendor("gemini", "gemini-3-pro~agent", {"generate"}, path="/v1beta"),
]


def audit(vendor, lines, gateway):
    """Yields the faults of one run: answers from another provider or format, and differences in booked tokens."""
    for line in lines:
        if line["model"] != vendor.model or line["dialect"] not in vendor.dialects:
            yield f"{line['model']} was called by {line['dialect']}"
    finished = [line for line in lines if line["finished"]]
    if not finished:
        yield "no call came to its end"
        return
    wanted = {line["id"] for line in finished}
    try:
        rows = rig.eventually(lambda: booked(gateway, wanted), what="a usage row for every finished call")
    except AssertionError as fault:
        yield str(fault)
        return
    for line in finished:
        mine = [row for row in rows if row["provider_id"] == line["id"]]
        if len(mine) != 1:
            yield f"{line['id']} has {len(mine)} usage rows"
        elif not mine[0]["estimated"]:
            yield from differences(vendor, mine[0], line)


def booked(gateway, wanted):
    rows = gateway.usage_rows()
    return rows if wanted <= {row["provider_id"] for row in rows} else None


def differences(vendor, row, line):
    if row["provider_name"] != vendor.name:
        yield f"{line['id']} is booked under {row['provider_name']}"
    for ours, theirs in FIELDS.items():
        if row[ours] != line[theirs]:
            yield f"{line['id']}: {row[ours]} {ours} booked, {line[theirs]} billed"
