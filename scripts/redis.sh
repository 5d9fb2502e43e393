#!/bin/sh
# A private Redis for tests: scripts/redis.sh start|stop|url [directory]
# `start` prints its URL as the last line. It listens on 127.0.0.1 only, on a free port, and keeps nothing on disk.
set -eu

verb=${1:-}
root=$(cd "$(dirname "$0")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

install_server() {
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "redis-server 6.2 or later is missing. Install it with:"
        say "    sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server"
        exit 1
    fi
    say "Installing redis-server ..."
    # Prevents Debian from starting its own server, if nothing else has decided about that.
    made=
    if [ ! -e /usr/sbin/policy-rc.d ]; then
        printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
        chmod +x /usr/sbin/policy-rc.d
        made=1
    fi
    status=0
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server) >&2 || status=$?
    [ -z "$made" ] || rm -f /usr/sbin/policy-rc.d
    [ "$status" = 0 ] || exit "$status"
}

free_port() {
    port=$((20000 + ($$ + 7000) % 20000))
    while grep -qi ":$(printf '%04X' "$port") " /proc/net/tcp 2>/dev/null; do
        port=$((port + 1))
    done
    echo "$port"
}

running() { [ -f "$directory/url" ] && [ -f "$directory/redis.pid" ] && kill -0 "$(cat "$directory/redis.pid")" 2>/dev/null; }

start() {
    command -v redis-server >/dev/null || install_server
    mkdir -p "$directory"
    # Serialises concurrent callers.
    exec 9>"$directory/.start.lock"
    flock 9
    if running; then cat "$directory/url"; return; fi
    rm -f "$directory/redis.pid"
    port=$(free_port)
    redis-server --bind 127.0.0.1 --port "$port" --save '' --appendonly no --daemonize yes --dir "$directory" \
        --pidfile "$directory/redis.pid" --logfile "$directory/redis.log" 9>&- >"$directory/start.log" 2>&1 ||
        { cat "$directory/start.log" >&2; exit 1; }
    for _ in $(seq 100); do
        if [ "$(redis-cli -p "$port" ping 2>/dev/null)" = PONG ]; then
            echo "redis://127.0.0.1:$port/0" >"$directory/url"
            cat "$directory/url"
            return
        fi
        sleep 0.05
    done
    cat "$directory/redis.log" >&2
    say "Redis does not answer on port $port."
    exit 1
}

stop() {
    if running; then
        # A server that is stopped by SIGSTOP would not end otherwise.
        kill -CONT "$(cat "$directory/redis.pid")" 2>/dev/null || true
        kill "$(cat "$directory/redis.pid")" 2>/dev/null || true
    fi
    rm -f "$directory/url"
}

directory=${2:-$root/.cache/redis}
case "$verb" in
start) start ;;
stop) stop ;;
url) if running; then cat "$directory/url"; else say "Redis is not running: run $0 start"; exit 1; fi ;;
*)
    say "usage: $0 start|stop|url [directory]"
    exit 2
    ;;
esac
