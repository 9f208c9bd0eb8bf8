#!/usr/bin/env bash
# Install the browser and its driver that the page's end-to-end tests use, where they are absent.
set -euo pipefail
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
  exit 0
fi
command -v apt-get >/dev/null || {
  echo "make e2e needs chromium and chromedriver on the PATH" >&2
  exit 1
}
run=()
[ "$(id -u)" = 0 ] || run=(sudo)
"${run[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends \
  chromium chromium-driver fonts-dejavu-core >/dev/null
