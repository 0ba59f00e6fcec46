#!/usr/bin/env bash
# Builds the tests and runs them; ends with ctest's summaries, a table of where the time went, and a line of all cases.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--all | --ci] [--preset P] [--stage S] [--part K/N] [--resume COMMIT]
               [--target T]... [--seed N] [--limit MINUTES] [ctest arguments]
  (nothing)    the release build and its fast tests; of large matrices a part, which the commit chooses
  --ci         what runs before every landing: unit and error tests with sanitizers, all others in the release build
  --all        everything: whole matrices, slow tests, sanitizers, packages of PyPI, clang-tidy, ARM under qemu
  --preset P   release, debug, asan or tsan: only this build of the level
  --stage S    only this stage of the level (scripts/testing/plan.py)
  --part K/N   of the cases of each stage, the K-th of N parts: for several machines, or one at several times
  --resume COMMIT  with --all: leave out what passed in such runs at COMMIT or later, on this machine and without changes
               that were not committed. What changed since COMMIT could break is for you to say
  --target T   build only this target; repeatable
  --seed N     another part of the matrices, or the same as in an earlier run
  --limit M    minutes after which everything ends, with the summary (default 85; with --all 600)
Arguments after the options go to ctest and choose the cases instead, as in `scripts/test.sh -R graph`.
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/packages.sh
source "$root/scripts/packages.sh"

options=()
for word in "$@"; do
  case "$word" in -h | --help) usage; exit 0 ;; esac
done
while [ $# -gt 0 ]; do
  case "$1" in
    --all) options+=(--level all --limit 600); shift ;;
    --ci) options+=(--level ci); shift ;;
    --preset | --stage | --part | --resume | --target | --seed | --limit)
      [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; usage >&2; exit 2; }
      options+=("$1" "$2"); shift 2 ;;
    --) shift; break ;;
    *) break ;;
  esac
done

baleen_need_packages "${baleen_build_packages[@]}" "${baleen_test_packages[@]}"
cd "$root"
exec python3 scripts/testing/run.py ${options[@]+"${options[@]}"} -- "$@"
