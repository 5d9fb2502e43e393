"""Results of the run: tables on the terminal, and docs/compatibility.md."""

import collections
import re

import rig
from compat.cells import FEATURES, INGRESSES, PROVIDERS

TITLES = {"chat": "Chat completions", "responses": "Responses", "messages": "Messages", "generate": "Gemini"}


def gather(checks):
    """By (ingress, provider, feature): whether every generation passed, and the dropped parameters."""
    cells = collections.defaultdict(lambda: {"passed": True, "dropped": set()})
    for check in checks:
        if check.cell is not None:
            key = (check.cell.ingress, check.cell.provider.instance, check.cell.feature)
            cells[key]["passed"] &= not check.faults
            cells[key]["dropped"] |= check.cell.dropped
    return cells


def coverage(cells):
    """Passed features of all features, by ingress and provider."""
    rows = []
    for ingress in INGRESSES:
        row = [TITLES[ingress]]
        for provider in PROVIDERS:
            found = [
                cells[key]["passed"]
                for feature in FEATURES
                if (key := (ingress, provider.instance, feature)) in cells
            ]
            row.append(f"{sum(found)}/{len(found)}" if found else "–")
        rows.append(row)
    return ["client", *(provider.title for provider in PROVIDERS)], rows


def by_feature(cells, ingress):
    rows = []
    for feature in FEATURES:
        row = [FEATURES[feature]]
        for provider in PROVIDERS:
            cell = cells.get((ingress, provider.instance, feature))
            row.append(mark(cell, feature))
        rows.append(row)
    return ["feature", *(provider.title for provider in PROVIDERS)], rows


def mark(cell, feature):
    if cell is None:
        return "–"
    if not cell["passed"]:
        return "✗"
    # Settings are listed separately below.
    lost = () if feature == "settings" else sorted(cell["dropped"])
    return "✓" + "".join(f" −{name}" for name in lost)


def table(head, rows):
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    line = lambda row: "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |"  # noqa: E731
    return "\n".join([line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, rows)])


def notes_of(notes):
    return [note() if callable(note) else note for note in notes]


def show(checks, notes):
    for check in checks:
        for fault in check.faults:
            print(f"FAIL {check.name}: {fault[:700]}")
    cells = gather(checks)
    if cells:
        for ingress in INGRESSES:
            print(f"\n{table(*by_feature(cells, ingress))}")
        print(f"\n{table(*coverage(cells))}")
    for check in checks:
        if check.cell is None:
            print(f"{'✗' if check.faults else '✓'} {check.name}")
    for note in notes_of(notes):
        print(note)


INTRO = """# Compatibility

This page shows which clients work with which providers through the gateway, and which parameters are lost in
translation. `make suite compat ARGS=--write` generates the tables: the official OpenAI, Anthropic and Google SDKs send
requests with their typed calls and their streaming helpers. No real provider is called: a scripted provider answers, and
rejects what the real ones are known to reject. Each mark stands for several requests over two to four generations of
models, streamed and not streamed where both exist. In the compared answers, which are most of those that report usage,
the usage that the client sees and the gateway's usage row equal the scripted provider's bill, token for token. Anthropic
does not report how much of an output is thinking, so that figure is not compared there. The usage of an incomplete
answer is estimated and marked.

✓ works. − is followed by a parameter that the provider does not support, by the client's name for it. The response
header `X-Gateway-Dropped-Params` lists these parameters, and `STRICT_TRANSLATION=true` makes them an error instead. –
does not apply.

If the client uses the provider's own format, the request is forwarded unchanged, and so is a rejection: for an old
Claude model without native JSON schema, the mark of Messages → Anthropic means that the rejection is returned unchanged.
"""

REASONS = {
    "cache_control": "the provider caches prompts automatically, or not at all",
    "detail": "the provider has no setting for image detail",
    "frequency_penalty": "the provider or these models do not support penalties",
    "presence_penalty": "the provider or these models do not support penalties",
    "is_error": "the provider has no flag for a failed tool; the text of the result is kept",
    "logit_bias": "token ids are specific to a vendor",
    "max_tool_calls": "the provider cannot limit the number of tool calls",
    "metadata": "the provider does not store metadata with a request",
    "metadata.user_id": "the provider does not accept an end-user id",
    "parallel_tool_calls": "the provider cannot disable parallel tool calls",
    "tool_choice.disable_parallel_tool_use": "the provider cannot disable parallel tool calls",
    "prompt_cache_key": "the provider does not support cache keys",
    "safety_identifier": "the provider does not accept an end-user id",
    "user": "the provider does not accept an end-user id",
    "seed": "the provider does not support a seed",
    "service_tier": "service tiers are specific to a vendor",
    "stop": "these models do not support stop sequences",
    "stop_sequences": "these models do not support stop sequences",
    "tool_choice": "these models cannot be forced to call a tool",
    "temperature": "these models reject sampling parameters",
    "top_p": "these models reject sampling parameters, or accept only one of temperature and top_p",
    "top_k": "the provider or these models do not support it",
    "tools.strict": "the provider cannot enforce a tool's schema",
    "truncation": "the provider does not truncate conversations automatically",
    "verbosity": "the provider has no setting for it",
    "text.verbosity": "the provider has no setting for it",
    "reasoning": "this server is not known to support it",
    "reasoning_effort": "this server is not known to support it",
    "thinking": "this server is not known to support it",
    "thinking_config": "this server is not known to support it",
    "media_resolution": "the provider has no setting for media resolution",
    "safety_settings": "the provider's safety filters cannot be configured",
    "context_management": "only Anthropic supports context editing",
}


def reason(name):
    """The reason for a dropped parameter; Gemini's names have a prefix and camel case."""
    plain = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name.removeprefix("generationConfig."))
    return REASONS.get(plain, "the provider has no equivalent")


def losses(checks):
    """The generations that lose a parameter, by (ingress, provider) and parameter."""
    lost = collections.defaultdict(lambda: collections.defaultdict(set))
    for check in checks:
        if check.cell is not None:
            for name in check.cell.dropped:
                lost[check.cell.ingress, check.cell.provider][name].add(check.cell.family)
    return lost


def loss_lines(checks):
    lines = []
    lost = losses(checks)
    for ingress in INGRESSES:
        for provider in PROVIDERS:
            named = lost.get((ingress, provider))
            if not named:
                continue
            lines.append(f"\n**{TITLES[ingress]} → {provider.title}**\n")
            for name in sorted(named):
                families = [family.name for family in provider.families if family in named[name]]
                some = "" if len(families) == len(provider.families) else f" ({', '.join(families)})"
                lines.append(f"- `{name}`{some}: {reason(name)}")
    return lines


PAGE = rig.ROOT / "docs" / "compatibility.md"


def page(checks):
    """The text of docs/compatibility.md."""
    cells = gather(checks)
    outside = [check for check in checks if check.cell is None]
    parts = [INTRO, "## Coverage\n\nNumber of features that pass, of those tested.\n", table(*coverage(cells)), ""]
    for ingress in INGRESSES:
        parts += [f"## {TITLES[ingress]}\n", table(*by_feature(cells, ingress)), ""]
    parts += [
        "## Dropped parameters\n\nThe suite sends every parameter of a format. These parameters could not be passed to the"
        " provider, for the reason given."
    ]
    parts += loss_lines(checks)
    parts += ["\n## Other checks\n"]
    parts += [f"- {'✓' if not check.faults else '✗'} {check.name}" for check in outside]
    parts += [""]
    return "\n".join(parts)
