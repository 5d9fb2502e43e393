#!/usr/bin/env bash
# Benchmarks the release build side by side with nginx as a plain reverse proxy and a bare proxy, in one run.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache

scripts/program.sh nginx || echo "bench: without nginx, its column will be empty" >&2

cargo build --locked --profile dist
PATH="$PATH:/usr/sbin" ./target/dist/gatehouse bench --full --json .cache/bench.json "$@"
