#!/usr/bin/env bash
# Creates .cache/venv with the pinned packages of suites/requirements.txt and prints the path of its Python. With the name
# of a suite, the packages of its own requirements.txt are added, in .cache/venv-NAME.
set -euo pipefail
cd "$(dirname "$0")/.."
venv="$PWD/.cache/venv${1:+-$1}"
stamp="$venv/requirements.installed"
files=(suites/requirements.txt ${1:+"suites/$1/requirements.txt"})

if [ -x "$venv/bin/python" ] && cat "${files[@]}" | cmp -s - "$stamp"; then
    echo "$venv/bin/python"
    exit 0
fi

can_make_venv() { python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; }

if ! can_make_venv && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "venv: installing python3-venv" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv; } >&2 || true
fi
if ! can_make_venv; then
    echo "venv: Python 3.10 or newer with the venv module is missing." >&2
    echo "venv: install it with: sudo apt-get install python3 python3-venv" >&2
    exit 1
fi

mkdir -p .cache
echo "venv: installing ${files[*]}" >&2
python3 -m venv --clear "$venv" >&2
if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${files[@]/#/-r}" >&2; then
    echo "venv: the Python packages could not be installed. Once the package index can be reached, run:" >&2
    echo "venv:   $venv/bin/python -m pip install ${files[*]/#/-r}" >&2
    exit 1
fi
cat "${files[@]}" >"$stamp"
echo "$venv/bin/python"
