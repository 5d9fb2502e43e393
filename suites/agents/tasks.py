"""The tasks given to the agents, and their expected results."""

import dataclasses

GREETING = "Hello from the upstream."


@dataclasses.dataclass
class Task:
    name: str
    prompt: str
    # Expected end of the answer by the scripted model.
    expected_start: str
    # Files that the agent's own tool leaves in the project directory.
    files: dict
    # Minimum number of calls: one without a tool; a tool's result is sent in another.
    least_calls: int

    def faults(self, answer, project):
        if not answer.strip().startswith(self.expected_start):
            yield f"the answer is {answer[:200]!r}, not {self.expected_start!r}"
        found = {path.name: path.read_text() for path in project.iterdir() if path.is_file()}
        # Patch tools append a newline.
        found = {name: text.removesuffix("\n") for name, text in found.items()}
        if found != self.files:
            yield f"the project holds {found}, not {self.files}"


TASKS = [
    Task("answer", "Which bird stands longest on one leg?", GREETING, {}, 1),
    # The content ends at the line break: one of the agents quotes the whole prompt.
    Task(
        "write-file",
        "Please write the file heron.txt with grey-heron-42\nThen tell me that it is done.",
        "Done.",
        {"heron.txt": "grey-heron-42"},
        2,
    ),
]
