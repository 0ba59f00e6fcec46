#!/usr/bin/env bash
# Builds a preset and runs its tests; ends with ctest's summary. Everything after the options goes to ctest.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--preset P] [--target T]... [ctest arguments]
  --preset P   release (default), debug, asan or tsan
  --target T   build only this target; repeatable (default: everything)
Without ctest arguments that choose labels (-L, -LE), tests labelled slow, gpu or bench are left out.
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/packages.sh
source "$root/scripts/packages.sh"

preset=release
targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --preset | --target)
      [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; usage >&2; exit 2; }
      if [ "$1" = --preset ]; then preset=$2; else targets+=("$2"); fi
      shift 2 ;;
    -h | --help) usage; exit 0 ;;
    --) shift; break ;;
    *) break ;;
  esac
done
case "$preset" in
  release | debug | asan | tsan) ;;
  *) echo "error: no preset \`$preset\`; there are release, debug, asan and tsan" >&2; exit 2 ;;
esac

labels=(-LE '^(slow|gpu|bench)$')
for argument in "$@"; do
  case "$argument" in -L* | --label*) labels=() ;; esac
done

baleen_need_packages "${baleen_build_packages[@]}" "${baleen_test_packages[@]}"
cd "$root"
cmake --preset "$preset" -DBALEEN_BUILD_TESTS=ON  # the quick start turns them off
cmake --build "build/$preset" -j"$(nproc)" ${targets[@]+--target "${targets[@]}"}
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j"$(nproc)" "${labels[@]}" "$@"
