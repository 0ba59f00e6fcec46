#!/usr/bin/env bash
# The registers and spills of every kernel are those that are checked in. Usage: resources.sh FOLDER FILE NVCC [--write]
# FOLDER holds what ptxas said (*.resources). Exits with 77 (skipped) where nvcc is another one than the report's.
set -euo pipefail

folder=$1 file=$2 nvcc=$3
version=$("$nvcc" --version | sed -n 's/.*V\([0-9.]*\)$/\1/p')
report() {
  echo "nvcc $version: kernel, target, registers, bytes of stack, of spill stores and loads, of static shared memory"
  cat "$folder"/*.resources | awk '
    /Compiling entry function/ { split($0, quoted, "\047"); name = quoted[2]; target = quoted[4] }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used [0-9]+ registers/ {
      shared = 0
      for (i = 2; i <= NF; ++i) if ($i ~ /^smem/) shared = $(i - 2)
      match($0, /Used [0-9]+/)
      print name, target, substr($0, RSTART + 5, RLENGTH - 5), stack, stores, loads, shared
    }' | LC_ALL=C sort
}
if [ "${4:-}" = --write ]; then report >"$file"; exit 0; fi
[ "$(head -n 1 "$file" | sed 's/nvcc \([0-9.]*\):.*/\1/')" = "$version" ] ||
  { echo "skipped: the report is of another nvcc than $version"; exit 77; }
report | diff "$file" - || { echo "FAILED: after a look at the differences: $0 $1 $2 $3 --write"; exit 1; }
