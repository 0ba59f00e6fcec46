#!/usr/bin/env bash
# Checks the sources without running them: layout, Lua, shell and Python; with --tidy, C++ for bugs. Ends with 1 on a finding.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/lint.sh [--base COMMIT] [--fix]
       scripts/lint.sh --tidy [--base COMMIT | --all] [--build FOLDER]
Without --tidy (some seconds): clang-format 14, luacheck, bash -n, shellcheck (where it is installed) and Python's compiler,
over all files that git knows or would add.
  --fix            let clang-format lay the files out
  --tidy           clang-tidy over the C++ and C sources that changed; what it found nothing in is remembered
  --base COMMIT    what counts as changed is what differs from this commit (default: HEAD~1); only --tidy looks at it
  --all            clang-tidy over every source that the build compiles
  --build FOLDER   the build whose compile commands clang-tidy reads (default: build/tidy, which is configured where it is
                   missing); precompiled headers of GCC are nothing for it: -DBALEEN_PRECOMPILE=OFF
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
tidy='' all='' fix='' base=HEAD~1 build=build/tidy
while [ $# -gt 0 ]; do
  case "$1" in
    --tidy) tidy=yes; shift ;;
    --all) all=yes; shift ;;
    --fix) fix=yes; shift ;;
    --base | --build)
      [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; exit 2; }
      if [ "$1" = --base ]; then base=$2; else build=$2; fi
      shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: no option \`$1\`" >&2; usage >&2; exit 2 ;;
  esac
done

findings=0
# found FILES-OR-WORDS FIX: counts a finding and says how to mend it.
found() {
  findings=$((findings + 1))
  printf '%s\n  mend: %s\n' "$1" "$2" >&2
}

# The program of the given version, or the one without a number if it has it.
need() {
  local program
  for program in "$@"; do
    if command -v "$program" >/dev/null; then echo "$program"; return; fi
  done
  echo "error: there is no $1 (Debian 12: clang-format, clang-tidy, lua-check)" >&2
  exit 2
}

# files PATTERN...: those that git knows or would add, and that are there.
files() { git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }

# The C ABI's headers and the template in C are laid out by hand: columns of comments, several names on a line.
by_hand='^sdk/(include/baleen/[a-z_]+\.h|template/.*\.c)$'

layout() {
  local program sources version
  program=$(need clang-format-14 clang-format)
  version=$("$program" --version)
  [[ $version == *"version 14."* ]] || { echo "error: $program is not of version 14: $version" >&2; exit 2; }
  mapfile -t sources < <(files '*.cpp' '*.hpp' '*.h' '*.c' '*.cu' '*.cuh' | grep -vE "$by_hand")
  if [ -n "$fix" ]; then
    "$program" -i "${sources[@]}"
    return
  fi
  local file
  while read -r file; do
    found "$file: not as clang-format has it" "$program -i $file (or all: scripts/lint.sh --fix)"
  done < <(printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 40 sh -c '"$0" --dry-run "$@" 2>&1 |
    sed -un "s/^\([^: ][^:]*\):[0-9]*:[0-9]*: warning: .*/\1/p"' "$program" | sort -u)
}

lua() {
  local program sources said
  program=$(need luacheck)
  mapfile -t sources < <(files '*.lua')
  said=$("$program" --no-color --quiet --formatter plain "${sources[@]}") ||
    found "$said" "see the numbers in luacheck's manual; lines have at most 120 columns; .luacheckrc has the rules"
}

shell() {
  local file said scripts
  mapfile -t scripts < <(files '*.sh' '.ci/*')
  for file in "${scripts[@]}"; do
    [[ $file == *.sh || $(head -n 1 "$file") == '#!'*sh ]] || continue
    said=$(bash -n "$file" 2>&1) || found "$said" "bash -n $file"
    if command -v shellcheck >/dev/null; then
      said=$(shellcheck --external-sources --severity=warning --format=gcc "$file") || found "$said" "shellcheck $file"
    fi
  done
  command -v shellcheck >/dev/null || echo "note: shellcheck is not installed; only bash -n looked at the shell scripts"
}

python() {
  local file said
  while read -r file; do
    said=$(python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$file" 2>&1) ||
      found "$said" "python3 -m py_compile $file"
  done < <(files '*.py')
}

# Sources that changed; of a header that changed, those of its folder.
changed_sources() {
  git rev-parse --verify --quiet "$base^{commit}" >/dev/null || { echo "error: there is no commit $base" >&2; exit 2; }
  { git diff --name-only --diff-filter=d "$base" -- '*.cpp' '*.c' '*.hpp'; git ls-files --others --exclude-standard -- '*.cpp' '*.c'; } |
    while read -r f; do
      case "$f" in *.hpp) ls "$(dirname "$f")"/*.cpp 2>/dev/null || true ;; *) echo "$f" ;; esac
    done | sort -u
}

look_for_bugs() {
  local program compiler
  program=$(need clang-tidy-14 clang-tidy)
  compiler=$(need clang++-14 clang++)
  if [ ! -f "$build/compile_commands.json" ]; then
    cmake --preset release -B "$build" -DBALEEN_BUILD_TESTS=ON -DBALEEN_PRECOMPILE=OFF -DBALEEN_JOIN_SOURCES=ON >/dev/null
  fi
  if grep -q 'cmake_pch' "$build/compile_commands.json"; then
    echo "error: $build has precompiled headers of GCC, which clang-tidy cannot read; configure it with" >&2
    echo "       cmake --preset release -B $build -DBALEEN_PRECOMPILE=OFF" >&2
    exit 2
  fi
  local look=(scripts/testing/tidy.py --program "$program" --compiler "$compiler" --build "$build")
  if [ -n "$all" ]; then "${look[@]}" --all; else changed_sources | "${look[@]}" -; fi ||
    found "clang-tidy: see above" "each finding; what none is found in is remembered"
}

if [ -n "$tidy" ]; then
  look_for_bugs
else
  layout
  lua
  shell
  python
fi
if [ "$findings" -gt 0 ]; then
  echo "lint: $findings findings" >&2
  exit 1
fi
echo "lint: nothing to mend"
