#!/usr/bin/env bash
# Prepares a clone: dependencies, nats-server, build. npm runs it before `start` and `test`.
# Silent if there is nothing to do; otherwise prints one line on stderr before each long step.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'stopgate: %s\n' "$*" >&2; }

# With `npm start` in two terminals of a new clone, the second waits for the first and then finds everything done.
# The lock is a link named after the process id, which is created atomically.
lock=.setup.lock
take_lock() {
  local holder told=''
  until ln -s "$$" "$lock" 2>/dev/null; do
    holder=$(readlink "$lock" || true)
    if [[ -n $holder ]] && ! kill -0 "$holder" 2>/dev/null; then
      rm -f "$lock" # its process was killed
      continue
    fi
    [[ -n $told ]] || say "another set-up of this clone is running (process $holder); waiting for it"
    told=yes
    sleep 0.5
  done
  trap 'rm -f "$lock"' EXIT
}

lacks_dependencies() { [[ ! -e node_modules/.package-lock.json || package-lock.json -nt node_modules/.package-lock.json ]]; }
# dist/.built has the time at which the last good build started, so an edit made during a build is not missed.
# Folders count too, since deleting a source changes the time of its folder.
lacks_build() {
  [[ ! -e dist/.built || -n "$(find machines src package.json package-lock.json tsconfig.json -newer dist/.built)" ]]
}

node bin/require-node.js
if lacks_dependencies || lacks_build; then take_lock; fi

if lacks_dependencies; then
  say 'installing dependencies (npm ci)'
  # --include=dev: the build needs TypeScript even with NODE_ENV=production.
  npm ci --include=dev --no-audit --no-fund --loglevel=error >/dev/null
fi

bash docker/install-nats.sh

if lacks_build; then
  say 'building (npm run build)'
  npm run --silent build >&2
fi
