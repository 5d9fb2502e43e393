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

Which client can talk to which provider through the gateway, and what is lost on the way. The tables are written by
`make suite compat ARGS=--write`: the official OpenAI, Anthropic and Google SDKs ask, through their typed calls and their
streaming helpers. No real provider is called: a scripted one answers, and refuses what we know the real ones to refuse. Each
mark stands for several requests over two to four generations of models, whole and streamed where both exist. In the answers
that were compared, which is most of those that told a usage, what the client saw and the gateway's own row equal the scripted
provider's bill, token for token. Anthropic does not tell how much of an output was thinking, so that figure is not compared
there. An answer that broke off is booked by estimate and marked.

✓ works; − names a parameter that this provider cannot be told, as the client wrote it. The answer's header
`X-Gateway-Dropped-Params` names it too, and `STRICT_TRANSLATION=true` makes it an error instead. – does not apply.

Where the client already speaks the provider's format, the request goes on as it is, and so does a refusal: for an old Claude
that has no JSON schema of its own, the mark of Messages → Anthropic means that its refusal comes back unchanged.
"""

REASONS = {
    "cache_control": "the provider caches prompts by itself, or not at all",
    "detail": "the provider has no setting for how closely an image is looked at",
    "frequency_penalty": "the provider or these models take no penalties",
    "presence_penalty": "the provider or these models take no penalties",
    "is_error": "the provider has no mark for a failed tool; its text still says so",
    "logit_bias": "token ids are a vendor's own",
    "max_tool_calls": "the provider does not limit the number of calls",
    "metadata": "the provider keeps no labels with a request",
    "metadata.user_id": "the provider does not take the name of an end user",
    "parallel_tool_calls": "the provider cannot be told to make one call at a time",
    "tool_choice.disable_parallel_tool_use": "the provider cannot be told to make one call at a time",
    "prompt_cache_key": "the provider does not route by a cache key",
    "safety_identifier": "the provider does not take the name of an end user",
    "user": "the provider does not take the name of an end user",
    "seed": "the provider cannot be made to repeat itself",
    "service_tier": "tiers are a vendor's own",
    "stop": "these models take no stop sequences",
    "stop_sequences": "these models take no stop sequences",
    "tool_choice": "these models cannot be forced to call a tool",
    "temperature": "these models refuse sampling parameters",
    "top_p": "these models refuse sampling parameters, or take only one of temperature and top_p",
    "top_k": "the provider or these models do not know it",
    "tools.strict": "the provider cannot be held to a tool's schema",
    "truncation": "the provider does not shorten a conversation by itself",
    "verbosity": "the provider has no setting for it",
    "text.verbosity": "the provider has no setting for it",
    "reasoning": "this server is not known to take it",
    "reasoning_effort": "this server is not known to take it",
    "thinking": "this server is not known to take it",
    "thinking_config": "this server is not known to take it",
    "media_resolution": "the provider has no setting for how closely media are looked at",
    "safety_settings": "the provider's filters cannot be set",
    "context_management": "only Anthropic edits the context",
}


def reason(name):
    """The reason for a dropped parameter; Gemini's names have a prefix and camel case."""
    plain = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name.removeprefix("generationConfig."))
    return REASONS.get(plain, "the provider has nothing like it")


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


def write(checks):
    cells = gather(checks)
    outside = [check for check in checks if check.cell is None]
    parts = [INTRO, "## Coverage\n\nFeatures that pass, of those tried.\n", table(*coverage(cells)), ""]
    for ingress in INGRESSES:
        parts += [f"## {TITLES[ingress]}\n", table(*by_feature(cells, ingress)), ""]
    parts += [
        "## What is lost\n\nEvery parameter of a format is sent; this is what a provider could not be told, and why."
    ]
    parts += loss_lines(checks)
    parts += ["\n## Beyond the grid\n"]
    parts += [f"- {'✓' if not check.faults else '✗'} {check.name}" for check in outside]
    parts += [""]
    (rig.ROOT / "docs" / "compatibility.md").write_text("\n".join(parts), encoding="utf-8")
