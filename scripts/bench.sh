#!/usr/bin/env bash
# Benchmarks the release build side by side with nginx as a plain reverse proxy and a bare proxy, in one run.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache

nginx_here() { command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; }

if ! nginx_here && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "bench: installing nginx" >&2
    # Only the program is needed: the packaged service must not start and take port 80.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        trap 'rm -f "$policy"' EXIT
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light; } >&2 || true
fi
if ! nginx_here; then
    echo "bench: nginx is missing, so its column will be empty. Install it with: sudo apt-get install nginx-light" >&2
fi

cargo build --locked --profile dist
PATH="$PATH:/usr/sbin" ./target/dist/gatehouse bench --full --json .cache/bench.json "$@"
