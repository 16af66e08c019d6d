#!/bin/sh
# Opens a trace in speedscope in headless Chromium.
#
#   speedscope_check.sh FOLDER WORK ORRERY
#
# FOLDER holds this test, WORK is where packages and pictures go, ORRERY is the
# program: it traces two short steps of a pipeline of four stages, one rank of
# each. Exit 77: a program is missing here.
set -eu
folder=$1 work=$2 orrery=$3
chromium=${CHROMIUM:-/usr/bin/chromium}

for program in node npm "$chromium"; do
  if ! command -v "$program" >/dev/null 2>&1; then
    echo "skipped: the browser test needs $program; on Debian: apt-get install nodejs npm chromium"
    exit 77
  fi
done

mkdir -p "$work"
cp "$folder/package.json" "$folder/package-lock.json" "$folder/speedscope_check.mjs" "$work"
if ! cmp -s "$work/package-lock.json" "$work/installed-lock.json"; then
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  cp "$work/package-lock.json" "$work/installed-lock.json"
fi

for trace in trace.json trace.json.gz; do
  "$orrery" run llama_70b_64xh800_a --set steps=2 --set batch.global=12 --set batch.accumulation=6 \
    --trace "$work/$trace" --trace-ranks 0,16,32,48 >/dev/null 2>&1
  CHROMIUM=$chromium node "$work/speedscope_check.mjs" "$work/$trace" "$work/$trace.png"
done
