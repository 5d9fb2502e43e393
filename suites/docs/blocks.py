"""Extracts the code blocks of a Markdown page, with the comment above each that says how to run it."""

import dataclasses
import re
import textwrap

FENCE = re.compile(r"^\s*```(\S*)\s*$")
COMMENT = re.compile(r"^\s*<!-- (.+) -->\s*$")
# Names for a shell block that would escape the suite.
OTHER_SHELLS = {"bash", "shell", "console", "zsh"}
# The comments that the suite knows, and how a block with one is run.
INSTRUCTIONS = {
    "not_run": re.compile(r"not run: (?P<text>.+)"),
    "starts": re.compile(r"starts the gateway"),
    "fails": re.compile(r"fails with: (?P<text>.+)"),
    "stopped": re.compile(r"stopped after (?P<text>\d+) s"),
    "input": re.compile(r"input: (?P<text>.+)"),
    "needs": re.compile(r"needs: (?P<text>\S+)"),
    "file": re.compile(r"file: (?P<text>[\w.-]+)"),
}


@dataclasses.dataclass
class Block:
    line: int
    language: str
    text: str
    # A key of INSTRUCTIONS, "run" without a comment, or "unknown".
    instruction: str = "run"
    argument: str = ""

    @property
    def is_shell(self):
        return self.language == "sh"

    @property
    def title(self):
        """The first command, shortened."""
        first = next((line.strip() for line in self.text.splitlines() if line.strip()), "")
        return first if len(first) <= 70 else first[:69] + "…"


def blocks(markdown):
    """The shell blocks of a page and the files it shows, in order."""
    found = []
    lines = markdown.splitlines()
    number = 0
    while number < len(lines):
        if opening := FENCE.match(lines[number]):
            end = next(index for index in range(number + 1, len(lines)) if FENCE.match(lines[index]))
            text = textwrap.dedent("\n".join(lines[number + 1 : end])) + "\n"
            block = Block(number + 1, opening[1], text)
            instruct(block, lines[number - 1] if number else "")
            if block.is_shell or block.language in OTHER_SHELLS or block.instruction == "file":
                found.append(block)
            number = end
        number += 1
    return found


def instruct(block, line_above):
    comment = COMMENT.match(line_above)
    if not comment:
        return
    for name, pattern in INSTRUCTIONS.items():
        if match := pattern.fullmatch(comment[1]):
            block.instruction = name
            block.argument = match.groupdict().get("text", "")
            return
    block.instruction, block.argument = "unknown", comment[1]


def assumes_gateway(found):
    """Whether the page expects a gateway that runs already: its first command does not start one."""
    commands = [block for block in found if block.instruction not in ("not_run", "file")]
    return bool(commands) and commands[0].instruction != "starts"
