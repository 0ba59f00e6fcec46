#!/usr/bin/env bash
# Builds plugins/ as it was built: each against the SDK of the last commit of its ABI. Not part of any build: the files are
# committed, and their use is that they stay as they are. `make.sh FILE...` builds only these.
set -euo pipefail

abi_1_0=3dc7212
abi_1_2=d9922ab
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for commit in $abi_1_0 $abi_1_2; do
  mkdir "$work/$commit"
  git -C "$here/../../.." archive "$commit" sdk | tar -x -C "$work/$commit"
done
only=" $* "

# build COMMIT FILE SOURCE: one stripped library.
build() {
  [ "$only" = "  " ] || [[ $only == *" $2 "* ]] || return 0
  local sdk=$work/$1/sdk
  local flags=(-Os -fPIC -shared -fvisibility=hidden -ffunction-sections -fdata-sections -Wall -Wextra -I"$sdk/include")
  local links=("-Wl,--version-script=$sdk/cmake/plugin.map" "-Wl,-z,defs" "-Wl,--gc-sections" "-Wl,-z,noseparate-code" -s)
  case $3 in
    *.c) gcc -std=c11 "${flags[@]}" "$3" -o "$here/plugins/$2" "${links[@]}" ;;
    *) g++ -std=c++20 -fvisibility-inlines-hidden -fno-gnu-unique "${flags[@]}" "$3" -o "$here/plugins/$2" "${links[@]}" ;;
  esac
}

template=$work/$abi_1_0/sdk/template
build $abi_1_0 baleen_optimizer_descent.so "$template/descent.cpp"
build $abi_1_0 baleen_optimizer_descent_c.so "$template/descent.c"
build $abi_1_0 baleen_data_rings.so "$template/rings.cpp"
build $abi_1_0 baleen_monitor_previous_lines.so "$here/sources/previous_monitor.cpp"
build $abi_1_0 baleen_checkpoint_previous_list.so "$here/sources/previous_checkpoint.c"
build $abi_1_0 baleen_compute_previous_two.so "$here/sources/previous_compute.c"
build $abi_1_0 baleen_transport_previous_none.so "$here/sources/previous_transport.c"
build $abi_1_0 baleen_strategy_previous_draft.so "$here/sources/previous_strategy.c"
build $abi_1_2 baleen_checkpoint_previous_whole.so "$here/sources/previous_whole.c"
