#!/usr/bin/env bash
# Builds what is shipped into target/release-VERSION: the binary (scripts/dist.sh), the files of deploy/, software bills of
# materials in CycloneDX, and SHA-256 checksums of all of them.
#   --binary-only   only target/dist/gatehouse, with the profile of an earlier build if there is one (scripts/dist.sh)
set -euo pipefail
cd "$(dirname "$0")/.."
cyclonedx_version=0.5.9
target="${CARGO_TARGET_DIR:-$PWD/target}"
tools="$PWD/.cache/tools"
commit_time=$(git log -1 --format=%ct)

say() { echo "release: $*" >&2; }

# Prints the path of cargo-cyclonedx. Without one on the PATH, it is built into .cache/tools, unoptimised: it runs for a second.
find_cyclonedx() {
    local fits
    for fits in "$(command -v cargo-cyclonedx || true)" "$tools/bin/cargo-cyclonedx"; do
        if [ -x "$fits" ] && "$fits" cyclonedx --version 2>/dev/null | grep -q " ${cyclonedx_version%.*}\."; then
            echo "$fits"
            return
        fi
    done
    say "building cargo-cyclonedx $cyclonedx_version into .cache/tools, once; it takes two to three minutes on two cores"
    CARGO_TARGET_DIR="$tools/target" CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 \
        cargo install --quiet --locked --debug --force --root "$tools" --version "$cyclonedx_version" cargo-cyclonedx >&2
    rm -rf "$tools/target"
    echo "$tools/bin/cargo-cyclonedx"
}

# The crates in the binary. cargo-cyclonedx writes a file beside the manifest of every crate of the workspace.
list_crates() {
    local cyclonedx name=release-sbom
    cyclonedx=$(find_cyclonedx)
    SOURCE_DATE_EPOCH=$commit_time "$cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --target "$(rustc -vV | sed -n 's/^host: //p')" \
        --override-filename "$name" --manifest-path crates/gatehouse/Cargo.toml
    sed "s#file://$PWD/#file:///#g" "crates/gatehouse/$name.json" >"$1"
    rm -f crates/*/"$name.json"
}

# The packages in the dashboard, which is part of the binary.
list_packages() {
    local node
    node=$(scripts/node.sh)
    (cd dashboard && PATH="$node:$PATH" npm sbom --sbom-format=cyclonedx --sbom-type=application --omit=dev --package-lock-only) >"$1"
}

scripts/dashboard.sh build
if [ "${1:-}" = --binary-only ]; then
    exec scripts/dist.sh
fi
scripts/dist.sh --train

version=$("$target/dist/gatehouse" --version | awk '{ print $2 }')
directory="$target/release-$version"
rm -rf "$directory"
mkdir -p "$directory"
cp "$target/dist/gatehouse" "$directory/gatehouse-$version-$(rustc -vV | sed -n 's/^host: //p')"
# Sorted and without times, so that two builds of one commit have the same archive.
tar --sort=name --mtime="@$commit_time" --owner=0 --group=0 --numeric-owner -cf - deploy LICENSE CHANGELOG.md |
    gzip -n >"$directory/gatehouse-$version-deploy.tar.gz"
list_crates "$directory/gatehouse-$version.cdx.json"
list_packages "$directory/gatehouse-$version-dashboard.cdx.json"
(cd "$directory" && sha256sum -- gatehouse-* >SHA256SUMS)
say "the files of version $version are in $directory:"
(cd "$directory" && ls -l >&2)
