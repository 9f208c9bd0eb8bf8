#!/usr/bin/env bash
# A private PostgreSQL cluster on a free port of this machine.
#   postgresql.sh start DIR   makes a cluster in DIR (empty or absent), prints its address on the last line
#   postgresql.sh stop DIR    stops it
# Debian's package is installed when there is none. PostgreSQL refuses to run as root, so root hands
# the cluster to the account that the package made.
set -euo pipefail
what="$1"
data="$2"

find_programs() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

if [ -z "$(find_programs)" ]; then
  command -v apt-get >/dev/null || {
    echo "PostgreSQL is not installed, and this is no Debian: install its server" >&2
    exit 1
  }
  sudo="$([ "$(id -u)" = 0 ] || echo sudo)"
  # The package would start a cluster of its own.
  $sudo mkdir -p /etc/postgresql-common
  echo "create_main_cluster = false" | $sudo tee /etc/postgresql-common/createcluster.conf >/dev/null
  $sudo apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq postgresql >&2
fi
programs="$(find_programs)"

as_owner() {
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

case "$what" in
  start)
    mkdir -p "$data"
    if [ "$(id -u)" = 0 ]; then
      chown postgres "$data"
    fi
    port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
    as_owner "$programs/initdb" -D "$data/cluster" -U queue -A trust -E UTF8 --no-sync >&2
    as_owner "$programs/pg_ctl" -D "$data/cluster" -l "$data/log" -w -t 60 \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories=$data" start >&2
    echo "postgresql://queue@127.0.0.1:$port/postgres"
    ;;
  stop)
    as_owner "$programs/pg_ctl" -D "$data/cluster" -m immediate stop >&2
    ;;
  *)
    echo "usage: $0 start|stop DIR" >&2
    exit 2
    ;;
esac
