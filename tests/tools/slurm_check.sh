#!/bin/bash
# orrery sweep --engine slurm against a real slurmctld, slurmd and munged of its own, on loopback.
#
#   slurm_check.sh FOLDER PROGRAM
#
# Status 77, with the reason, where that cannot be: ctest takes it for skipped. Under .ci/run (ORRERY_CI) that
# is a failure, so that the test cannot go missing there.
set -euo pipefail

folder=$1
orrery=$2

skip() {
  echo "slurm_check: skipped: $*" >&2
  [[ -z ${ORRERY_CI:-} ]] || { echo "slurm_check: in CI it has to run" >&2; exit 1; }
  exit 77
}
fail() {
  echo "slurm_check: $*" >&2
  tail -n 20 "$folder"/*.log "$folder"/*.slurm/*.log >&2 2>/dev/null || true
  exit 1
}

export PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd munged sbatch squeue scontrol; do
  command -v "$program" >/dev/null || skip "no $program here; tools/setup slurm installs it"
done
[[ $(id -u) -eq 0 ]] || skip "slurmd and munged of its own need root"

rm -rf -- "$folder"
mkdir -p -- "$folder"/{state,spool}
cd -- "$folder"
host=$(uname -n)
host=${host%%.*}
controller=$((20000 + $$ % 20000))  # ports that two builds side by side do not share

# Munge with a key and a socket of its own; it insists on folders that nobody else can write to.
private=$(mktemp -d /run/orrery-munge.XXXXXX)
chown munge: "$private"
chmod 755 "$private"
head -c 128 /dev/urandom >"$private/key"
chown munge: "$private/key"
chmod 400 "$private/key"

cat >slurm.conf <<CONF
ClusterName=orrery
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmdPort=$((controller + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$private/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,defer_batch,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
MinJobAge=2
KillWait=1
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf

children=()
stop() {
  local status=$?
  scancel --quiet --user=root >/dev/null 2>&1 || true
  for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf -- "$private"
  exit "$status"
}
trap stop EXIT

setpriv --reuid=munge --regid=munge --clear-groups munged --foreground --force --socket="$private/socket" \
  --key-file="$private/key" --pid-file="$private/pid" --log-file="$private/log" --seed-file="$private/seed" \
  >munged.log 2>&1 &
children+=($!)
slurmctld -D -f slurm.conf >slurmctld.out.log 2>&1 &
children+=($!)
slurmd -D -f slurm.conf -N "$host" >slurmd.out.log 2>&1 &
children+=($!)
for ((i = 0; i < 100; ++i)); do
  [[ $(sinfo --noheader --format=%t 2>/dev/null) == idle ]] && break
  sleep 0.2
done
[[ $(sinfo --noheader --format=%t) == idle ]] || fail "Slurm did not come up"

sweep=("$orrery" sweep mpt_7b_8xa100 --set model.layers=2 --over batch.micro=1,2,4,3 --over batch.global=32,64
  --over training.recompute=NONE,FULL)

"${sweep[@]}" --quiet -o local.csv

# An array of four tasks gives the file that threads give.
"${sweep[@]}" --engine slurm --shards 4 -o four.csv || fail "the array failed"
cmp local.csv four.csv || fail "rows from Slurm differ"
[[ ! -e four.csv.slurm ]] || fail "the folder of shards is left behind"

# Before sbatch takes a script, this has it do something else first, once a task: "fail", or "linger", which
# can then be requeued or waited for.
mkdir bin
cat >bin/sbatch <<WRAPPER
#!/bin/bash
first="first=$folder/\$FIRST-\\\$SLURM_ARRAY_TASK_ID"
sed -i "2i \$first; if [[ ! -e \\\$first ]]; then touch \\\$first; \$ACTION; fi" "\${@: -1}"
exec $(command -v sbatch) "\$@"
WRAPPER
chmod +x bin/sbatch
with_first() {
  FIRST=$1 ACTION=$2 PATH=$folder/bin:$PATH "${sweep[@]}" --engine slurm "${@:3}"
}

# Tasks that fail are submitted again.
with_first broken 'exit 3' --shards 2 -o broken.csv 2>broken.err.log ||
  fail "failed tasks were not submitted again"
grep -q "shards 0,1 did not finish; submitted again" broken.err.log || fail "nothing was said of failed tasks"
cmp local.csv broken.csv || fail "rows differ after failures"

# The command is killed, and a task is requeued while nobody looks: the next one waits for the same array.
FIRST=slow ACTION='sleep 3' PATH=$folder/bin:$PATH \
  "${sweep[@]}" --engine slurm --shards 2 -o slow.csv 2>slow.err.log &
command=$!
for ((i = 0; i < 100; ++i)); do
  [[ -s slow.csv.slurm/job && -e slow-0 && -e slow-1 ]] && break
  sleep 0.1
done
kill -9 "$command"
wait "$command" 2>/dev/null || true
job=$(<slow.csv.slurm/job)
scontrol requeue "${job}_1" || fail "the task cannot be requeued"
[[ $(scontrol show job "${job}_1") == *Restarts=1* ]] || fail "the task was not requeued"
scontrol update "jobid=${job}_1" starttime=now || true
"${sweep[@]}" --engine slurm --shards 2 -o slow.csv --progress 2>>slow.err.log ||
  fail "the command does not go on"
grep -q "submitted again" slow.err.log && fail "an array that was there was submitted again"
cmp local.csv slow.csv || fail "rows differ after a requeue"

# Another sweep's shards are refused.
mkdir foreign.csv.slurm
printf 'rows of my own\n' >foreign.csv.slurm/shard-0.journal
"${sweep[@]}" --engine slurm --shards 1 -o foreign.csv 2>foreign.err.log && fail "foreign shards were taken"
grep -q "foreign.csv.slurm" foreign.err.log || fail "nothing was said of foreign shards"
echo "slurm_check: rows from Slurm are those of threads"
