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
    saga: object
    # Whether no model completes the text.
    hopeless: bool = False
    # Whether a model fails after sending content; None if it may have sent nothing yet.
    resumes: bool | None = True
    told: object = None
    faults: list = dataclasses.field(default_factory=list)
    doubled: int = 0
    lost: int = 0

    @property
    def name(self):
        saga = self.saga
        return f"{self.request_id} {self.client} {'>'.join(self.path)} {saga.how} {saga.manner_name}"

    def judge(self):
        told, saga = self.told, self.saga
        self.faults += told.faults
        if self.hopeless:
            self.judge_hopeless()
            return
        if told.error:
            self.faults.append(f"error: {told.error}")
            return
        self.compare(told.text, saga.text)
        wanted = [(call["name"], json.loads(call["arguments"])) for call in saga.calls]
        try:
            calls = [(name, json.loads(arguments)) for name, arguments in told.calls]
        except ValueError:
            calls = told.calls
        if calls != wanted:
            self.faults.append(f"calls {calls} instead of {wanted}")
        if told.finish != sse.FINISHES[self.client.removeprefix("sdk-")][bool(wanted)] or told.ends != 1:
            self.faults.append(f"ends {told.ends} times, with {told.finish}")
        if len(told.ids) != 1:
            self.faults.append(f"ids {told.ids}")
        if self.client in RAW:
            flagged = any(FLAG in comment for comment in told.comments)
            if self.resumes not in (flagged, None):
                self.faults.append(f"comments {told.comments}")

    def judge_hopeless(self):
        told = self.told
        if not told.error:
            self.faults.append("no error, although nobody told it to the end")
        if told.ends:
            self.faults.append("an end, although nobody told it")
        if len(told.text) < self.saga.deaths[0]["after"]:
            self.faults.append(f"only {len(told.text)} of the characters that were said: {told.error}")
        if not self.saga.text.startswith(told.text):
            self.compare(told.text, self.saga.text[: len(told.text)])

    def compare(self, heard, text):
        if heard == text:
            return
        matcher = difflib.SequenceMatcher(None, text, heard, autojunk=False)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind != "equal":
                self.lost += b - a
                self.doubled += d - c
        at = next((n for n, (x, y) in enumerate(zip(text, heard)) if x != y), min(len(text), len(heard)))
        self.faults.append(
            f"lost {self.lost}, doubled {self.doubled} of {len(text)}, deaths {self.saga.deaths}, manner {self.saga.manner},"
            f" at {at}: …{text[max(0, at - 30) : at + 30]!r} became …{heard[max(0, at - 30) : at + 30]!r}"
        )

    def judge_row(self, rows):
        if len(rows) != 1:
            self.faults.append(f"{len(rows)} usage rows")
        elif not self.hopeless and self.resumes not in (FLAG in json.dumps(rows[0]), None):
            self.faults.append(f"flagged {not self.resumes}: {rows[0]}")
        elif rows[0]["output_tokens"] <= 0 and self.saga.text:
            self.faults.append(f"nothing was charged: {rows[0]}")
