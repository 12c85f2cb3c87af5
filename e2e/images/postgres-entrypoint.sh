#!/bin/sh
# Makes the database where there is none yet, and becomes the server.
set -eu
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
cluster=$PGDATA/cluster

if [ ! -d "$cluster" ]; then
  password=${POSTGRES_PASSWORD:-}
  [ -z "${POSTGRES_PASSWORD_FILE:-}" ] || password=$(cat "$POSTGRES_PASSWORD_FILE")
  if [ -z "$password" ]; then
    echo "a new database needs POSTGRES_PASSWORD_FILE or POSTGRES_PASSWORD" >&2
    exit 1
  fi
  # It gets its name when it is complete, so an interrupted start begins anew.
  rm -rf "$cluster.new"
  printf '%s' "$password" |
    initdb --pgdata="$cluster.new" --username="$user" --pwfile=/dev/stdin --encoding=UTF8 --locale=C.UTF-8 \
      --auth=scram-sha-256 --data-checksums >/dev/null
  echo "host all all all scram-sha-256" >>"$cluster.new/pg_hba.conf"
  if [ "$database" != postgres ]; then
    printf 'CREATE DATABASE "%s";\n' "$database" | postgres --single -D "$cluster.new" postgres >/dev/null
  fi
  mv "$cluster.new" "$cluster"
fi
if [ "${1:-}" = postgres ]; then
  shift
  exec postgres -D "$cluster" -c listen_addresses='*' "$@"
fi
exec "$@"
