"""The cases: interruptions at random offsets, and specific situations."""

import json

from resume import texts
from resume.clients import RAW, SDKS, TOOL
from resume.judge import Case
from resume.stage import KINDS

CITIES = ["Paris", 'Zürich "Süd"', "東京\n🙂"]


class Writer:
    def __init__(self, stage, chance, prefix):
        self.stage, self.chance, self.prefix = stage, chance, prefix
        self.cases = []

    def add(self, saga, kinds, client=None, **more):
        """Adds a case along these provider types, each with a model that fails as the saga specifies."""
        selectors = []
        for life, kind in enumerate(kinds, 1):
            kind, model = kind if isinstance(kind, tuple) else (kind, f"saga-{life}")
            selectors.append(self.stage.selector(kind, model, dies=model != "saga-3" and model.startswith("saga")))
        client = client or self.chance.choice(RAW + SDKS)
        names = tuple(kind if isinstance(kind, str) else "=".join(kind) for kind in kinds)
        model = self.stage.combo(*selectors)
        self.cases.append(Case(f"{self.prefix}-{len(self.cases)}", client, names, model, saga, **more))

    def kinds(self, count):
        return self.chance.choices(sorted(KINDS), k=count)


def kills(stage, chance, count):
    """A text interrupted at a random offset, and in one of six cases a second time in the continuation."""
    writer = Writer(stage, chance, "kill")
    for number in range(count):
        lives = 2 if number % 6 == 5 else 1
        client = (RAW + SDKS)[number % 6] if number < 60 else None
        writer.add(texts.saga(chance, lives), writer.kinds(lives + 1), client)
    return writer.cases


def untouched(stage, chance, count):
    """Without interruption nothing is flagged."""
    writer = Writer(stage, chance, "calm")
    for _ in range(count):
        writer.add(texts.Saga(texts.make(chance)), writer.kinds(2), resumes=False)
    return writer.cases


def calls(stage, chance, count):
    """One or two calls after a text, interrupted within their arguments."""
    writer = Writer(stage, chance, "call")
    for number in range(count):
        text = chance.choice(["", texts.make(chance)])
        cities = chance.sample(CITIES, 1 + number % 2)
        made = [{"name": TOOL, "arguments": json.dumps({"city": city}, ensure_ascii=False)} for city in cities]
        whole = len(text) + sum(len(call["arguments"]) for call in made)
        death = texts.death(chance, len(text) + 1, whole - 1)
        saga = texts.Saga(text, [death], calls=made)
        first = chance.choice(["openai", "groq", "prefill", "claude"])
        # Calls are sent when complete: without a text there may be nothing to continue.
        resumes = True if text else None
        writer.add(saga, [first, chance.choice(sorted(KINDS))], resumes=resumes)
    return writer.cases


def detours(stage, chance, count):
    """The second model fails, and a third one continues."""
    writer = Writer(stage, chance, "detour")
    for _ in range(count):
        first, second, third = writer.kinds(3)
        broken = chance.choice(["error-500", "error-429"])
        writer.add(texts.saga(chance), [first, (second, broken), third])
    return writer.cases


def hopeless(stage, chance, count):
    """All models fail: an error in the stream, and no regular end."""
    writer = Writer(stage, chance, "lost")
    for number in range(count):
        client = (RAW + SDKS)[number % 6]
        saga = texts.saga(chance, 2)
        saga.deaths[0]["after"] = max(1, saga.deaths[0]["after"] // 2)
        # A model with no text left to send would end successfully.
        saga.deaths[1]["after"] = min(len(saga.text) - 1, saga.deaths[1]["after"])
        writer.add(saga, writer.kinds(2), client, hopeless=True)
    return writer.cases
