#!/usr/bin/env bash
# Runs all tests: unit and integration tests on both databases, then the suites, time-limited.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/cpu.sh
mkdir -p .cache/test
postgres="$PWD/.cache/postgres-test"
redis="$PWD/.cache/redis-test"
summary=()
failed=0
refused=0
# Suites that have not begun after this many minutes are not run, one that has begun is stopped after another quarter of an
# hour, and the summary says so. `.ci/run` sets it, because a run that is killed reports nothing. GATEHOUSE_TEST_BEGUN is
# the start in seconds since 1970.
minutes="${GATEHOUSE_TEST_MINUTES:-}"
begun_at="${GATEHOUSE_TEST_BEGUN:-$(date +%s)}"
# A host can refuse CPU time to a virtual machine. Above this percentage time limits of seconds cannot be kept.
max_refused=50

give_up() {
    echo "test: $1" >&2
    exit 1
}

add_to_summary() { summary+=("$(printf '%-16s %s' "$1" "$2")"); }

# Seconds until a number of minutes after the start, at least 1.
seconds_until() {
    local left=$((begun_at + 60 * $1 - $(date +%s)))
    echo $((left > 0 ? left : 1))
}

time_is_over() { [ -n "$minutes" ] && [ "$(seconds_until "$minutes")" = 1 ]; }

# Runs a suite, shows its output, and keeps its summary line; sets `refused`. Returns the status of the suite.
run_suite() {
    local name=$1
    shift
    echo
    echo "== $name"
    local begun=$SECONDS ticks
    ticks=$(cpu_ticks)
    "$@" 2>&1 | tee ".cache/test/$name.log"
    local status=${PIPESTATUS[0]} result
    refused=$(refused_percent "$ticks")
    result=$(printf '%4d s  %s' $((SECONDS - begun)) "$(count "$name")")
    [ "$refused" -lt 10 ] || result="$result, $refused % of the CPU time refused"
    [ "$status" = 0 ] || result="$result (exit status $status)"
    add_to_summary "$name" "$result"
    return "$status"
}

# Runs a suite: run_twice PERCENT NAME COMMAND. If it fails, and the machine was refused at least this part of the CPU time, it
# runs a second time. Both runs are in the summary.
run_twice() {
    local least_refused=$1 name=$2
    shift
    if time_is_over; then
        add_to_summary "$name" "NOT RUN: $minutes minutes are over"
        return
    fi
    local status=0
    run_suite "$@" || status=$?
    [ "$status" != 0 ] || return 0
    # The status of `timeout`.
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        add_to_summary "$name" "NOT FINISHED: $((minutes + 15)) minutes are over"
        return 0
    fi
    if [ "$refused" -ge "$least_refused" ] && ! time_is_over; then
        shift
        run_suite "$name-again" "$@" && return 0
    fi
    return 1
}

# A suite that must pass, on any machine.
suite() { run_twice 10 "$@" || failed=1; }

# A suite that needs its calls to end within seconds, which a busy machine can prevent once; it depends on the CPU time during
# the suite before.
timed_suite() {
    if [ "$refused" -gt "$max_refused" ]; then
        add_to_summary "$1" "NOT RUN: $refused % of the CPU time is refused, its time limits cannot be kept"
        return
    fi
    run_twice 0 "$@" && return
    if [ "$refused" -gt "$max_refused" ]; then
        add_to_summary "$1" "NOT JUDGED: $refused % of the CPU time was refused, its time limits could not be kept"
    else
        failed=1
    fi
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

# Runs the Rust tests, and repeats a few failed ones one by one: tests with time limits can fail on a machine that is too
# busy, and then pass alone. While much CPU time is refused, those that fail again are repeated twice more. All runs are in
# the summary.
rust_tests() {
    local tests=("${on_databases[@]}" cargo test --workspace --tests --locked --no-fail-fast)
    run_suite rust "${tests[@]}" && return
    # A crate that does not compile, or a process that dies, is not repeated.
    grep -q '^error: [0-9]* target' .cache/test/rust.log && ! grep -q 'signal: ' .cache/test/rust.log || { failed=1; return; }
    local names log=rust
    export RUST_TEST_THREADS=1
    for round in rust-repeated rust-repeated-2 rust-repeated-3; do
        mapfile -t names < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' ".cache/test/$log.log")
        [ "${#names[@]}" -gt 0 ] && [ "${#names[@]}" -le 20 ] || break
        log=$round
        run_suite "$round" "${tests[@]}" -- --exact "${names[@]}" && return
        [ "$refused" -ge 10 ] || break
    done
    failed=1
}

trap 'scripts/postgres.sh stop "$postgres" >/dev/null 2>&1; scripts/redis.sh stop "$redis" >/dev/null 2>&1' EXIT
trap 'exit 130' INT TERM
# Writes to a file: the server would keep a pipe open and block this script.
scripts/postgres.sh start "$postgres" >.cache/test/postgres.out
GATEHOUSE_TEST_POSTGRES_URL=$(tail -n 1 .cache/test/postgres.out)
[ -n "$GATEHOUSE_TEST_POSTGRES_URL" ] \
    || give_up "PostgreSQL could not be started. Install it with: sudo apt-get install postgresql"
export GATEHOUSE_TEST_POSTGRES_URL
scripts/redis.sh start "$redis" >.cache/test/redis.out
GATEHOUSE_TEST_REDIS_URL=$(tail -n 1 .cache/test/redis.out)
[ -n "$GATEHOUSE_TEST_REDIS_URL" ] \
    || give_up "Redis could not be started. Install it with: sudo apt-get install redis-server"
export GATEHOUSE_TEST_REDIS_URL
python=$(scripts/venv.sh) || give_up "the suites' Python packages are missing (see above)"
# Before the gateway, which embeds it.
dashboard_built=1
scripts/dashboard.sh build || dashboard_built=0

# The tests of the API mostly wait (for timers, sockets, the disk): more threads than cores halve their time.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((3 * $(nproc)))}"
run_suite build cargo test --workspace --tests --locked --no-run || give_up "the tests do not build"
on_databases=()
# PostgreSQL takes most of the CPU time of the Rust tests. Where time is limited, most of it is refused, and the tests on
# both databases would not end in time, those on SQLite are run alone.
if [ -n "$minutes" ] && [ "$refused" -gt 70 ]; then
    on_databases=(env -u GATEHOUSE_TEST_POSTGRES_URL GATEHOUSE_TEST_SQLITE_ONLY=1)
    add_to_summary rust "NOT RUN on PostgreSQL: $refused % of the CPU time is refused"
fi
rust_tests
# With the tests, so that features unify as before and no dependency is compiled a second time.
cargo build --locked --workspace --bins --tests || give_up "the gateway does not build"
cargo build --locked --workspace --features store/generate --example fill --example pii_figures \
    || give_up "the generators do not build"
export GATEHOUSE_BIN="${CARGO_TARGET_DIR:-$PWD/target}/debug/gatehouse"
# Stops a command when the time is over.
bounded() {
    if [ -n "$minutes" ]; then timeout -k 20 "$(seconds_until $((minutes + 15)))" "$@"; else "$@"; fi
}
run_in_suites() { (cd suites && bounded "$@"); }
suite sdk run_in_suites "$python" -m pytest sdk
suite compat run_in_suites "$python" -m compat
suite kill9 run_in_suites "$python" -m kill9 --quick
suite spend run_in_suites "$python" -m spend --quick
timed_suite faults run_in_suites "$python" -m faults --quick
suite agents run_in_suites "$python" -m agents --quick
suite schema run_in_suites "$python" -m schema --quick
suite identity run_in_suites "$python" -m identity
if [ "$dashboard_built" = 1 ]; then
    suite dashboard bounded scripts/dashboard.sh test
else
    add_to_summary dashboard "NOT RUN: the dashboard could not be built (see above)"
    failed=1
fi
timed_suite storage run_in_suites "$python" -m storage --quick
suite canaries run_in_suites "$python" -m canaries --quick
suite resume run_in_suites "$python" -m resume --quick
suite reports run_in_suites "$python" -m reports --quick
suite guardrails run_in_suites "$python" -m guardrails --quick
if pii_python=$(scripts/venv.sh pii); then
    suite pii run_in_suites "$pii_python" -m pii --quick
else
    add_to_summary pii "NOT RUN: its Python packages are missing (see above)"
    failed=1
fi
for program in valgrind strace; do scripts/program.sh "$program" || true; done
timed_suite instructions run_in_suites "$python" -m instructions --quick
for program in curl openssl pgrep nginx caddy redis-server; do scripts/program.sh "$program" || true; done
suite docs run_in_suites "$python" -m docs
for program in promtool systemd-analyze strip buildah mmdebstrap; do scripts/program.sh "$program" || true; done
if deploy_python=$(scripts/venv.sh deploy); then
    suite deploy run_in_suites "$deploy_python" -m deploy --quick
else
    add_to_summary deploy "NOT RUN: its Python packages are missing (see above)"
    failed=1
fi
timed_suite replicas run_in_suites "$python" -m replicas --quick
suite upgrade run_in_suites "$python" -m upgrade --quick
timed_suite soak run_in_suites "$python" -m soak --quick
timed_suite abuse run_in_suites "$python" -m abuse --quick
timed_suite chaos run_in_suites "$python" -m chaos --quick

echo
printf '%s\n' "${summary[@]}"
echo "test: $((SECONDS / 60)) min $((SECONDS % 60)) s"
exit "$failed"
