#!/usr/bin/env bash
# Builds plugins/ as it was built: against the SDK of ABI 1.0, of commit cacfa14 (or of another one: make.sh COMMIT).
# Not part of any build: the files are committed, and their use is that they stay as they are.
set -euo pipefail

commit=${1:-cacfa14}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$here/../../.." archive "$commit" sdk | tar -x -C "$work"
sdk=$work/sdk
flags=(-Os -fPIC -shared -fvisibility=hidden -ffunction-sections -fdata-sections -Wall -Wextra -I"$sdk/include")
links=("-Wl,--version-script=$sdk/cmake/plugin.map" "-Wl,-z,defs" "-Wl,--gc-sections" "-Wl,-z,noseparate-code" -s)

# build FILE SOURCE: one stripped library.
build() {
  case $2 in
    *.c) gcc -std=c11 "${flags[@]}" "$2" -o "$here/plugins/$1" "${links[@]}" ;;
    *) g++ -std=c++20 -fvisibility-inlines-hidden -fno-gnu-unique "${flags[@]}" "$2" -o "$here/plugins/$1" "${links[@]}" ;;
  esac
}

build baleen_optimizer_descent.so "$sdk/template/descent.cpp"
build baleen_optimizer_descent_c.so "$sdk/template/descent.c"
build baleen_data_rings.so "$sdk/template/rings.cpp"
build baleen_monitor_previous_lines.so "$here/sources/previous_monitor.cpp"
for kind in checkpoint compute transport strategy; do
  source=$here/sources/previous_$kind.c
  name=$(sed -n 's/^BALEEN_DESCRIPTOR("[a-z]*", "\([a-z_]*\)".*/\1/p' "$source")
  build "baleen_${kind}_$name.so" "$source"
done
