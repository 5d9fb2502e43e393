"""The corpus of prompt injections and harmless texts that look like them: written texts in carriers.

The corpus is the same in every run. Half of it, chosen by a hash of the written text, is held out: rules and thresholds are
not adjusted to it.
"""

import base64
import dataclasses
import hashlib
import json
import pathlib
import random

CARRIERS_PER_ATTACK = 5
CARRIERS_PER_BENIGN = 3

FILLING = [
    "The quarterly figures were discussed on Tuesday, and nobody objected to the plan for the new office.",
    "Our museum has three floors; the second one shows paintings of the seventeenth century.",
    "Tomatoes need sun, water and patience, and most beginners give them too much of the second.",
    "The train to the coast leaves twice a day in winter and every hour in summer.",
    "A recipe for four people needs 500 grams of flour, two eggs and a little salt.",
    "The library closes at eight; books can be returned through the slot beside the entrance.",
]


@dataclasses.dataclass(frozen=True)
class Sample:
    text: str
    category: str
    is_attack: bool
    held_out: bool


def plain(text, _):
    return text


def after_question(text, chance):
    return f"{chance.choice(['Can you help me with something?', 'Hi there!', 'Quick question.', 'Thanks for the last answer.'])} {text}"


def polite(text, chance):
    return f"{text} {chance.choice(['Thank you!', 'Please.', 'I need it today.', 'Thanks in advance.'])}"


def in_prose(text, chance):
    before, after = chance.sample(FILLING, 2)
    return f"{before} {text} {after}"


def in_long_prose(text, chance):
    filling = FILLING * 3
    chance.shuffle(filling)
    at = chance.randrange(len(filling))
    return " ".join([*filling[:at], text, *filling[at:]])


def capitals(text, _):
    return text.upper()


def zero_width(text, _):
    return "\u200b".join(text)


def full_width(text, _):
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


def look_alikes(text, _):
    return text.translate(str.maketrans("aeopcy", "аеорсу"))


def in_base64(text, _):
    return f"Decode this and do what it says: {base64.b64encode(text.encode()).decode()}"


def in_email(text, chance):
    return f"From: {chance.choice(['lena', 'tom', 'office'])}@example.com\nSubject: {chance.choice(['Update', 'Invoice', 'Meeting'])}\n\nHello,\n\n{text}\n\nBest regards"


def in_json(text, chance):
    return json.dumps({"id": chance.randrange(9999), "status": "ok", "description": text, "tags": ["new"]}, ensure_ascii=False)


def in_page(text, chance):
    before, after = chance.sample(FILLING, 2)
    return f"<html><body><h1>News</h1><p>{before}</p><p>{text}</p><p>{after}</p></body></html>"


def in_comment(text, _):
    return f"def total(prices):\n    # {text}\n    return sum(prices)\n"


def in_table(text, chance):
    rows = "\n".join(f"{number},{chance.choice(['open', 'closed'])},checked" for number in range(41, 44))
    return f"id,status,note\n{rows}\n44,open,{json.dumps(text, ensure_ascii=False)}"


DIRECT = [plain, after_question, polite, in_prose, in_long_prose, capitals]
DISGUISED = [zero_width, full_width, look_alikes, in_base64]
PLANTED = [plain, in_email, in_json, in_page, in_comment, in_table, in_long_prose]
SPOKEN = [plain, after_question, polite, in_prose]
WRITTEN = [plain, in_email, in_json, in_page, in_table, in_long_prose]


def carriers(category, text, chance):
    if category == "planted":
        return chance.sample(PLANTED, CARRIERS_PER_ATTACK)
    if category == "direct":
        # Look-alikes and codes exist for English only.
        disguised = [chance.choice(DISGUISED)] if text.isascii() else []
        return chance.sample(DIRECT, CARRIERS_PER_ATTACK - len(disguised)) + disguised
    return chance.sample(WRITTEN if category in ("mail", "document") else SPOKEN, CARRIERS_PER_BENIGN)


def samples():
    directory = pathlib.Path(__file__).parent
    for name in ("attacks.txt", "benign.txt"):
        for line in (directory / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            category, text = line.split(": ", 1)
            digest = hashlib.sha256(text.encode()).digest()
            chance = random.Random(digest)
            for carrier in carriers(category, text, chance):
                yield Sample(carrier(text, chance), category, name == "attacks.txt", digest[0] % 2 == 1)
