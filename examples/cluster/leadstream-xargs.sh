#!/bin/sh
# Shares a run among processes of one machine: sh leadstream-xargs.sh leads.yaml
# No more than PARALLEL shards may run at a time: each takes that part of the rate that the file allows.
set -eu
FILE=$1 WORK=${WORK:-work} SHARDS=${SHARDS:-8} PARALLEL=${PARALLEL:-4}

# Runs a command up to five times. 69 (service) and 75 (try again) pass, as what a signal ended; others need a person.
again() {
  for pause in 10 30 60 120 0; do
    code=0 && "$@" || code=$?
    case $code in 0 | 1 | 2 | 65 | 77 | 78) return $code ;; esac
    sleep "$pause"
  done
  return $code
}

# xargs starts itself through this file. After 255 it starts no further shard.
if [ -n "${PLAN:-}" ]; then
  again leadstream shard "$FILE" "$PLAN" "$2" || exit 255
  exit
fi

PLAN=$(again leadstream plan "$FILE" --shards "$SHARDS" --parallel "$PARALLEL" --work "$WORK")
export PLAN
seq 0 $((SHARDS - 1)) | xargs -P "$PARALLEL" -n 1 sh "$0" "$FILE"
again leadstream commit "$FILE" "$PLAN"
