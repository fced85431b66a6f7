#!/usr/bin/env bash
# Train on a Slurm cluster, one process per GPU.
#
#   [GPUS=8] [GPUS_PER_NODE=8] [CPUS_PER_TASK=5] [SRUN_ARGS='...'] \
#     tools/slurm_train.sh PARTITION JOB CONFIG [options of tools/train.py ...]
#
# On nodes without GPUs, N processes that talk over gloo: GPUS=0 TASKS=N.
# The processes meet at PORT, by default one drawn for each job.
#
# A job that Slurm ends early saves a checkpoint and leaves with code 75; the
# same command with --resume goes on from there.
set -euo pipefail

if [ "$#" -lt 3 ]; then
  echo "usage: $0 PARTITION JOB CONFIG [options of tools/train.py ...]" >&2
  exit 2
fi
partition=$1
job=$2
config=$3
shift 3
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
gpus=${GPUS:-8}
if [ "$gpus" -eq 0 ]; then
  if [ -z "${TASKS:-}" ]; then
    echo "GPUS=0 needs TASKS=N, the number of processes." >&2
    exit 2
  fi
  resources=(--ntasks="$TASKS")
else
  per_node=${GPUS_PER_NODE:-$((gpus < 8 ? gpus : 8))}
  resources=(--gres="gpu:$per_node" --ntasks="$gpus"
    --ntasks-per-node="$per_node")
fi
# several words for srun, split on purpose
read -r -a extra <<<"${SRUN_ARGS:-}"
# two jobs may share a node; below the ports that systems hand out
export MASTER_PORT=${PORT:-$((20000 + RANDOM % 10000))}

# When a process ends, the others have a minute to end by themselves: with
# --kill-on-bad-exit they would be killed while they save, and their exit
# code lost.
exec srun \
  --partition="$partition" \
  --job-name="$job" \
  "${resources[@]}" \
  --cpus-per-task="${CPUS_PER_TASK:-5}" \
  --wait=60 \
  ${extra[@]+"${extra[@]}"} \
  "${PYTHON:-python}" -u "$tools/train.py" "$config" --launcher slurm "$@"
