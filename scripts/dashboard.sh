#!/usr/bin/env bash
# Builds, checks and tests the dashboard: scripts/dashboard.sh COMMAND [arguments]
#   build [--if-possible]   dashboard/dist, which the next build of the gateway embeds; --if-possible: only if Node.js is there
#   lint                    types, ESLint, and whether the generated client is current
#   test [arguments]        the browser tests, against GATEHOUSE_BIN or the newest build
#   screenshots             every page in light, dark and at 390 px, in .cache/screenshots
#   large                   the pages with 10^6 audit rows behind them
set -euo pipefail
cd "$(dirname "$0")/.."
command=${1:-}
[ $# -eq 0 ] || shift

say() { echo "dashboard: $*" >&2; }

# Installs the packages of a folder if its package-lock.json has changed.
install_packages() {
    local stamp="$1/node_modules/.package-lock.installed"
    cmp -s "$1/package-lock.json" "$stamp" && return
    say "installing the packages of $1/package-lock.json"
    if ! (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2; then
        say "the packages could not be installed. Once the package registry can be reached, run it again"
        return 1
    fi
    cp "$1/package-lock.json" "$stamp"
}

# Puts a suitable Node.js on the PATH.
use_node() {
    local directory
    directory=$(scripts/node.sh "$@") || return 1
    PATH="$directory:$PATH"
}

is_current() {
    [ -e dashboard/dist/index.html ] && [ -z "$(find dashboard \( -name node_modules -o -path dashboard/dist -o -path dashboard/tests \) \
        -prune -o -type f -newer dashboard/dist/index.html -print -quit)" ]
}

build() {
    is_current && return
    install_packages dashboard || return 1
    say "building dashboard/dist"
    local log=.cache/dashboard/build.log
    mkdir -p .cache/dashboard
    if ! (cd dashboard && npm run --silent build) >"$log" 2>&1; then
        cat "$log" >&2
        return 1
    fi
    node scripts/compress.mjs dashboard/dist
}

# Installs all that the browser tests need.
prepare_tests() {
    use_node --install
    install_packages dashboard/tests
    CHROMIUM=$(scripts/chromium.sh)
    export CHROMIUM
}

playwright() { (cd dashboard/tests && npx --no-install playwright test "$@"); }

case $command in
    build)
        if [ "${1:-}" = --if-possible ]; then
            if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
                say "Node.js or npm is missing, so this build has a plain page instead of the dashboard"
                exit 0
            fi
            use_node && build || say "the dashboard could not be built (see above); the gateway is built without its newest state"
            exit 0
        fi
        use_node --install
        build
        ;;
    lint)
        use_node --install
        install_packages dashboard
        install_packages dashboard/tests
        (cd dashboard && npm run --silent typecheck && npm run --silent lint)
        (cd dashboard/tests && npm run --silent typecheck)
        ;;
    test)
        prepare_tests
        playwright --project=quick "$@"
        ;;
    screenshots)
        prepare_tests
        playwright --project=screenshots "$@"
        say "the screenshots are in .cache/screenshots"
        ;;
    large)
        prepare_tests
        playwright --project=large "$@"
        ;;
    *)
        sed -n '2,/^set /p' "$0" | sed '$d; s/^# \{0,1\}//' >&2
        exit 2
        ;;
esac
