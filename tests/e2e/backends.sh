#!/usr/bin/env bash
# Build the real backends that the end-to-end tests talk to, into a cache outside the tree.
# Prints the cache folder on its last line. A second run finds everything there.
set -euo pipefail
cache="${SPANWITNESS_BACKENDS:-${XDG_CACHE_HOME:-$HOME/.cache}/spanwitness-backends}"
jaeger_version=v1.76.0
mkdir -p "$cache"

if [ ! -x "$cache/jaeger-$jaeger_version" ]; then
  command -v go >/dev/null || {
    echo "make e2e builds Jaeger with Go 1.25 or newer, and 'go' is not on the PATH" >&2
    exit 1
  }
  # A module of our own around Jaeger's command: 'go install' refuses modules with replace directives.
  build="$(mktemp -d)"
  trap 'rm -rf "$build"' EXIT
  cat >"$build/go.mod" <<EOF
module example.invalid/backends

go 1.25.0

tool github.com/jaegertracing/jaeger/cmd/jaeger

require github.com/jaegertracing/jaeger $jaeger_version

replace github.com/Shopify/sarama => github.com/Shopify/sarama v1.33.0
EOF
  (
    cd "$build"
    go mod tidy -e >tidy.log 2>&1 || true
    go build -o "$cache/jaeger-$jaeger_version.part" github.com/jaegertracing/jaeger/cmd/jaeger || {
      tail -n 20 tidy.log >&2
      exit 1
    }
  )
  mv "$cache/jaeger-$jaeger_version.part" "$cache/jaeger-$jaeger_version"
fi
ln -sf "jaeger-$jaeger_version" "$cache/jaeger"
echo "$cache"
