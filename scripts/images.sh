#!/usr/bin/env bash
# `npm run images`: pins each image in docker/ to the digest that its tag has today, which docker looks up. With
# `-- --check` it only lists images without a digest. A release refuses them, since a tag may move to another image.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files=(docker/Dockerfile docker/compose.yaml docker/cluster/compose.yaml)

images() { sed -nE 's/^(ARG (BASE|NATS)_IMAGE=| *image: )([^ ]+).*/\3/p' "${files[@]}" | sort -u; }

case "$*" in
  --check)
    unpinned=$(images | grep -vE '@sha256:[0-9a-f]{64}$' || true)
    [[ -z $unpinned ]] && exit 0
    printf 'images: without a digest: %s; run "npm run images" where docker is installed, and commit\n' "${unpinned//$'\n'/, }" >&2
    exit 1
    ;;
  '')
    for image in $(images); do
      tag=${image%@*}
      digest=$(docker buildx imagetools inspect "$tag" --format '{{.Manifest.Digest}}')
      [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { printf 'images: docker found no digest of %s\n' "$tag" >&2; exit 1; }
      sed -i.old -E "s#^(ARG (BASE|NATS)_IMAGE=| *image: )${image}( |\$)#\\1${tag}@${digest}\\3#" "${files[@]}"
      rm -f "${files[@]/%/.old}"
    done
    ;;
  *) printf 'usage: npm run images [-- --check]\n' >&2 && exit 1 ;;
esac
