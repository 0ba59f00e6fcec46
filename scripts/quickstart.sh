#!/usr/bin/env bash
# From a fresh clone to a trained language model: packages, release build, the main job, and text the model wrote.
set -euo pipefail

if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
  echo "Usage: scripts/quickstart.sh [arguments of \`baleen run\`] [-- --data PATH]"
  echo "Builds Baleen into build/release and trains examples/02_gpt on two ranks, on the C++ headers of this machine or on PATH."
  exit 0
fi

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/packages.sh
source "$root/scripts/packages.sh"
baleen_need_packages "${baleen_build_packages[@]}"

fail() {
  echo "error: $*" >&2
  exit 1
}

cd "$root"
log=build/quickstart.log
mkdir -p build
echo "Building Baleen into build/release (the compiler's output is in $log) ..."
began=$SECONDS
cmake --preset release -DBALEEN_BUILD_TESTS=OFF >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; fail "configuring failed; all of cmake's output is in $log"; }
cmake --build build/release -j"$(nproc)" >>"$log" 2>&1 ||
  { tail -n 40 "$log" >&2; fail "building failed; all of the compiler's output is in $log"; }
echo "Built in $((SECONDS - began)) s."

baleen=build/release/bin/baleen
model=build/gpt.safetensors
cluster=(--manifest examples/clusters/two.toml)
for word in "$@"; do
  case "$word" in
    -m | --manifest | --manifest=*) cluster=() ;;
    --) break ;;
  esac
done
echo "Training examples/02_gpt${cluster[*]:+ on two ranks} ..."
"$baleen" run examples/02_gpt/train.lua ${cluster[@]+"${cluster[@]}"} --save "$model" "$@" || fail "training failed (status $?); the reason is above"

echo
echo "The model's parameters are in $model. Run the tests with scripts/test.sh."
