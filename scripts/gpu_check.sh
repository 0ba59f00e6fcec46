#!/usr/bin/env bash
# One command for a GPU machine: runs the conformance, cross-check and parity suites on the device, in fp64, fp32, bf16 and
# fp16, compute-sanitizer over the ops, then the benchmarks beside PyTorch's, and prints one table. Everything comes out of
# a pack made by scripts/gpu_pack.sh.
set -uo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/gpu_check.sh [PACK.tar.gz] [--folder F] [--plugin cuda|cpu] [--minutes 10] [--logs F] [--peak-tflops 989]
       [--batch 64]
Without PACK: from the unpacked folder in which this script lies. --plugin cpu tries the pack itself on any machine.
--peak-tflops: the card's dense bf16 peak; --batch: rows of context 1024 of a GPT-2 124M step, the most that fit.
Ends with 0 if every suite passed. What the suites said lies in F of --logs (default: logs in the folder).
TEXT
}

pack='' folder='' plugin=cuda minutes=10 logs='' peak=989 batch=64
while [ $# -gt 0 ]; do
  case "$1" in
    --folder) folder=$2; shift 2 ;;
    --plugin) plugin=$2; shift 2 ;;
    --minutes) minutes=$2; shift 2 ;;
    --logs) logs=$2; shift 2 ;;
    --peak-tflops) peak=$2; shift 2 ;;
    --batch) batch=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) pack=$1; shift ;;
  esac
done
if [ -n "$pack" ]; then
  folder=${folder:-$(mktemp -d)}
  mkdir -p "$folder" && tar -C "$folder" --strip-components=1 -xzf "$pack" || exit 2
fi
folder=${folder:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
[ -x "$folder/bin/baleen" ] || { echo "error: $folder holds no unpacked pack (bin/baleen)" >&2; exit 2; }
logs=${logs:-$folder/logs}
mkdir -p "$logs"
folder=$(cd "$folder" && pwd) logs=$(cd "$logs" && pwd)
end=$(($(date +%s) + minutes * 60))
failed=0
table=()

have=$(ldd --version 2>/dev/null | sed -n '1s/.* \([0-9.]*\)$/\1/p')
need=$(cat "$folder/glibc")
[ "$(printf '%s\n%s\n' "$need" "$have" | sort -V | tail -n 1)" = "$have" ] ||
  { echo "error: this machine has glibc $have, the pack needs $need; pack on an older system" >&2; exit 2; }

# Our programs alone see our libraries: PyTorch brings its own.
ours() { env LD_LIBRARY_PATH="$folder/libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }
left() { local seconds=$((end - $(date +%s))); echo $((seconds > 1 ? seconds : 1)); }
row() { table+=("$(printf '%-34s %-8s %s' "$1" "$2" "$3")"); printf '%s\n' "${table[-1]}"; }

# suite NAME PROGRAM [arguments]: a GoogleTest program on the plugin.
suite() {
  local name=$1 log=$logs/$1.log
  shift
  ours timeout "$(left)" "$@" >"$log" 2>&1
  local status=$?
  local passed skipped lost
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*.*/\1/p' "$log" | tail -n 1)
  skipped=$(grep -c '^\[  SKIPPED \] .*ms)$' "$log")
  lost=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) tests*, listed below:.*/\1/p' "$log" | tail -n 1)
  local words="${passed:-0} passed, ${lost:-0} failed, $skipped skipped"
  if [ "$status" = 0 ] && [ "${passed:-0}" -gt 0 ]; then row "$name" passed "$words"; return; fi
  failed=1
  [ "$status" = 124 ] && words+=", out of time"
  row "$name" FAILED "$words; see $log"
}

# losses PLUGIN DTYPE SCRIPT: the losses of 20 steps, one a line. bf16 and fp16 by the strategy `precision`.
losses() {
  local log=$logs/losses.$1.$2.$3.jsonl words=() how=(--dtype "$2")
  [ "$3" = gpt ] && words=(-- --data "$folder/tests/golden/whales.txt")
  if [ "$2" = bf16 ] || [ "$2" = fp16 ]; then
    printf '[compute]\nplugin = "%s"\n[[plan]]\nstrategy = "precision"\ndtype = "%s"\n' "$1" "$2" >"$logs/$1.$2.toml"
    how=(--manifest "$logs/$1.$2.toml")
  fi
  rm -f "$log"
  ours timeout "$(left)" "$folder/bin/baleen" run "$folder/tests/parity/$3.lua" --steps 20 "${how[@]}" \
    --set "compute.plugin=$1" --log-json "$log" "${words[@]}" >"$logs/losses.$1.$2.$3.log" 2>&1 || return 1
  sed -n '/"kind":"step"/s/.*"loss":\([-0-9.e+]*\).*/\1/p' "$log"
}

# parity DTYPE SCRIPT LIMIT: every loss within LIMIT (relative) of the processor's.
parity() {
  local name="parity $2 $1" mine reference worst
  if [[ $1 == *16 ]] && ! [ -e "$precision" ]; then
    row "$name" skipped "the pack has no strategy precision"
    return
  fi
  if ! mine=$(losses "$plugin" "$1" "$2") || ! reference=$(losses cpu "$1" "$2"); then
    failed=1
    row "$name" FAILED "a run failed; see $logs"
    return
  fi
  worst=$(paste <(echo "$mine") <(echo "$reference") | awk '
    NF == 2 { d = ($1 - $2) / $2; if (d < 0) d = -d; if (d > worst) worst = d; ++count }
    END { if (count < 20) print "only " count " losses"; else printf "%.1e\n", worst }')
  if awk -v w="$worst" -v l="$3" 'BEGIN { exit !(w ~ /^[0-9]/ && w + 0 <= l + 0) }'; then
    row "$name" passed "20 losses within $worst of the processor's"
  else
    failed=1
    row "$name" FAILED "$worst, limit $3"
  fi
}

# sanitizer: NVIDIA's checker of memory over every op once.
sanitizer() {
  local program log=$logs/sanitizer.log
  program=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  [ -n "$program" ] || { row "compute-sanitizer" skipped "it is not on this machine"; return; }
  ours timeout "$(($(left) < 150 ? $(left) : 150))" "$program" --tool memcheck --error-exitcode 9 \
    "$folder/tests/programs/test_conformance.cuda_cross_check" --gtest_filter='*fp32*:*bf16' >"$log" 2>&1
  local status=$?
  if [ "$status" = 0 ] && grep -q 'ERROR SUMMARY: 0 errors' "$log"; then
    row "compute-sanitizer" passed "$(sed -n 's/^\[  PASSED  \] //p' "$log" | tail -n 1) 0 errors"
  else
    failed=1
    row "compute-sanitizer" FAILED "status $status; see $log"
  fi
}

has_torch() { python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; }

# kernels SHRINK: bandwidth against a device copy, and a product against PyTorch's.
kernels() {
  local log=$logs/kernels.log name words theirs
  if ! ours timeout "$(left)" "$folder/tests/programs/bench_device" \
    "$folder/lib/baleen/plugins/baleen_compute_$plugin.so" "$1" >"$log" 2>&1; then
    failed=1
    row "kernels" FAILED "see $log"
    return
  fi
  while IFS=$'\t' read -r name words; do
    if [[ $name == product* ]] && [ "$plugin" = cuda ] && has_torch &&
      theirs=$(timeout "$(left)" python3 "$folder/tests/bench/matmul_torch.py" 2>"$logs/matmul_torch.log"); then
      words+=", PyTorch $theirs: $(awk -v o="${words%% *}" -v t="$theirs" 'BEGIN { printf "%.2f of it", o / t }')"
    fi
    row "$name" "" "$words"
  done < <(grep "$(printf '\t')" "$log")
}

# bench MODEL [arguments]: tokens per second beside PyTorch's, if there is one.
bench() {
  [ "$(left)" -gt 90 ] || { row "throughput $1" skipped "less than 90 s left"; return; }
  has_torch || { row "throughput $1" skipped "no PyTorch that sees a GPU"; return; }
  local log=$logs/throughput.$1.log model=$1
  shift
  # shellcheck disable=SC2016
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s/libs:$LD_LIBRARY_PATH" exec "%s/bin/baleen" "$@"\n' "$folder" "$folder" \
    >"$folder/bin/baleen.sh" && chmod +x "$folder/bin/baleen.sh"
  timeout "$(left)" python3 "$folder/tests/bench/throughput.py" --device cuda --model "$model" --rounds 2 --steps 20 \
    --baleen "$folder/bin/baleen.sh" --peer compile@python3 "$@" >"$log" 2>&1 ||
    { failed=1; row "throughput $model" FAILED "see $log"; return; }
  while IFS= read -r line; do row "throughput $model" "" "$line"; done < <(sed -n 's/^  //p' "$log")
}

echo "pack $(cat "$folder/version") on $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null ||
  echo 'a machine without nvidia-smi'), $(nproc) cores, $(date -u +%Y-%m-%dT%H:%MZ)"
precision=$folder/lib/baleen/plugins/baleen_strategy_precision.so
export BALEEN_TEST_COMPUTE_PLUGINS=$folder/lib/baleen/plugins/baleen_compute_$plugin.so
suite conformance "$folder/tests/programs/test_conformance.compute"
if [ "$plugin" = cuda ]; then
  BALEEN_TEST_COMPUTE_PLUGINS+=:$folder/lib/baleen/plugins/baleen_compute_cpu.so
  suite cross-check "$folder/tests/programs/test_conformance.cuda_cross_check"
fi
for script in mlp gpt; do
  parity fp64 "$script" 1e-10
  parity fp32 "$script" 1e-4
  parity bf16 "$script" 2e-2
  parity fp16 "$script" 5e-3
done
if [ "$plugin" = cuda ]; then
  sanitizer
  kernels 1
  if [ -e "$precision" ]; then
    # The fastest products and attention, whose sums may come in any order, as PyTorch's do.
    bench gpt2-1024 --dtype bf16 --batch "$batch" --peak-tflops "$peak" --set compute.deterministic=false
  else
    row "throughput gpt2-1024" skipped "the pack has no strategy precision"
  fi
  bench gpt2
else
  kernels 256
fi
echo
printf '%s\n' "${table[@]}"
exit "$failed"
