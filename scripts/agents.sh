#!/usr/bin/env bash
# Installs the coding agents pinned in suites/agents/package-lock.json into .cache/agents and prints the directory of
# their commands.
set -euo pipefail
cd "$(dirname "$0")/.."
pinned="suites/agents"
home="$PWD/.cache/agents"
stamp="$home/package-lock.installed"

if cmp -s "$pinned/package-lock.json" "$stamp"; then
    echo "$home/node_modules/.bin"
    exit 0
fi

have_node() { command -v node >/dev/null && command -v npm >/dev/null; }

if ! have_node && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "agents: installing nodejs and npm" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm; } >&2 || true
fi
if ! have_node; then
    echo "agents: Node.js with npm is missing. Install it with: sudo apt-get install nodejs npm" >&2
    exit 1
fi

echo "agents: installing $pinned/package-lock.json (about 1.5 GB on disk)" >&2
mkdir -p "$home"
rm -f "$stamp"
cp "$pinned/package.json" "$pinned/package-lock.json" "$home/"
# The agents are native programs: the Node version their packages require is only needed by their installers, which run
# here explicitly, because newer npm versions do not run them by default.
# `npm ci` rejects the lock file if a registry lacks an optional package of another platform; `npm install` keeps its
# versions.
if ! (cd "$home" && npm install --ignore-scripts --no-audit --no-fund --loglevel=error) >&2; then
    echo "agents: the packages could not be installed. Once the package registry can be reached, run: scripts/agents.sh" >&2
    exit 1
fi
(cd "$home/node_modules/@anthropic-ai/claude-code" && node install.cjs) >&2
(cd "$home/node_modules/opencode-ai" && node postinstall.mjs) >&2
for agent in claude codex opencode gemini qwen; do
    # Qwen Code requires Node 22 or newer: if the system's is older, the pinned one in .bin comes first.
    if ! HOME="$home" PATH="$home/node_modules/.bin:$PATH" "$home/node_modules/.bin/$agent" --version >/dev/null; then
        echo "agents: $agent was installed and does not start" >&2
        exit 1
    fi
done
cp "$pinned/package-lock.json" "$stamp"
echo "$home/node_modules/.bin"
