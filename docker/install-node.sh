#!/usr/bin/env bash
# Puts the newest release of a Node version into a folder as `node`, without touching the installed one: `install-node.sh
# VERSION FOLDER`, e.g. `install-node.sh 24 FOLDER`. Downloads from npm's registry. If that fails, says why and exits 1.
set -euo pipefail

say() { printf 'stopgate: %s\n' "$*" >&2; }
version=${1:?usage: install-node.sh VERSION FOLDER}
mkdir -p "${2:?usage: install-node.sh VERSION FOLDER}"
folder=$(cd "$2" && pwd)
[[ -x $folder/node ]] && exit 0

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) system=$(uname -s) ;;
esac
case $(uname -m) in
x86_64) machine=x64 ;;
aarch64) machine=arm64 ;;
*) machine=$(uname -m) ;;
esac
package=node-$system-$machine
say "installing Node $version into $folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if npm install --prefix "$work" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$package@$version" >&2 &&
  "$work/node_modules/$package/bin/node" --version >&2; then
  mv "$work/node_modules/$package/bin/node" "$folder/node"
else
  say "Node $version could not be installed: npm's registry has no $package@$version for this machine"
  exit 1
fi
