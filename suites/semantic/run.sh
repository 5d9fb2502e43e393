#!/usr/bin/env bash
# Prints hits and false hits of the semantic cache on the shipped question pairs, then the retrieval curve:
# suites/semantic/run.sh VECTORS [ENTRIES]. Both files have a text, a tab and its embedding (components separated by
# spaces) in each line: VECTORS for all texts of pairs.tsv and natural.tsv, ENTRIES for the lines of entries.py.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ $# -eq 0 ]; then
    echo "semantic: needs the embeddings of the pairs; see the head of suites/semantic/run.sh" >&2
    exit 2
fi
evaluate() {
    cargo run --quiet --locked --release --package semantic-cache --example evaluate -- "$@"
}
evaluate suites/semantic/pairs.tsv "$@"
echo "natural pairs"
evaluate suites/semantic/natural.tsv "$1"
