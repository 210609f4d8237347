#!/usr/bin/env bash
# `npm run release`: publishes the version of package.json, in a job of GitHub Actions or GitLab, which can sign its
# provenance. With `-- --dry-run` it changes nothing: it checks what it can, and prints the commands that it would run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { printf 'release: %s\n' "$*" >&2; exit 1; }

case "$*" in
  '') run() { printf '+ %s\n' "$*" >&2; "$@"; } ;;
  --dry-run) run() { printf 'would run: %s\n' "$*"; } ;;
  *) fail 'usage: npm run release [-- --dry-run]' ;;
esac

version=$(node -p 'require("./package.json").version')
tag="v$version"
# Prints the entries under a heading of the changelog, without empty lines and subheadings.
notes() {
  awk -v heading="## [$1]" 'index($0, "## ") == 1 { within = index($0, heading) == 1; next } within && /[^[:space:]]/ && !/^#/' CHANGELOG.md
}

[[ -z $(git status --porcelain) ]] || fail 'the working tree is not clean: commit or stash first'
! git rev-parse --quiet --verify "refs/tags/$tag" >/dev/null || fail "$tag is already released: raise the version in package.json"
[[ -n $(notes "$version") ]] || fail "CHANGELOG.md says nothing under \"## [$version]\", the version of package.json"
[[ -z $(notes Unreleased) ]] || fail "CHANGELOG.md has changes under \"## [Unreleased]\": give them a version"

[[ -n $(node -p 'require("./package.json").repository ?? ""') ]] ||
  fail 'package.json names no "repository": npm checks it against the one that signs the packages'

bash scripts/images.sh --check || fail 'an image in docker/ is not pinned to a digest'

run node scripts/audit.js
run .ci/run
run .ci/nightly
run npm run packages -- --nats-releases https://github.com/nats-io/nats-server/releases/download
# Publish dependencies first.
for file in dist/packages/stopgate-nats-server-*.tgz dist/packages/stopgate-client-"$version".tgz dist/packages/stopgate-"$version".tgz; do
  id=${file#dist/packages/stopgate-}
  id=${id%.tgz}
  if [[ $id == nats-server-* ]]; then
    # Several of our releases use the same release of NATS.
    [[ -z $(npm view "@stopgate/${id%-*}@${id##*-}" version 2>/dev/null) ]] || continue
  else
    run npx --yes @arethetypeswrong/cli@0.18.5 --profile esm-only "$file"
  fi
  run npm publish --provenance --access public "$file"
done
run git tag --annotate "$tag" --message "$tag"
run git push origin "$tag"
