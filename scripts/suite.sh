#!/usr/bin/env bash
# Runs one suite in full and prints its figures: scripts/suite.sh NAME [arguments]. Without arguments, it lists the
# suites.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
    echo "make suite NAME, where NAME is one of:"
    sed -n 's/^- `\([a-z0-9-]*\)`: /  \1: /p' suites/README.md
    exit 0
fi
name=$1
shift
if [ ! -d "suites/$name" ]; then
    echo "suite: there is no suite '$name'" >&2
    "$0" >&2
    exit 2
fi

# Suites that need neither the binary nor Python.
if [ -e "suites/$name/run.sh" ]; then
    exec "suites/$name/run.sh" "$@"
fi
if [ "$name" = injection ]; then
    scripts/models.sh --fetch
fi
if [ "$name" = instructions ]; then
    for program in valgrind strace; do scripts/program.sh "$program"; done
fi
if [ "$name" = deploy ]; then
    for program in openssl nginx caddy promtool systemd-analyze strip buildah mmdebstrap; do scripts/program.sh "$program"; done
fi
if [ "$name" = replicas ]; then
    scripts/program.sh redis-server
fi
if [ "$name" = upgrade ]; then
    scripts/program.sh nginx
fi
# Parts that compare with the previous version.
case "$name $* " in
    *" --quick "* | *" --previous"* | *" --before"*) previous= ;;
    "upgrade "* | "replicas "*" cpu "*) previous=v0.1.0 ;;
    "replicas"*" --only "*) previous= ;;
    "replicas "*) previous=v0.1.0 ;;
    *) previous= ;;
esac
if [ -n "$previous" ]; then
    GATEHOUSE_PREVIOUS_BIN="${GATEHOUSE_PREVIOUS_BIN:-$(scripts/previous.sh "$previous")}"
    export GATEHOUSE_PREVIOUS_BIN
fi
own=()
[ ! -e "suites/$name/requirements.txt" ] || own=("$name")
python=$(scripts/venv.sh "${own[@]}")
if [ -z "${GATEHOUSE_BIN:-}" ]; then
    cargo build --locked --release --workspace --bins
    if [ "$name" = reports ]; then
        cargo build --locked --release --workspace --features store/generate --example fill
    fi
    case $name in
        pii) cargo build --locked --release -p guardrails --example pii_figures ;;
        injection) cargo build --locked --release -p guardrails -p local-models --examples ;;
        guardrails) cargo build --locked --release -p guardrails --example pattern_figures ;;
        deploy)
            scripts/release.sh --binary-only
            set -- --shipped "${CARGO_TARGET_DIR:-$PWD/target}/dist/gatehouse" "$@"
            ;;
    esac
    GATEHOUSE_BIN="$PWD/target/release/gatehouse"
    export GATEHOUSE_BIN
fi
cd suites
if [ -e "$name/__main__.py" ]; then
    exec "$python" -m "$name" "$@"
fi
exec "$python" -m pytest "$name" "$@"
