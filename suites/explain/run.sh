#!/usr/bin/env bash
# Random configurations and calls, each explained and then made; prints how many there were and agreed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cases=10000
while [ $# -gt 0 ]; do
    case $1 in
        --cases) cases=${2:?--cases needs a number}; shift 2 ;;
        *) echo "explain: unknown argument '$1'" >&2; exit 2 ;;
    esac
done
EXPLAIN_CASES="$cases" exec cargo test --locked --release -p pipeline --test agreement -- --nocapture
