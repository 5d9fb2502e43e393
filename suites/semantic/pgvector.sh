#!/usr/bin/env bash
# Tests of the semantic cache on the PostgreSQL with pgvector of the Python package pgserver.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=$(scripts/venv.sh semantic)
packages=$("$python" -c 'import pathlib, pgserver; print(pathlib.Path(pgserver.__file__).parent.parent)')
directory=$(mktemp -d)
# PostgreSQL runs as another user if this one is root, and that user may not be able to reach the packages.
chmod 755 "$directory"
cp -r "$packages/pgserver" "$packages/pgserver.libs" "$directory"
export POSTGRES_BINARIES="$directory/pgserver/pginstall/bin"
stop() {
    scripts/postgres.sh stop "$directory/postgres" || true
    rm -rf "$directory"
}
trap stop EXIT
# The server inherits open files: its output must not be a pipe.
scripts/postgres.sh start "$directory/postgres" >"$directory/url"
GATEHOUSE_TEST_POSTGRES_URL=$(tail -n 1 "$directory/url")
export GATEHOUSE_TEST_POSTGRES_URL
cargo test --locked -p store --lib semantic_entries -- --include-ignored
cargo test --locked -p server --features store/generate --test api v1::semantic_cache::pgvector -- --include-ignored
