#!/usr/bin/env bash
# The dashboard with 10^6 audit rows behind it: how long each page takes until it can be used, and scrolling of a long list.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/dashboard.sh build
if [ -z "${GATEHOUSE_BIN:-}" ]; then
    cargo build --locked --release --workspace --bins
    cargo build --locked --release --workspace --features store/generate --example fill
    export GATEHOUSE_BIN="$PWD/target/release/gatehouse"
fi
exec scripts/dashboard.sh large "$@"
