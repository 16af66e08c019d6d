#!/bin/sh
# Opens a trace in speedscope in headless Chromium.
#
#   speedscope_check.sh FOLDER WORK ORRERY
#
# FOLDER holds this test, WORK is where packages and pictures go, ORRERY is the
# program: it traces two short steps of a pipeline of four stages, one rank of
# each, as trace events, in speedscope's own format, and part of a step in both.
# Exit 77: a program is missing here.
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

job="llama_70b_64xh800_a --set steps=2 --set batch.global=12 --set batch.accumulation=6"
check() { CHROMIUM=$chromium node "$work/speedscope_check.mjs" "$work/$1" "$work/$1.png"; }

# shellcheck disable=SC2086  # the job is several words
"$orrery" run $job --trace "$work/trace.json" --trace-ranks 0,16,32,48 >/dev/null 2>&1
check trace.json
for trace in trace.json.gz trace.speedscope.json; do
  # shellcheck disable=SC2086
  "$orrery" timeline $job -o "$work/$trace" --ranks stages --quiet >/dev/null
  check "$trace"
done
for part in part.json part.speedscope.json.gz; do
  # shellcheck disable=SC2086
  "$orrery" timeline $job -o "$work/$part" --ranks 0 --window 0.9s..1.1s --min 10us --quiet >/dev/null
  check "$part"
done
