#!/usr/bin/env bash
# Prints the path of Chromium for the browser tests. As root on Debian, it is installed if it is missing.
set -euo pipefail

find_chromium() {
    local candidate
    for candidate in "${CHROMIUM:-}" "$(command -v chromium || true)" "$(command -v chromium-browser || true)" \
        "$(command -v google-chrome || true)"; do
        if [ -n "$candidate" ] && [ -x "$candidate" ]; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

if ! find_chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "chromium: installing it" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2 || true
fi
if ! find_chromium; then
    echo "chromium: Chromium is missing. Install it with: sudo apt-get install chromium, or name one in CHROMIUM" >&2
    exit 1
fi
