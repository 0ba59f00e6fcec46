#!/usr/bin/env bash
# Each header compiles alone. Usage: headers_alone.sh FOLDER INCLUDE-PATH C-COMPILER CXX-COMPILER [compiler arguments]
# A .h is compiled as C11 and as C++20, a .hpp as C++20; not those which a source of the same name includes first, for the
# build shows as much. What compiled once is found in the compiler cache, where there is one. Exits with 77 (skipped) where
# a compiler is missing.
set -euo pipefail

folder=$(realpath "$1") include_path=$(realpath "$2") c_compiler=$3 cxx_compiler=$4
shift 4
for compiler in "$c_compiler" "$cxx_compiler"; do
  command -v "$compiler" >/dev/null || { echo "skipped: there is no compiler \`$compiler\`"; exit 77; }
done

work=$(mktemp -d "$PWD/alone_XXXXXX") # not in /tmp: the cache knows paths from here
trap 'rm -rf "$work"' EXIT
cd "$work"
cache=()
! command -v ccache >/dev/null || cache=(ccache)
flags=(-c -O0 -o alone.o -Wall -Wextra -Wpedantic -Werror -I"$include_path")
failed=0 count=0 shown=0

# compile COMPILER SUFFIX HEADER FLAGS...: a source with one line, that includes the header.
compile() {
  local compiler=$1 source=alone.$2 header=$3
  shift 3
  printf '#include "%s"\n' "${header#"$include_path"/}" >"$source"
  "${cache[@]}" "$compiler" "$@" "$source" || { echo "FAILED: $compiler $*: $header"; failed=$((failed + 1)); }
  count=$((count + 1))
}

# shown_by_build HEADER: whether the first thing that its source includes is this header.
shown_by_build() {
  local source=${1%.*}.cpp
  [ -f "$source" ] && [ "$(grep -m1 '^#include' "$source")" = "#include \"${1#"$include_path"/}\"" ]
}

while IFS= read -r header; do
  if shown_by_build "$header"; then shown=$((shown + 1)); continue; fi
  case "$header" in
    *.h) compile "$c_compiler" c "$header" -std=c11 "${flags[@]}" ;;&
    *) compile "$cxx_compiler" cpp "$header" -std=c++20 "${flags[@]}" "$@" ;;
  esac
done < <(find "$folder" -name '*.h' -o -name '*.hpp' | sort)

echo "$count compilations, $failed failed; $shown headers come first in their own sources"
[ $((count + shown)) -gt 0 ] && [ "$failed" -eq 0 ]
