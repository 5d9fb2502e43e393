"""The cases: interruptions at random offsets, and specific situations."""

import json

from resume import texts
from resume.clients import RAW, SDKS, TOOL
from resume.app import KINDS
from resume.case import Case

CITIES = ["Paris", 'Zürich "Süd"', "東京\n🙂"]


class CaseList:
    def __init__(self, app, chance, prefix):
        self.app, self.chance, self.prefix = app, chance, prefix
        self.all = []

    def add(self, script, kinds, client=None, **more):
        """Adds a case along these provider types, each with a model that fails as the script specifies."""
        selectors = []
        for attempt, kind in enumerate(kinds, 1):
            kind, model = kind if isinstance(kind, tuple) else (kind, f"requested-{attempt}")
            selectors.append(self.app.selector(kind, model, fails=model != "requested-3" and model.startswith("requested")))
        client = client or self.chance.choice(RAW + SDKS)
        names = tuple(kind if isinstance(kind, str) else "=".join(kind) for kind in kinds)
        model = self.app.combo(*selectors)
        self.all.append(Case(f"{self.prefix}-{len(self.all)}", client, names, model, script, **more))

    def kinds(self, count):
        return self.chance.choices(sorted(KINDS), k=count)


def kills(app, chance, count):
    """A text interrupted at a random offset, and in one of six cases a second time in the continuation."""
    cases = CaseList(app, chance, "kill")
    for number in range(count):
        faults = 2 if number % 6 == 5 else 1
        client = (RAW + SDKS)[number % 6] if number < 60 else None
        cases.add(texts.random_script(chance, faults), cases.kinds(faults + 1), client)
    return cases.all


def untouched(app, chance, count):
    """Without interruption nothing is flagged."""
    cases = CaseList(app, chance, "calm")
    for _ in range(count):
        cases.add(texts.ReplyScript(texts.make(chance)), cases.kinds(2), resumes=False)
    return cases.all


def calls(app, chance, count):
    """One or two calls after a text, interrupted within their arguments."""
    cases = CaseList(app, chance, "call")
    for number in range(count):
        text = chance.choice(["", texts.make(chance)])
        cities = chance.sample(CITIES, 1 + number % 2)
        made = [{"name": TOOL, "arguments": json.dumps({"city": city}, ensure_ascii=False)} for city in cities]
        whole = len(text) + sum(len(call["arguments"]) for call in made)
        fault = texts.random_fault(chance, len(text) + 1, whole - 1)
        script = texts.ReplyScript(text, [fault], calls=made)
        first = chance.choice(["openai", "groq", "prefill", "claude"])
        # Calls are sent when complete: without a text there may be nothing to continue.
        resumes = True if text else None
        cases.add(script, [first, chance.choice(sorted(KINDS))], resumes=resumes)
    return cases.all


def detours(app, chance, count):
    """The second model fails, and a third one continues."""
    cases = CaseList(app, chance, "detour")
    for _ in range(count):
        first, second, third = cases.kinds(3)
        broken = chance.choice(["error-500", "error-429"])
        cases.add(texts.random_script(chance), [first, (second, broken), third])
    return cases.all


def hopeless(app, chance, count):
    """All models fail: an error in the stream, and no regular end."""
    cases = CaseList(app, chance, "lost")
    for number in range(count):
        client = (RAW + SDKS)[number % 6]
        script = texts.random_script(chance, 2)
        script.faults[0].offset = max(1, script.faults[0].offset // 2)
        # A model with no text left to send would end successfully.
        script.faults[1].offset = min(len(script.text) - 1, script.faults[1].offset)
        cases.add(script, cases.kinds(2), client, hopeless=True)
    return cases.all
