#!/bin/sh
# A private PostgreSQL for tests: scripts/postgres.sh start|stop|url [directory]
# `start` prints its URL. It listens on 127.0.0.1 only, on a free port, and is not durable: fsync is off.
set -eu

verb=${1:-}
root=$(cd "$(dirname "$0")/.." && pwd)
user=gatehouse

say() { printf '%s\n' "$*" >&2; }

# Those in POSTGRES_BINARIES, else the newest Debian version, else the one on the PATH.
find_binaries() {
    for candidate in ${POSTGRES_BINARIES:-} $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) "$(dirname "$(command -v postgres || echo /nowhere/x)")"; do
        if [ -x "$candidate/initdb" ] && [ -x "$candidate/pg_ctl" ]; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

install_binaries() {
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "PostgreSQL 15 or later is missing. Install it with:"
        say "    sudo apt-get update && sudo apt-get install -y --no-install-recommends postgresql"
        exit 1
    fi
    say "Installing PostgreSQL ..."
    # Prevents Debian from starting its own cluster.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] ||
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql) >&2
}

# initdb and postgres refuse to run as root.
owner() {
    if [ "$(id -u)" -ne 0 ]; then id -un
    elif getent passwd postgres >/dev/null; then echo postgres
    else echo nobody; fi
}

# The server's user must be able to traverse the parent directories, which root's home does not allow.
as_other() { setpriv --reuid="$(owner)" --regid="$(id -g "$(owner)")" --clear-groups "$@"; }

default_directory() {
    if [ "$(id -u)" -ne 0 ] || as_other test -x "$root"; then echo "$root/.cache/postgres"
    else echo "/tmp/gatehouse-postgres-$(echo "$root" | cksum | cut -d' ' -f1)"; fi
}

as_owner() {
    if [ "$(id -u)" -ne 0 ]; then (cd "$directory" && "$@")
    else (cd "$directory" && as_other "$@"); fi
}

reachable() { as_owner test -w "$directory" 2>/dev/null; }

free_port() {
    port=$((20000 + $$ % 20000))
    while grep -qi ":$(printf '%04X' "$port") " /proc/net/tcp 2>/dev/null; do
        port=$((port + 1))
    done
    echo "$port"
}

running() { [ -f "$directory/url" ] && [ -f "$directory/data/postmaster.pid" ] && as_owner "$binaries/pg_ctl" -D "$directory/data" status >/dev/null 2>&1; }

start() {
    binaries=$(find_binaries) || { install_binaries; binaries=$(find_binaries) || { say "PostgreSQL is still missing."; exit 1; }; }
    mkdir -p "$directory"
    # Serialises concurrent callers.
    exec 9>"$directory/.start.lock"
    flock 9
    if [ "$(id -u)" -eq 0 ]; then chown "$(owner)" "$directory"; fi
    if ! reachable; then
        say "The user $(owner), as whom PostgreSQL must run, cannot reach $directory: name another directory as second argument."
        exit 1
    fi
    if running; then cat "$directory/url"; return; fi
    if [ ! -f "$directory/data/PG_VERSION" ]; then
        rm -rf "$directory/data"
        as_owner "$binaries/initdb" -D "$directory/data" -U "$user" -A trust -E UTF8 --locale=C.UTF-8 --no-sync 9>&- >"$directory/initdb.log" 2>&1 ||
            { cat "$directory/initdb.log" >&2; exit 1; }
    fi
    port=$(free_port)
    # No socket directory: its path could be too long, and it is not used.
    as_owner "$binaries/pg_ctl" -D "$directory/data" -l "$directory/data/server.log" -w -t 60 \
        -o "-p $port -h 127.0.0.1 -c unix_socket_directories='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400 -c shared_buffers=64MB" \
        start 9>&- >"$directory/start.log" 2>&1 ||
        { cat "$directory/start.log" "$directory/data/server.log" >&2; exit 1; }
    echo "postgres://$user@127.0.0.1:$port/postgres" >"$directory/url"
    cat "$directory/url"
}

stop() {
    binaries=$(find_binaries) || return 0
    if [ -d "$directory/data" ] && running; then
        as_owner "$binaries/pg_ctl" -D "$directory/data" -m immediate -w stop >/dev/null 2>&1 || true
    fi
    rm -f "$directory/url"
}

directory=${2:-$(default_directory)}
case "$verb" in
start) start ;;
stop) stop ;;
url)
    binaries=$(find_binaries) || { say "PostgreSQL is missing: run $0 start"; exit 1; }
    if running; then cat "$directory/url"; else say "PostgreSQL is not running: run $0 start"; exit 1; fi
    ;;
*)
    say "usage: $0 start|stop|url [directory]"
    exit 2
    ;;
esac
