"""What an agent is asked to do, and whether it was done."""

import dataclasses

GREETING = "Hello from the upstream."


@dataclasses.dataclass
class Task:
    name: str
    prompt: str
    # What the scripted model ends with.
    says: str
    # Left in the project directory by the agent's own tool.
    files: dict
    # Without a tool one call is enough; with one, its result goes back in another.
    least_calls: int

    def faults(self, answer, project):
        if not answer.strip().startswith(self.says):
            yield f"the answer is {answer[:200]!r}, not {self.says!r}"
        found = {path.name: path.read_text() for path in project.iterdir() if path.is_file()}
        # Tools that take a patch end their lines.
        found = {name: text.removesuffix("\n") for name, text in found.items()}
        if found != self.files:
            yield f"the project holds {found}, not {self.files}"


TASKS = [
    Task("answer", "Which bird stands longest on one leg?", GREETING, {}, 1),
    # The line ends with the content: one of the agents puts quotes around the whole prompt.
    Task(
        "write-file",
        "Please write the file heron.txt with grey-heron-42\nThen tell me that it is done.",
        "Done.",
        {"heron.txt": "grey-heron-42"},
        2,
    ),
]
