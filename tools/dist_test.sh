#!/usr/bin/env bash
# Score a step's checkpoint on N processes of this machine, or of NNODES
# machines with N each.
#
#   tools/dist_test.sh CONFIG CHECKPOINT N [options of tools/test.py ...]
#
# NNODES, NODE_RANK, PORT, MASTER_ADDR and PYTHON may be set before it. Without
# a GPU the processes talk over gloo.
set -euo pipefail

if [ "$#" -lt 3 ]; then
  echo "usage: $0 CONFIG CHECKPOINT N [options of tools/test.py ...]" >&2
  exit 2
fi
config=$1
checkpoint=$2
processes=$3
shift 3
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

exec "${PYTHON:-python}" -m torch.distributed.run \
  --nnodes="${NNODES:-1}" \
  --node_rank="${NODE_RANK:-0}" \
  --master_addr="${MASTER_ADDR:-127.0.0.1}" \
  --master_port="${PORT:-29500}" \
  --nproc_per_node="$processes" \
  "$tools/test.py" "$config" "$checkpoint" --launcher pytorch "$@"
