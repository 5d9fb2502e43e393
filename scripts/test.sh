#!/usr/bin/env bash
# Runs all tests: unit and integration tests on both databases, then the suites, time-limited.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p .cache/test
postgres="$PWD/.cache/postgres-test"
summary=()
failed=0

give_up() {
    echo "test: $1" >&2
    exit 1
}

# Runs a suite, shows its output, and keeps its summary line.
suite() {
    local name=$1
    shift
    echo
    echo "== $name"
    local begun=$SECONDS
    "$@" 2>&1 | tee ".cache/test/$name.log"
    local status=${PIPESTATUS[0]}
    local counts
    counts=$(count "$name")
    [ "$status" = 0 ] || failed=1
    [ "$status" = 0 ] || counts="$counts (exit status $status)"
    summary+=("$(printf '%-12s %4d s  %s' "$name" $((SECONDS - begun)) "$counts")")
}

# Sums up `N passed, N failed` over all summary lines of cargo, pytest and our own suites.
count() {
    awk '
        / passed/ || / failed/ || / errors?/ {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed[;,.]?$/ && $(i - 1) ~ /^[0-9]+$/) passed += $(i - 1)
                if ($i ~ /^(failed|errors?)[;,.]?$/ && $(i - 1) ~ /^[0-9]+$/) failed += $(i - 1)
            }
        }
        END { printf "%d passed, %d failed", passed, failed }
    ' ".cache/test/$1.log"
}

trap 'scripts/postgres.sh stop "$postgres" >/dev/null 2>&1' EXIT
trap 'exit 130' INT TERM
# Writes to a file: the server would keep a pipe open and block this script.
scripts/postgres.sh start "$postgres" >.cache/test/postgres.out
GATEHOUSE_TEST_POSTGRES_URL=$(tail -n 1 .cache/test/postgres.out)
[ -n "$GATEHOUSE_TEST_POSTGRES_URL" ] \
    || give_up "PostgreSQL could not be started. Install it with: sudo apt-get install postgresql"
export GATEHOUSE_TEST_POSTGRES_URL
python=$(scripts/venv.sh) || give_up "the suites' Python packages are missing (see above)"

# The tests of the API mostly wait (for timers, sockets, the disk): more threads than cores halve their time.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((3 * $(nproc)))}"
suite rust cargo test --workspace --locked --no-fail-fast
# The whole workspace, so that features unify as in the tests and no dependency is compiled a second time.
cargo build --locked --workspace --bins || give_up "the gateway does not build"
cargo build --locked --workspace --features store/generate --example fill || give_up "the generator does not build"
export GATEHOUSE_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/gatehouse"
run_in_suites() { (cd suites && "$@"); }
suite sdk run_in_suites "$python" -m pytest sdk
suite compat run_in_suites "$python" -m compat
suite agents run_in_suites "$python" -m agents --quick
suite faults run_in_suites "$python" -m faults --quick
suite kill9 run_in_suites "$python" -m kill9 --quick
suite spend run_in_suites "$python" -m spend --quick
suite storage run_in_suites "$python" -m storage --quick
suite canaries run_in_suites "$python" -m canaries --quick
suite abuse run_in_suites "$python" -m abuse --quick
suite chaos run_in_suites "$python" -m chaos --quick
suite resume run_in_suites "$python" -m resume --quick
suite reports run_in_suites "$python" -m reports --quick
for program in valgrind strace; do scripts/program.sh "$program" || true; done
suite instructions run_in_suites "$python" -m instructions --quick
for program in curl openssl pgrep nginx caddy; do scripts/program.sh "$program" || true; done
suite docs run_in_suites "$python" -m docs

echo
printf '%s\n' "${summary[@]}"
echo "test: $((SECONDS / 60)) min $((SECONDS % 60)) s"
exit "$failed"
