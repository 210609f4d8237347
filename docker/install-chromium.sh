#!/usr/bin/env bash
# Installs Chromium with apt for the tests of the inspector's page, unless there is one. If that fails, prints one line and
# exits 0; those tests are then skipped with a message.
set -euo pipefail

say() { printf 'stopgate: %s\n' "$*" >&2; }
without() {
  say "$1; tests in a browser are left out (CHROMIUM=/path/to/chromium names one)"
  exit 0
}

[[ -n "${CHROMIUM:-}" && -x "$CHROMIUM" ]] && exit 0
[[ -x /usr/bin/chromium ]] && exit 0
command -v apt-get >/dev/null || without 'there is no Chromium here'

as_root() { if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi; }
[[ $EUID -eq 0 ]] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; } ||
  without 'Chromium is missing, and installing it takes root'

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 chromium </dev/null
}

say 'installing Chromium for the tests (apt-get)'
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# Package lists may be missing or outdated, so try again after an update.
if ! apt_install >"$out" 2>&1 && ! { as_root apt-get update -qq && apt_install; } >"$out" 2>&1; then
  without 'apt-get could not install Chromium'
fi
[[ -x /usr/bin/chromium ]] || without 'Chromium was installed, but there is no /usr/bin/chromium'
