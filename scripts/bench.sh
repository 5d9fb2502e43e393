#!/usr/bin/env bash
# Benchmarks the shipped build side by side with nginx as a plain reverse proxy and a bare proxy, in one run.
#   --plain   the build without profile-guided optimisation (scripts/dist.sh)
# Other arguments are those of `gatehouse bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache

scripts/program.sh nginx || echo "bench: without nginx, its column will be empty" >&2

build=()
if [ "${1:-}" = --plain ]; then
    build=(--plain)
    shift
fi
scripts/dist.sh "${build[@]}"
PATH="$PATH:/usr/sbin" "${CARGO_TARGET_DIR:-target}/dist/gatehouse" bench --full --json .cache/bench.json "$@"
