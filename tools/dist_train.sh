#!/usr/bin/env bash
# Train on N processes of this machine, or of NNODES machines with N each.
#
#   tools/dist_train.sh CONFIG N [options of tools/train.py ...]
#
# NNODES, NODE_RANK, PORT, MASTER_ADDR and PYTHON may be set before it. Without
# a GPU the processes talk over gloo.
set -euo pipefail

if [ "$#" -lt 2 ]; then
  echo "usage: $0 CONFIG N [options of tools/train.py ...]" >&2
  exit 2
fi
config=$1
processes=$2
shift 2
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

exec "${PYTHON:-python}" -m torch.distributed.run \
  --nnodes="${NNODES:-1}" \
  --node_rank="${NODE_RANK:-0}" \
  --master_addr="${MASTER_ADDR:-127.0.0.1}" \
  --master_port="${PORT:-29500}" \
  --nproc_per_node="$processes" \
  "$tools/train.py" "$config" --launcher pytorch "$@"
