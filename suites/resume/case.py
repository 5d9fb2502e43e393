"""One call and the conditions it must satisfy."""

import dataclasses
import difflib
import json

import sse
from resume.clients import RAW

# The word that marks a continued stream in a receipt and in a final comment.
FLAG = "resumed"


@dataclasses.dataclass
class Case:
    request_id: str
    client: str
    path: tuple
    model: str
    script: object
    # Whether no model completes the text.
    hopeless: bool = False
    # Whether a model fails after sending content; None if it may have sent nothing yet.
    resumes: bool | None = True
    answer: object = None
    faults: list = dataclasses.field(default_factory=list)
    doubled: int = 0
    lost: int = 0

    @property
    def name(self):
        script = self.script
        return f"{self.request_id} {self.client} {'>'.join(self.path)} {script.fault_names} {script.continuation_name}"

    def judge(self):
        answer, script = self.answer, self.script
        self.faults += answer.faults
        if self.hopeless:
            self.judge_hopeless()
            return
        if answer.error:
            self.faults.append(f"error: {answer.error}")
            return
        self.compare(answer.text, script.text)
        wanted = [(call["name"], json.loads(call["arguments"])) for call in script.calls]
        try:
            calls = [(name, json.loads(arguments)) for name, arguments in answer.calls]
        except ValueError:
            calls = answer.calls
        if calls != wanted:
            self.faults.append(f"calls {calls} instead of {wanted}")
        if answer.finish != sse.FINISHES[self.client.removeprefix("sdk-")][bool(wanted)] or answer.ends != 1:
            self.faults.append(f"ends {answer.ends} times, with {answer.finish}")
        if len(answer.ids) != 1:
            self.faults.append(f"ids {answer.ids}")
        if self.client in RAW:
            flagged = any(FLAG in comment for comment in answer.comments)
            if self.resumes not in (flagged, None):
                self.faults.append(f"comments {answer.comments}")

    def judge_hopeless(self):
        answer = self.answer
        if not answer.error:
            self.faults.append("no error, although no model completed the text")
        if answer.ends:
            self.faults.append("an end, although no model completed the text")
        if len(answer.text) < self.script.faults[0].offset:
            self.faults.append(f"only {len(answer.text)} of the characters that were sent: {answer.error}")
        if not self.script.text.startswith(answer.text):
            self.compare(answer.text, self.script.text[: len(answer.text)])

    def compare(self, received, text):
        if received == text:
            return
        matcher = difflib.SequenceMatcher(None, text, received, autojunk=False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                self.lost += b - a
                self.doubled += d - c
        at = next((n for n, (x, y) in enumerate(zip(text, received)) if x != y), min(len(text), len(received)))
        self.faults.append(
            f"lost {self.lost}, doubled {self.doubled} of {len(text)}, faults {self.script.faults}, continuation {self.script.continuation},"
            f" at {at}: …{text[max(0, at - 30) : at + 30]!r} became …{received[max(0, at - 30) : at + 30]!r}"
        )

    def judge_row(self, rows):
        if len(rows) != 1:
            self.faults.append(f"{len(rows)} usage rows")
        elif not self.hopeless and self.resumes not in (FLAG in json.dumps(rows[0]), None):
            self.faults.append(f"flagged {not self.resumes}: {rows[0]}")
        elif rows[0]["output_tokens"] <= 0 and self.script.text:
            self.faults.append(f"nothing was charged: {rows[0]}")
