#!/usr/bin/env bash
# Installs the OpenID Connect provider pinned in suites/identity/package-lock.json into .cache/oidc-provider and prints
# that directory.
set -euo pipefail
cd "$(dirname "$0")/.."
pinned="suites/identity"
home="$PWD/.cache/oidc-provider"
stamp="$home/package-lock.installed"

if ! cmp -s "$pinned/package-lock.json" "$stamp"; then
    scripts/program.sh node >&2
    scripts/program.sh npm >&2
    echo "identity: installing $pinned/package-lock.json" >&2
    mkdir -p "$home"
    rm -f "$stamp"
    cp "$pinned/package.json" "$pinned/package-lock.json" "$home/"
    if ! (cd "$home" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2; then
        echo "identity: the packages could not be installed. Once the package registry can be reached, run: $0" >&2
        exit 1
    fi
    cp "$pinned/package-lock.json" "$stamp"
fi
cp "$pinned/provider.mjs" "$home/"
echo "$home"
