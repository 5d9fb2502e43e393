#!/usr/bin/env bash
# Builds the gateway of an earlier version in .cache, if that was not done yet, and prints the path of its binary:
# scripts/previous.sh TAG
set -euo pipefail
cd "$(dirname "$0")/.."

tag=${1:-}
if ! commit=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}"); then
    echo "previous: there is no tag '$tag'. Fetch it with: git fetch --tags" >&2
    exit 1
fi
checkout="$PWD/.cache/previous/$tag"
binary="$checkout/target/release/gatehouse"
stamp="$checkout/built"
if [ ! -x "$binary" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$commit" ]; then
    echo "previous: building $tag" >&2
    mkdir -p "$checkout"
    git archive "$commit" | tar -x -C "$checkout"
    # Without the settings of this checkout's build.
    (cd "$checkout" && env -u CARGO_TARGET_DIR cargo build --locked --release -p gatehouse --bins) >&2
    echo "$commit" >"$stamp"
fi
echo "$binary"
