#!/usr/bin/env bash
# Checks the dependencies against deny.toml. cargo-deny is built into .cache/tools if the PATH has no suitable version.
#
# Bans, licenses and sources depend only on the files listed below. scripts/deny.checked is their hash when they last passed;
# while it is the same, cargo-deny is not built for them again (`--always` builds it). Commit the file with a change of them.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
tools="$PWD/.cache/tools"

# Other minor versions may interpret deny.toml differently.
fits() { "$1" --version 2>/dev/null | grep -q "^cargo-deny ${version%.*}\."; }

# The build is not optimised and has no debug information: cargo-deny runs for seconds, optimising it takes minutes.
install_deny() {
    echo "deny: building cargo-deny $version into .cache/tools, once; it takes two to three minutes on two cores"
    local status=0
    CARGO_TARGET_DIR="$tools/target" CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_INCREMENTAL=0 \
        cargo install --quiet --locked --debug --force --root "$tools" --version "$version" cargo-deny || status=$?
    rm -rf "$tools/target"
    return "$status"
}

checked=scripts/deny.checked
fingerprint=$(cat Cargo.lock deny.toml Cargo.toml crates/*/Cargo.toml | sha256sum | cut -d ' ' -f 1)
deny=$(command -v cargo-deny || true)
if [ -z "$deny$(command -v "$tools/bin/cargo-deny")" ] && [ "${1:-}" != --always ] \
    && [ "$fingerprint" = "$(cat "$checked" 2>/dev/null)" ]; then
    echo "deny: bans, licenses and sources passed for these dependencies ($checked); advisories were NOT checked: no cargo-deny"
    exit 0
fi
if [ -z "$deny" ] || ! fits "$deny"; then
    deny="$tools/bin/cargo-deny"
    if ! fits "$deny" && ! install_deny; then
        echo "deny: cargo-deny could not be built, so the dependencies were NOT checked" >&2
        echo "deny: install it with: cargo install --locked --version $version cargo-deny" >&2
        exit 1
    fi
fi

"$deny" --log-level error check --hide-inclusion-graph bans licenses sources
[ "$fingerprint" = "$(cat "$checked" 2>/dev/null)" ] || echo "$fingerprint" >"$checked"

# Bounds the download: a firewall that drops packets would block it for minutes.
if timeout -k 5 60 "$deny" --log-level off fetch db >/dev/null 2>&1; then
    "$deny" --log-level error check --disable-fetch advisories
else
    echo "deny: the RustSec advisory database could not be downloaded, so advisories were NOT checked"
fi
