"""Texts that are hard to split and join, and the faults of the models that send them."""

import dataclasses
import json

WORDS = """
the answer is of a river mountains Straße größer Äpfel naïve façade Ωμέγα привет мир سلام שלום नमस्ते
東京 は 夜 七時 你好 世界 한국어 🙂 👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭 e\u0301lan a\u0308hnlich Z\u0351\u036b\u0343a𝒳 𐍈 it's "quoted" \\n <tag> {brace}
""".split()
PHRASES = ["and so on, and so on, ", "na " * 8, "na " * 40, "=" * 70, "\t\t\t\t", "    }\n    }\n    }\n"]
SPACES = [" ", " ", " ", " ", " ", "  ", "\n", "\n\n", " \n  ", " " * 40, "\n\n\n\n"]
CODE = [
    '```python\nfor i in range(3):\n    print(f"{i}")\n```\n',
    "```rust\nfn main() {\n    let x = vec![1, 2, 3];\n    if x.len() > 2 {\n        println!(\"ü\");\n    }\n}\n```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |\n",
]
ENDS = ["reset", "cut", "eof", "error", "hang"]
HOW_OFTEN = [4, 3, 3, 3, 1]


def make(chance):
    """A text of 20 to 900 characters."""
    pieces = [chance.choice(WORDS)]
    length = chance.choice([20, 80, 200, 400, 900])
    while sum(map(len, pieces)) < length:
        pieces.append(chance.choice(SPACES))
        kind = chance.random()
        if kind < 0.04:
            pieces.append("\n" + chance.choice(CODE))
        elif kind < 0.09:
            pieces.append(chance.choice(PHRASES))
        else:
            pieces.append(chance.choice(WORDS))
    return "".join(pieces)


@dataclasses.dataclass
class Saga:
    """The text, the faults of its models, and the way a request to continue is handled."""

    text: str
    deaths: list = dataclasses.field(default_factory=list)
    manner: object = "obey"
    calls: list = dataclasses.field(default_factory=list)
    sizes: list = dataclasses.field(default_factory=lambda: [5])

    def order(self):
        return "SAGA " + json.dumps(dataclasses.asdict(self), ensure_ascii=False)

    @property
    def manner_name(self):
        return self.manner if isinstance(self.manner, str) else "repeat"

    @property
    def how(self):
        return "+".join(death["how"] + ("/torn" if death["torn"] else "") for death in self.deaths if death) or "none"


def death(chance, least, most):
    how = chance.choices(ENDS, HOW_OFTEN)[0]
    torn = chance.randrange(1, 200) if how in ("reset", "cut", "hang") and chance.random() < 0.4 else 0
    return {"after": chance.randint(least, most), "how": how, "torn": torn}


def saga(chance, lives=1):
    """A text with this many faults before a model completes it."""
    text = make(chance)
    deaths = [death(chance, 1, len(text))]
    for _ in range(lives - 1):
        deaths.append(death(chance, deaths[-1]["after"], len(text)))
    manner = chance.choices(["obey", "plain", "repeat", "restart"], [6, 2, 2, 1])[0]
    if manner == "repeat":
        manner = {"repeat": again(chance, text[: deaths[0]["after"]])}
    if any(doubtful(text[: death["after"]], text[death["after"] :], manner) for death in deaths):
        manner = "obey"
    return Saga(text, deaths, manner, sizes=[chance.randint(1, 12) for _ in range(7)])


def doubtful(said, rest, manner):
    """Whether repetitions in the text make the continuation ambiguous for this manner."""
    if manner == "plain":
        words = said.rstrip()
        shared = any(words.endswith(rest[:length]) for length in range(8, min(len(words), len(rest)) + 1))
        return shared or rest.startswith(words)
    again = len(said) if manner == "restart" else manner["repeat"] if manner != "obey" else 0
    start = said[len(said) - again :][:16]
    return again > 0 and said.count(start) > 1


def again(chance, said):
    """The number of characters of the last one to eight words."""
    words = said.split(" ")
    return len(" ".join(words[-chance.randint(1, 8) :]))
