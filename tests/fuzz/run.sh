#!/usr/bin/env bash
# Compiles a fuzz target with clang and libFuzzer, and runs it on a million inputs (BALEEN_FUZZ_RUNS: another number).
# Usage: run.sh NAME SEEDS FOLDER OPTION-OR-SOURCE...; FOLDER is made and keeps the objects between runs.
# Exits with 77 ("skipped") where there is no clang with libFuzzer.
set -euo pipefail
name=$1 seeds=$2 folder=$3
shift 3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

compiler=$(command -v clang++ || command -v clang++-14 || true)
if [ -z "$compiler" ]; then
  echo "skipped: there is no clang++ (Debian: clang)"
  exit 77
fi
mkdir -p "$folder/corpus"
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$folder/probe.cpp"
if ! "$compiler" -fsanitize=fuzzer,address "$folder/probe.cpp" -o "$folder/probe" 2>"$folder/probe.txt"; then
  echo "skipped: $compiler has no libFuzzer (Debian: libclang-rt-14-dev): $(tail -n 1 "$folder/probe.txt")"
  exit 77
fi
# The library's assertions: an empty optional or an index out of range is nothing that sanitizers see.
flags=(-std=c++20 -O1 -g1 -D_GLIBCXX_ASSERTIONS -fno-omit-frame-pointer "-fsanitize=fuzzer-no-link,address,undefined" -fno-sanitize-recover=all)
objects=() options=() links=()
for word in "$@"; do
  case "$word" in
    -l* | -L*) links+=("$word") ;;
    -*) options+=("$word") ;;
  esac
done
# Whether an object is older than one of the files that it was made of, or than this script.
is_old() {
  [ -e "$1" ] && [ -e "${1%.o}.d" ] || return 0
  local file
  for file in "${BASH_SOURCE[0]}" $(tr -d '\\\n' <"${1%.o}.d" | cut -d: -f2-); do
    if [ "$file" -nt "$1" ]; then return 0; fi
  done
  return 1
}
for word in "$@"; do
  case "$word" in
    *.cpp)
      object=${word#"$root"/}
      object=$folder/${object//\//_}.o
      objects+=("$object")
      if is_old "$object"; then "$compiler" "${flags[@]}" "${options[@]}" -MMD -MF "${object%.o}.d" -c "$word" -o "$object"; fi
      ;;
  esac
done
"$compiler" -fsanitize=fuzzer,address,undefined "${objects[@]}" "${links[@]}" -o "$folder/$name"
dictionary=$(dirname "$seeds")/../$name.dict
words=()
if [ -e "$dictionary" ]; then words=("-dict=$dictionary"); fi
cd "$folder"
# allocator_may_return_null: a size that a library asks for in vain is no fault of ours, a crash because of it is.
# error_exitcode: a crash would end with 77 otherwise, which is "skipped" here.
exec env ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 "./$name" -runs="${BALEEN_FUZZ_RUNS:-1000000}" \
  -error_exitcode=1 -max_len=6000 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 "${words[@]}" corpus "$seeds"
