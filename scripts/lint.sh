#!/usr/bin/env bash
# Checks formatting, lints and dependency rules. Only cargo-deny (scripts/deny.sh) and the packages of the dashboard
# (scripts/dashboard.sh) are installed for it.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in fmt clippy; do
    if ! cargo "$tool" --version >/dev/null 2>&1; then
        echo "lint: 'cargo $tool' is missing. Install it with: rustup component add rustfmt clippy" >&2
        exit 1
    fi
done

echo "lint: cargo fmt"
cargo fmt --all --check
echo "lint: cargo clippy"
cargo clippy --workspace --all-targets --features store/generate --locked -- -D warnings
echo "lint: cargo deny"
scripts/deny.sh

echo "lint: shell syntax"
for script in .ci/run scripts/*.sh; do
    bash -n "$script"
done

echo "lint: dashboard"
scripts/dashboard.sh lint

if command -v python3 >/dev/null; then
    echo "lint: Python syntax"
    python3 - <<'PYTHON'
import ast, pathlib, sys

faults = 0
for path in sorted(pathlib.Path("suites").rglob("*.py")):
    try:
        ast.parse(path.read_text(), str(path))
    except SyntaxError as fault:
        faults += 1
        print(f"{path}:{fault.lineno}: {fault.msg}", file=sys.stderr)
sys.exit(1 if faults else 0)
PYTHON
else
    echo "lint: python3 is missing, so the suites' syntax was NOT checked"
fi
echo "lint: clean"
