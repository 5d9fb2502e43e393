#!/usr/bin/env bash
# Builds the shipped binary, target/dist/gatehouse, with profile-guided optimisation: an instrumented build records a profile of
# typical load, and the shipped build is optimised with it.
#   --train   records a new profile; otherwise the last one is used until the toolchain, a Cargo.toml, Cargo.lock or this script
#             changes, and code that has changed since is optimised without a profile
#   --plain   without a profile: the Cargo profile `dist`, as in the Dockerfile. One build instead of two
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
cache="$PWD/.cache/pgo"
log="$cache/training.log"
# Suites that record the profile, with their arguments, besides the benchmark.
training=("soak --requests 6000" "spend --quick" "compat" "guardrails --quick" "resume --quick")
# Functions, by their mangled names, that this load does not reach but others do, such as TLS and HTTP/2 to providers. LLVM would
# take them for code that never runs, and optimise them for size.
without_profile='rustls|webpki|_ZN4ring|\$ring\.\.|ring_core|_ZN2h2|h2\.\.|sqlx_postgres|redis|argon2|jsonwebtoken|_ZN8identity'
without_profile+='|local_models|semantic_cache'

say() { echo "dist: $*" >&2; }

give_up() {
    say "$*"
    exit 1
}

train=
case ${1:-} in
    "") ;;
    --train) train=1 ;;
    --plain)
        cargo build --locked --profile dist
        exit
        ;;
    *)
        sed -n '2,/^set /p' scripts/dist.sh | sed '$d; s/^# \{0,1\}//' >&2
        exit 2
        ;;
esac

case "$PWD$target" in
    *[[:space:]]*) give_up "the flags of the compilers cannot name a directory with spaces. Move the checkout, or use --plain" ;;
esac
# SQLite and the allocator are C code: the clang of rustc's LLVM instruments and optimises them like the rest.
for program in "clang-$llvm" "llvm-profdata-$llvm"; do
    scripts/program.sh "$program" || give_up "it belongs to the LLVM of $(rustc --version). --plain builds without it"
done

# Builds the gateway as $1/dist/gatehouse, with flags for rustc ($2) and clang ($3), and further ones for the last crate, which are
# those of whole-program optimisation. Because the target is named, build scripts and macros are compiled without the flags.
build() {
    local underscored=${host//-/_}
    env -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR="$1" RUSTFLAGS="$2" "CC_$underscored=clang-$llvm" "CFLAGS_$underscored=$3" \
        cargo rustc --locked --profile pgo --target "$host" -p gatehouse --bin gatehouse -- "${@:4}"
    mkdir -p "$1/dist"
    cp "$1/$host/pgo/gatehouse" "$1/dist/gatehouse.new"
    mv "$1/dist/gatehouse.new" "$1/dist/gatehouse"
}

merge() { "llvm-profdata-$llvm" merge --failure-mode=all "$@"; }

# Collects what the instrumented processes have recorded since the last time as $1.
collect() {
    compgen -G "$cache/raw/*.profraw" >/dev/null || give_up "$1 recorded no profile, see $log"
    merge -o "$cache/raw/$1.profdata" "$cache"/raw/*.profraw
    rm "$cache"/raw/*.profraw
}

# Runs the instrumented build $1 under typical load.
run_training() {
    local gatehouse=$1 python=$2 suite
    cargo build --locked --profile quick -p testkit --bins
    cp "$target/quick/scripted-upstream" "$(dirname "$gatehouse")/"
    say "training: benchmark"
    "$gatehouse" bench --rounds 1 --seconds 1.5 >"$log" 2>&1 || give_up "the benchmark failed, see $log"
    collect benchmark
    for suite in "${training[@]}"; do
        say "training: suite $suite"
        # shellcheck disable=SC2086 # a suite with its arguments
        (cd suites && GATEHOUSE_BIN="$gatehouse" "$python" -m $suite) >>"$log" 2>&1 \
            || say "checks failed, which a slow instrumented build explains; see $log"
        collect "${suite%% *}"
    done
}

# Records a profile and writes it to $1.
record_profile() {
    local python suite weighted=()
    python=$(scripts/venv.sh)
    rm -rf "$cache/raw"
    mkdir -p "$cache/raw"
    say "building the instrumented gateway, the first of two builds"
    build "$target/pgo" "-Cprofile-generate=$cache/raw" "-fprofile-generate=$cache/raw"
    run_training "$target/pgo/dist/gatehouse" "$python"
    # The benchmark makes far more calls than the suites, beside which everything else would look cold.
    for suite in "${training[@]}"; do weighted+=("--weighted-input=4,$cache/raw/${suite%% *}.profdata"); done
    merge --no-function="$without_profile" -o "$1" "--weighted-input=1,$cache/raw/benchmark.profdata" "${weighted[@]}"
    rm -rf "$cache/raw" "$target/pgo"
}

# Prints the path of the profile. Its name has a hash of its contents, by which Cargo sees that it is another one.
find_profile() {
    local key profile
    key=$({ rustc -vV; cat Cargo.lock Cargo.toml .cargo/config.toml crates/*/Cargo.toml scripts/dist.sh; } | sha256sum | cut -c1-16)
    if [ -z "$train" ] && profile=$(compgen -G "$cache/$key-*.profdata" | head -n 1); then
        say "using the profile $profile; --train records a new one"
        echo "$profile"
        return
    fi
    record_profile "$cache/new" >&2
    rm -f "$cache"/*.profdata
    profile="$cache/$key-$(sha256sum <"$cache/new" | cut -c1-16).profdata"
    mv "$cache/new" "$profile"
    echo "$profile"
}

profile=$(find_profile)
say "building the shipped gateway"
# Whole-program optimisation has level 2: with "s", the level of the Cargo profile, calls take an eighth more CPU time. In code that is
# not hot, few calls are inlined, and C code, through which nothing unwinds, has no unwind tables: a smaller binary.
# On the target whose default linker is rust-lld, functions that seldom run are apart from those that often do, one of several
# functions with the same code is kept, and relocations are packed, which glibc reads from 2.36 on.
last=(-Copt-level=2 -Cllvm-args=-inline-threshold=20 -Cllvm-args=-inlinehint-threshold=20)
if [ "$host" = x86_64-unknown-linux-gnu ]; then
    last+=(-Clink-arg=-Wl,-z,keep-text-section-prefix -Clink-arg=-Wl,--icf=all -Clink-arg=-Wl,-z,pack-relative-relocs)
fi
clang_flags="-fprofile-use=$profile -Wno-profile-instr-unprofiled -Wno-profile-instr-out-of-date -Wno-backend-plugin"
clang_flags+=" -fno-asynchronous-unwind-tables"
build "$target" "-Cprofile-use=$profile -Cllvm-args=-inline-cold-callsite-threshold=5" "$clang_flags" "${last[@]}"
size=$(stat -c %s "$target/dist/gatehouse")
say "$target/dist/gatehouse has $size bytes"
# The more code a profile calls hot, the larger the binary.
[ "$size" -le 30000000 ] || say "these are more than 30 MB, the most that the image allows; --train records another profile"
