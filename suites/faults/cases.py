"""One row in one column: a call by an SDK and its checks, and the accounting checks afterwards."""

import dataclasses
import itertools

from faults.clients import DIALECTS, HANGS, PATHS
from faults.outcomes import GRACE, SLACK, Refused, Served
from measure import PeakMemory

# Provider types of a format's calls: its own or another, with another one as fallback.
ROUTES = {
    ("chat", "own"): ("oa", "oa"),
    ("responses", "own"): ("oa", "oa"),
    ("messages", "own"): ("an", "an"),
    ("chat", "other"): ("an", "ge"),
    ("responses", "other"): ("ge", "oa"),
    ("messages", "other"): ("oa", "an"),
}
COUNTER = itertools.count(1)
# Seconds the SDK itself needs for an answer of 64 MiB.
PARSING = 2.0
COUNTING = 2.0


class Identified:
    """Identification of a case or sequence: its position in the table, and unique marks on its objects."""

    @property
    def position(self):
        form = "stream" if self.stream else "document"
        column = "fallback" if self.fallback else "none"
        return f"{self.group} | {self.dialect} | {form} | {column}"

    @property
    def tag(self):
        return f"{self.number}.{self.round}"

    @property
    def combo_name(self):
        return f"combo-{self.tag}"


@dataclasses.dataclass
class Case(Identified):
    row: object
    dialect: str
    stream: bool
    fallback: bool
    route: str
    faults: list = dataclasses.field(default_factory=list)
    received: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    # Whether its configuration succeeded.
    ready: bool = True
    # Each repetition uses fresh models.
    round: int = 0

    def __post_init__(self):
        self.number = next(COUNTER)
        self.kinds = ROUTES[self.dialect, self.route]

    @property
    def by_rule(self):
        """Whether the fallback is a rule of the settings instead of a combo: both must behave the same."""
        return self.route == "other"

    @property
    def group(self):
        return self.row.name

    @property
    def lane(self):
        return self.row.lane

    @property
    def name(self):
        return f"{self.position} | {self.route} ({self.kinds[0]})"

    @property
    def countable(self):
        return self.row.side == "bad"

    def gateway_of(self, app):
        return app.gateway

    def target(self, side):
        if side == "good":
            return f"good-{self.kinds[1]}", f"text@{self.tag}"
        return f"{self.row.side}-{self.kinds[0]}", f"{self.row.behaviour}@{self.tag}"

    def models(self):
        sides = ("bad", "good") if self.fallback else ("bad",)
        return [self.target(side) for side in sides]

    @property
    def selector(self):
        return self.combo_name if self.fallback and not self.by_rule else "/".join(self.target("bad"))

    @property
    def outcome(self):
        plain = self.row.stream if self.stream else self.row.document
        if self.fallback and self.row.with_another:
            return self.row.with_another
        if self.fallback and isinstance(plain, Refused) and plain.moves:
            # With a fallback there is no waiting, apart from the time spent on the first target.
            return Served("good", plain.tries_before_moving, within=plain.within + 0.5, least=plain.least)
        return plain

    def description(self):
        stream = ', "stream": true' if self.stream else ""
        upstream = "/".join(self.target("bad"))
        return f'POST {PATHS[self.dialect]} {{"model": "{self.selector}"{stream}}} (faulty: {upstream})'

    def run(self, app):
        assert self.ready, "the combo could not be created"
        self.app = app
        gateway = self.gateway_of(app)
        memory = PeakMemory(gateway) if self.row.memory else None
        outcome = self.outcome
        request_id = f"fault-{self.tag}"
        patience = HANGS + outcome.within
        received = app.call(gateway, self.dialect, self.selector, self.stream, request_id, timeout=patience)
        self.received.append((received, outcome))
        self.seconds = received.seconds
        limit = outcome.within + GRACE + SLACK + (PARSING if self.row.memory else 0)
        # The first count loads the tokenizer's tables.
        limit += COUNTING if getattr(outcome, "estimated", False) else 0
        assert received.seconds <= limit, f"time: expected ≤ {limit:.2f} s, took {received.seconds:.2f} s: {received.short()}"
        assert received.seconds >= outcome.least, f"time: expected ≥ {outcome.least:.2f} s, took {received.seconds:.2f} s"
        self.judge(outcome, received)
        if self.row.hangs:
            left = app.closed(self.target("bad")[1], GRACE + SLACK)
            assert left is not None, "the connection to the upstream was not closed"
        if memory:
            assert memory.growth() < self.row.memory, f"memory: +{memory.growth():.0f} MiB, expected < {self.row.memory}"

    def judge(self, outcome, received):
        if self.row.memory and received.error is None and received.header("x-gateway-provider") == self.target("bad")[0]:
            # The huge answer may also arrive complete.
            assert received.finished and len(received.text) == 64 << 20, received.short()
            self.received[-1] = (received, Served())
            return
        outcome.judge(self, received)

    def calls_of_bad(self):
        return self.app.calls(self.target("bad")[1])

    def audit(self, app, rows):
        """Checks that each call has exactly one correct usage row."""
        for received, outcome in self.received:
            found = rows.get(received.request_id, [])
            assert len(found) == 1, f"usage rows: expected 1, found {len(found)}"
            outcome.judge_row(self, received, found[0])


def grid(rows, quick):
    for index, row in enumerate(rows):
        columns = list(itertools.product(DIALECTS, (False, True), (False, True), ("own", "other")))
        possible = [
            Case(row, dialect, stream, fallback, route)
            for dialect, stream, fallback, route in columns
            if ROUTES[dialect, route][0] in row.kinds
        ]
        yield from sample(possible, index) if quick else possible


def sample(cases, index):
    """Two cases per row, alternating through every format and form: one without fallback, one with."""
    for fallback in (False, True):
        fitting = [case for case in cases if case.fallback is fallback]
        yield fitting[(index * 5 + fallback * 3) % len(fitting)]
