"""Measures precision and recall of each kind of personal data on three corpora, beside Presidio's pattern recognisers.

A finding is right if its kind and its exact position are those of a value. The held-out halves count.
"""

import collections
import sys
import time

from harness import Suite, print_table
from pii import corpus, presidio, realistic

LEAST_PRECISION, LEAST_RECALL = 0.97, 0.95
# A kind with fewer values says too little about recall.
FEWEST_VALUES = 20
# Presidio's findings from these scores on: all of them, and those that it has some confidence in.
SCORES = (0.0, 0.4)
# The bounded form takes every so-many-th sentence of a corpus for Presidio, which is slow.
QUICK_SHARE = 40


def main():
    suite = Suite("pii", __doc__, quick=f"Presidio on every {QUICK_SHARE}th sentence")
    options = suite.parse()
    for name, samples in (("generated", corpus.generated()), ("Faker", corpus.fake()), ("realistic", realistic.realistic())):
        measure(suite, name, [sample for sample in samples if sample.held_out], options)
    return suite.finish()


def measure(suite, name, samples, options):
    ours = count(samples, corpus.findings(samples))
    part = samples[::QUICK_SHARE] if options.quick else samples
    begun = time.monotonic()
    engine = presidio.analyzer()
    theirs = [count(part, [presidio_findings(engine, sample, score) for sample in part]) for score in SCORES]
    suite.note(f"{name} corpus: {len(samples)} held-out sentences; Presidio on {len(part)} of them in {time.monotonic() - begun:.0f} s")
    scores = [f"Presidio {what}, score ≥ {score:g}" for score in SCORES for what in ("precision", "recall")]
    rows = []
    for kind, figures in sorted(ours.items()):
        cells = [cell for counts in theirs for cell in shown(counts[kind] if kind in presidio.KINDS.values() else None)]
        rows.append([kind, figures.values(), *shown(figures), *cells])
    print_table(["kind", "values", "precision", "recall", *scores], rows)
    for kind, figures in sorted(ours.items()):
        suite.check(
            f"{name} corpus, {kind}: precision {figures.precision():.3f}, recall {figures.recall():.3f}",
            figures.precision() < LEAST_PRECISION and f"precision below {LEAST_PRECISION}",
            figures.recall() < LEAST_RECALL and f"recall below {LEAST_RECALL}",
            figures.values() < FEWEST_VALUES and f"only {figures.values()} values",
        )


def presidio_findings(engine, sample, score):
    """Presidio's findings, without those in values of kinds that it does not know, such as the host of a database's URL."""
    unknown = [(start, end) for kind, start, end in sample.values if kind not in presidio.KINDS.values()]
    found = presidio.findings(engine, sample.text, score)
    return frozenset(value for value in found if all(value[2] <= start or end <= value[1] for start, end in unknown))


class Counts:
    def __init__(self):
        self.right = self.wrong = self.missed = 0

    def values(self):
        return self.right + self.missed

    def precision(self):
        return self.right / max(1, self.right + self.wrong)

    def recall(self):
        return self.right / max(1, self.values())


def count(samples, findings):
    """The counts by kind."""
    counts = collections.defaultdict(Counts)
    for sample, found in zip(samples, findings, strict=True):
        for kind, *_ in found & sample.values:
            counts[kind].right += 1
        for kind, *_ in found - sample.values:
            counts[kind].wrong += 1
        for kind, *_ in sample.values - found:
            counts[kind].missed += 1
    return counts


def shown(counts):
    return (f"{counts.precision():.3f}", f"{counts.recall():.3f}") if counts else ("–", "–")


if __name__ == "__main__":
    sys.exit(main())
