#!/usr/bin/env bash
# Runs a command with the Python of make_environment.sh's folder as `python3`.
# Usage: in_environment.sh COMMAND...; exits with 77 ("skipped") where there is no such environment.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${BALEEN_VENV:-$here/../../../build/venv}
if ! "$folder/bin/python" -c 'import torch, safetensors' 2>/dev/null; then
  echo "skipped: $folder has no Python with PyTorch and safetensors; tests/interop/python/make_environment.sh makes it"
  exit 77
fi
export PATH="$folder/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
exec "$@"
