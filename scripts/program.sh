#!/usr/bin/env bash
# Installs a program that a script needs if it is missing: scripts/program.sh NAME. Fails if it is still missing then.
set -euo pipefail

name=$1
case $name in
    nginx) package=nginx-light ;;
    pgrep) package=procps ;;
    node) package=nodejs ;;
    promtool) package=prometheus ;;
    strip) package=binutils ;;
    llvm-profdata-*) package=llvm-${name##*-} ;;
    systemd-analyze) package=systemd ;;
    *) package=$name ;;
esac

is_installed() { command -v "$name" >/dev/null || [ -x "/usr/sbin/$name" ]; }

if ! is_installed && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "program: installing $name" >&2
    # Only the program is needed: the packaged service must not start and take port 80.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        trap 'rm -f "$policy"' EXIT
    fi
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package"; } >&2 || true
fi
if ! is_installed; then
    echo "program: $name is missing. Install it with: sudo apt-get install $package" >&2
    exit 1
fi
