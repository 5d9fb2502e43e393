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
KINDS = ["reset", "cut", "eof", "error", "hang"]
WEIGHTS = [4, 3, 3, 3, 1]


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
class Fault:
    """The break of one attempt, at an offset of the whole text."""

    offset: int
    kind: str
    # Bytes of the next event that are still sent.
    torn: int = 0

    def script(self):
        """The fault in the upstream's fault script language."""
        return f"{self.kind}-at-{self.offset}" + (f"-torn-{self.torn}" if self.torn else "")


@dataclasses.dataclass
class ReplyScript:
    """A reply that the prompt specifies: its text, the fault of each attempt, and the handling of a request to continue.
    """

    text: str
    faults: list = dataclasses.field(default_factory=list)
    continuation: object = "repeat_quote"
    calls: list = dataclasses.field(default_factory=list)
    piece_sizes: list = dataclasses.field(default_factory=lambda: [5])

    def prompt(self):
        script = dataclasses.asdict(self) | {"faults": [fault.script() for fault in self.faults]}
        return "SCRIPT " + json.dumps(script, ensure_ascii=False)

    @property
    def continuation_name(self):
        return self.continuation if isinstance(self.continuation, str) else "repeat"

    @property
    def fault_names(self):
        return "+".join(fault.kind + ("/torn" if fault.torn else "") for fault in self.faults) or "none"


def random_fault(chance, least, most):
    kind = chance.choices(KINDS, WEIGHTS)[0]
    torn = chance.randrange(1, 200) if kind in ("reset", "cut", "hang") and chance.random() < 0.4 else 0
    return Fault(chance.randint(least, most), kind, torn)


def random_script(chance, attempts=1):
    """A text with this many faults before a model completes it."""
    text = make(chance)
    faults = [random_fault(chance, 1, len(text))]
    for _ in range(attempts - 1):
        faults.append(random_fault(chance, faults[-1].offset, len(text)))
    continuation = chance.choices(["repeat_quote", "continue", "repeat", "restart"], [6, 2, 2, 1])[0]
    if continuation == "repeat":
        continuation = {"repeat": last_words(chance, text[: faults[0].offset])}
    if any(is_ambiguous(text[: fault.offset], text[fault.offset :], continuation) for fault in faults):
        continuation = "repeat_quote"
    return ReplyScript(text, faults, continuation, piece_sizes=[chance.randint(1, 12) for _ in range(7)])


def is_ambiguous(sent, rest, continuation):
    """Whether repetitions in the text make the continuation ambiguous in this style."""
    if continuation == "continue":
        words = sent.rstrip()
        shared = any(words.endswith(rest[:length]) for length in range(8, min(len(words), len(rest)) + 1))
        return shared or rest.startswith(words)
    repeated = 0
    if continuation == "restart":
        repeated = len(sent)
    elif continuation != "repeat_quote":
        repeated = continuation["repeat"]
    start = sent[len(sent) - repeated :][:16]
    return repeated > 0 and sent.count(start) > 1


def last_words(chance, sent):
    """The number of characters of the last one to eight words."""
    words = sent.split(" ")
    return len(" ".join(words[-chance.randint(1, 8) :]))
