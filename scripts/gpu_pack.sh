#!/usr/bin/env bash
# Packs what scripts/gpu_check.sh runs on a GPU machine that has CUDA and PyTorch but none of our other libraries: the
# program, the plugins, the test programs, and the shared libraries they need beside those of the C library.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/gpu_pack.sh [--build build/release] [--output baleen_gpu.tar.gz | --folder F]
--folder: leaves what would be packed in the new folder F.
Needs a build of the targets baleen, all plugins, test_conformance.compute, test_conformance.cuda_cross_check and
bench_device.
TEXT
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release
output=baleen_gpu.tar.gz folder=''
while [ $# -gt 0 ]; do
  case "$1" in
    --build | --output | --folder) [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; exit 2; } ;;&
    --build) build=$(cd "$2" && pwd); shift 2 ;;
    --output) output=$2; shift 2 ;;
    --folder) folder=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
programs=("$build/bin/baleen" "$build/tests/test_conformance.compute" "$build/tests/test_conformance.cuda_cross_check"
  "$build/bin/bench_device")
for needed in "${programs[@]}" "$build/lib/baleen/plugins/baleen_compute_cuda.so"; do
  [ -e "$needed" ] || { echo "error: there is no $needed; build it first" >&2; exit 2; }
done

[ -z "$folder" ] || [ ! -e "$folder" ] || { echo "error: there is already a $folder" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack=$work/baleen_gpu
mkdir -p "$pack"/{bin,lib/baleen/plugins,libs,share/baleen,tests/programs,scripts}
cp "$build/bin/baleen" "$pack/bin/"
cp "$build"/lib/baleen/plugins/*.so "$pack/lib/baleen/plugins/"
cp "${programs[@]:1}" "$pack/tests/programs/"
cp -r "$root/scripts/lua" "$pack/share/baleen/lua"
mkdir -p "$pack"/tests/{bench,parity,golden}
cp "$root"/tests/bench/*.{py,lua} "$pack/tests/bench/"
cp "$root"/tests/parity/*.lua "$pack/tests/parity/"
cp "$root/tests/golden/"{whales.txt,gpt.py} "$pack/tests/golden/"
cp "$root/scripts/gpu_check.sh" "$pack/scripts/"
strip --strip-unneeded "$pack"/bin/* "$pack"/tests/programs/* "$pack"/lib/baleen/plugins/*.so

# The C library and its loader belong to the machine; all else comes along. UCX's own plugins are not needed there.
ldd "$pack"/bin/* "$pack"/tests/programs/* "$pack"/lib/baleen/plugins/*.so 2>/dev/null |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv)\.so\.[0-9]+)$' |
  xargs -r cp -Lt "$pack/libs"
objdump -T "$pack"/bin/* "$pack"/tests/programs/* "$pack"/libs/* "$pack"/lib/baleen/plugins/*.so 2>/dev/null |
  grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//' >"$pack/glibc"
git -C "$root" describe --always --dirty >"$pack/version" 2>/dev/null || echo unknown >"$pack/version"
if [ -n "$folder" ]; then
  mkdir -p "$(dirname "$folder")" && mv "$pack" "$folder"
  exit
fi
tar -C "$work" -czf "$output" baleen_gpu
echo "$output: $(du -h "$output" | cut -f1), needs glibc $(cat "$pack/glibc")"
