#!/bin/sh
# alone.sh FOLDER TREE BUILD LEFT... -- COMMAND...: runs COMMAND where the folders TREE and BUILD are empty but for the folders
# LEFT, as on a machine that never saw them. In a mount namespace of its own (unshare -m). FOLDER is for what it needs.
set -eu
folder=$1 tree=$2 build=$3 count=0
shift 3
for left in "$@"; do
  [ "$left" != -- ] || break
  count=$((count + 1))
  mkdir -p "$folder/$count"
  mount --bind "$left" "$folder/$count"
done
mount -t tmpfs none "$tree"
[ ! -d "$build" ] || mount -t tmpfs none "$build"
count=0
while [ "$1" != -- ]; do
  count=$((count + 1))
  mkdir -p "$1"
  mount --bind "$folder/$count" "$1"
  shift
done
shift
exec "$@"
