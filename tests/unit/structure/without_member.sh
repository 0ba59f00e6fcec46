#!/usr/bin/env bash
# The tree builds without one member of a family. Usage: without_member.sh SOURCES FAMILY/MEMBER GENERATOR
# [cmake arguments]. Takes the folder out of a copy, configures the copy (a test that depends on a missing target fails
# here), and builds the family's other members, which must not lean on it.
set -euo pipefail

sources=$(realpath "$1") member=$2 generator=$3
shift 3
family=${member%%/*}
[ -d "$sources/$member" ] || { echo "skipped: there is no $member in this tree"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$sources" --exclude=./build --exclude=./.git -cf - . | tar -C "$work" -xf -
rm -rf "${work:?}/$member"

cmake -S "$work" -B "$work/build" -G "$generator" "$@" >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; echo "FAILED: the tree does not configure without $member"; exit 1; }

targets=()
for folder in "$work/$family"/*/; do
  [ -f "$folder/CMakeLists.txt" ] && targets+=("baleen_strategy_$(basename "$folder")")
done
[ "${#targets[@]}" -gt 0 ] || { echo "FAILED: $family has no other member"; exit 1; }
cmake --build "$work/build" --target "${targets[@]}" -j2 >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log"; echo "FAILED: ${targets[*]} do not build without $member"; exit 1; }
echo "without $member: configured, built ${targets[*]}"
