#!/usr/bin/env bash
# Builds the gateway of an earlier version in .cache, if that was not done yet, and prints the path of its binary:
# scripts/previous.sh TAG
set -euo pipefail
cd "$(dirname "$0")/.."

tag=${1:-}
# The commits of versions, for clones without their tags. Each is in the history of the main branch.
case $tag in
    v0.1.0) released=eaeb0a88bd141f8aa6ebd0b3c4a97e6442d0c36b ;;
    *) released= ;;
esac
if ! commit=$(git rev-parse --verify --quiet "refs/tags/$tag^{commit}") \
    && ! { [ -n "$released" ] && commit=$(git rev-parse --verify --quiet "$released^{commit}" 2>/dev/null); }; then
    echo "previous: this clone has no tag '$tag'${released:+, and not its commit $released either}." >&2
    if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
        echo "previous: it is shallow. Fetch the whole history with: git fetch --unshallow --tags" >&2
    else
        echo "previous: fetch the tags with: git fetch --tags" >&2
    fi
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
