#!/bin/bash
# The guard of docs/scaling.md with the real program, as a user's CI runs it: a curve that holds, a NIC's
# latency that somebody changes in a copy of the catalogue, a change that is agreed on.
# Usage: guard_check.sh SOURCE FOLDER ORRERY
set -euo pipefail
source=$1 folder=$2 export_orrery=$3

fail() { echo "guard_check: $*" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder/jobs"
cd "$folder"
cp "$source/scenarios/mpt_13b_16xh100.textproto" jobs/my_job.textproto
cp "$source/hardware/h100_sxm.textproto" jobs/  # beside the job it wins over the catalogue's
export ORRERY=$export_orrery DEVICES=8,16,32
guard="sh $source/tests/scaling/guard.sh --set model.layers=2"

status=0; $guard >out 2>err || status=$?
[[ $status -eq 2 ]] || fail "without a baseline: status $status"
$guard --update >out 2>err || fail "--update: $(cat err)"
cp jobs/my_job.curve.json agreed.json
$guard >out || fail "does not hold: $(cat out)"
grep -q ': holds, 3 points' out || fail "no word that it holds"

# Of the NIC alone: the first latency behind "nic {".
sed -i '/^  nic {/,/^  }/ s/latency_ns: 600$/latency_ns: 600000/' jobs/h100_sxm.textproto
cmp -s jobs/h100_sxm.textproto "$source/hardware/h100_sxm.textproto" && fail "nothing was changed"
status=0; $guard >out 2>err || status=$?
[[ $status -eq 1 ]] || fail "a changed latency: status $status: $(cat out err)"
grep -q '^  hardware.node.nic.latency_ns: 600 -> 600000$' out || fail "the latency is not named: $(cat out)"
grep -q '^  point on 32 devices: .*; data +' out || fail "the cause is not named: $(cat out)"
grep -q '^  point on 8 devices: ' out && fail "one node has no NICs to wait for: $(cat out)"
cmp -s jobs/my_job.curve.json agreed.json || fail "the baseline changed without --update"

$guard --update >out 2>err || fail "--update: $(cat err)"
cmp -s jobs/my_job.curve.json agreed.json && fail "--update changed nothing"
$guard >out || fail "what was agreed on does not hold: $(cat out)"
ls jobs | grep -q partial && fail "a part of a file is left"
echo "guard_check: done"
