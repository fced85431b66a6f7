#!/usr/bin/env bash
# Train on a slurm cluster, one process per GPU.
#
#   [GPUS=8] [GPUS_PER_NODE=8] [CPUS_PER_TASK=5] [SRUN_ARGS='...'] \
#     tools/slurm_train.sh PARTITION JOB CONFIG [options of tools/train.py ...]
#
# A job that slurm ends early saves a checkpoint and leaves with code 75; the
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
per_node=${GPUS_PER_NODE:-$((gpus < 8 ? gpus : 8))}
# several words for srun, split on purpose
read -r -a extra <<<"${SRUN_ARGS:-}"

exec srun \
  --partition="$partition" \
  --job-name="$job" \
  --gres="gpu:$per_node" \
  --ntasks="$gpus" \
  --ntasks-per-node="$per_node" \
  --cpus-per-task="${CPUS_PER_TASK:-5}" \
  --kill-on-bad-exit=1 \
  ${extra[@]+"${extra[@]}"} \
  "${PYTHON:-python}" -u "$tools/train.py" "$config" --launcher slurm "$@"
