#!/usr/bin/env bash
# For a GPU machine, in parts: the first numbers, the conformance, cross-check and parity suites on the device in fp64, fp32,
# bf16 and fp16, the benchmarks beside PyTorch's, compute-sanitizer over the ops, the plugin's options. Prints one
# table, whatever happens, and what failed said. Everything comes out of a pack made by scripts/gpu_pack.sh.
set -uo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/gpu_check.sh [PACK.tar.gz] [--folder F] [--plugin cuda|cpu] [--quick] [--minutes 9] [--logs F]
       [--parts P,P...] [--cases PATTERN] [--cache F] [--peak-tflops N] [--batch 64] [--batch-1558 N]
Without PACK: from the unpacked folder in which this script lies. --plugin cpu tries the pack itself on any machine;
--plugin cuda --quick with the folder of tests/support/emulated_cuda in LD_LIBRARY_PATH tries the rest, part by part.
--parts: some of first (a short training, so that a broken device shows at once), throughput (GPT-2 124M), profile (the
time of each stage beside what was expected), kernels, conformance, cross-check, parity, memory (offload, checkpoints
and recompute change no bit), throughput-1558, throughput-offload, long (900 steps of GPT-2 124M: as fast at the end),
throughput-fp32, sanitizers, variants (options of the plugin, each beside its defaults); in this order, which is that of
what is wanted most. Default: all.
--quick: the suites in fp32 alone, 4 losses instead of 20, small benchmarks of a tiny model: a first look, or for an
emulated device.
--cases: only those of the suites' cases whose names match, as GoogleTest's filter (`*Softmax*:*Norm*`).
--cache: the kernels that are compiled, and what was measured of them, are kept there for the next call, which starts
sooner (default: they go with the check).
--peak-tflops: the card's dense bf16 peak (default: what `baleen doctor` says of it, if it knows the card); --batch: rows of context 1024 of a GPT-2 124M step, the most that fit, or
several (16,32,64): `throughput` takes each in turn, the other parts the last one.
--batch-1558: of a step of GPT-2 1558M where Baleen runs alone, one or several (default: 32 from 120 GiB of device
memory on, 16 from 75, else 8; beside PyTorch it is 8).
CUDA's libraries are looked for in LD_LIBRARY_PATH, then beside PyTorch's (python3), then where the system has them.
Each part has a limit of its own, and all together --minutes. Ends with 0 if everything that ran passed: a part that
this machine cannot run is told as `skipped`, with the reason. What they said lies in F of --logs (default: logs in
the folder), packed in logs.tar.gz of it; the first words of all that failed are printed, and lie in failures.txt.
TEXT
}

all_parts=first,throughput,profile,kernels,conformance,cross-check,parity,memory,throughput-1558,throughput-offload
all_parts+=,long,throughput-fp32,sanitizers,variants
pack='' folder='' plugin=cuda minutes=9 logs='' peak='' batches=64 batches_1558='' quick='' parts=$all_parts
cases='' cache_folder=''
while [ $# -gt 0 ]; do
  case "$1" in
    --folder | --plugin | --minutes | --logs | --parts | --cases | --cache | --peak-tflops | --batch | --batch-1558)
      [ $# -ge 2 ] || { echo "error: $1 needs a value" >&2; exit 2; } ;;&
    --folder) folder=$2; shift 2 ;;
    --plugin) plugin=$2; shift 2 ;;
    --minutes) minutes=$2; shift 2 ;;
    --logs) logs=$2; shift 2 ;;
    --parts) parts=$2; shift 2 ;;
    --peak-tflops) peak=$2; shift 2 ;;
    --cases) cases=$2; shift 2 ;;
    --cache) cache_folder=$2; shift 2 ;;
    --batch) batches=$2; shift 2 ;;
    --batch-1558) batches_1558=$2; shift 2 ;;
    --quick) quick=1; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) pack=$1; shift ;;
  esac
done
case "$plugin" in cuda | cpu) ;; *) echo "error: --plugin is cuda or cpu, not $plugin" >&2; exit 2 ;; esac
for part in ${parts//,/ }; do
  [[ ,$all_parts, == *",$part,"* ]] || { echo "error: no part $part; there are ${all_parts//,/, }" >&2; exit 2; }
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || { echo "error: --minutes is a whole number from 1, not $minutes" >&2; exit 2; }
for rows in "--batch $batches" ${batches_1558:+"--batch-1558 $batches_1558"}; do
  [[ ${rows#* } =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] ||
    { echo "error: ${rows%% *} is a number of rows from 1, or several (16,32,64), not ${rows#* }" >&2; exit 2; }
done
batch=${batches##*,}
if [ -n "$pack" ]; then
  folder=${folder:-$(mktemp -d)}
  mkdir -p "$folder" && tar -C "$folder" --strip-components=1 -xzf "$pack" || exit 2
fi
folder=${folder:-$(dirname "${BASH_SOURCE[0]}")/..}
[ -x "$folder/bin/baleen" ] || { echo "error: $folder holds no unpacked pack (bin/baleen)" >&2; exit 2; }
logs=${logs:-$folder/logs}
mkdir -p "$logs" || exit 2
folder=$(cd "$folder" && pwd) logs=$(cd "$logs" && pwd)
end=$(($(date +%s) + minutes * 60))
plugins=$folder/lib/baleen/plugins
cache=$(mktemp -d) || exit 2
kernel_cache=$cache
[ -z "$cache_folder" ] || { mkdir -p "$cache_folder" && kernel_cache=$(cd "$cache_folder" && pwd); } || exit 2
failed=0
table=()

have=$(ldd --version 2>/dev/null | sed -n '1s/.* \([0-9.]*\)$/\1/p')
need=$(cat "$folder/glibc")
[ "$(printf '%s\n%s\n' "$need" "$have" | sort -V | tail -n 1)" = "$have" ] ||
  { echo "error: this machine has glibc $have, the pack needs $need; pack on an older system" >&2; exit 2; }

left() { local seconds=$((end - $(date +%s))); echo $((seconds > 1 ? seconds : 1)); }
row() { table+=("$(printf '%-34s %-8s %s' "$1" "$2" "$3")"); printf '%s\n' "${table[-1]}"; }
skip() { row "$1" skipped "$2"; }
# said LOG: what tells most of it: of the lines that name an error the first ones, or else the last ones.
said() {
  [ -s "$1" ] || return
  printf -- '-- %s\n' "${1##*/}"
  grep -aiE -m 6 'error|invalid|hazard|failed|refused|killed|no such' "$1" | cut -c 1-400 | grep . ||
    tail -n 4 "$1" | cut -c 1-400
}
# fail NAME WORDS [LOG...]: what the logs said is kept for failures.txt, in which GoogleTest's cases come by themselves.
fail() {
  local log
  failed=1
  row "$1" FAILED "$2"
  {
    printf '== %s: %s\n' "$1" "$2"
    for log in "${@:3}"; do said "$log"; done
  } >>"$cache/failed"
}
# failures: what failed; of each log with failed cases, their names, and what the first ones said.
failures() {
  local log
  [ ! -s "$cache/failed" ] || cat "$cache/failed"
  for log in "$logs"/*.log; do
    grep -q '^\[  FAILED  \] .*ms)$' "$log" 2>/dev/null || continue
    printf '== %s\n' "${log##*/}"
    sed -n 's/^\[  FAILED  \] \(.*ms)\)$/\1/p' "$log" | head -n 40
    awk '/^\[ RUN      \]/ { count = 0; text = $0 }
         /^\[  FAILED  \] .*ms\)$/ { if (++cases <= 8) print text }
         count < 14 && !/^\[/ { text = text "\n" substr($0, 1, 400); ++count }' "$log"
  done
}
# slower: what cuDNN does not compute, of all logs, each once.
slower() { cat "$logs"/*.log 2>/dev/null | grep -aoE 'attention[a-z_]* of .*is computed by a slower kernel.*' | sort -u; }
finish() {
  local running
  trap - EXIT INT TERM
  running=$(jobs -p)
  # shellcheck disable=SC2086
  [ -z "$running" ] || kill $running 2>/dev/null
  failures >"$logs/failures.txt"
  rm -f "$logs/logs.tar.gz"
  tar -C "$logs" -czf "$cache/logs.tar.gz" . && mv "$cache/logs.tar.gz" "$logs/"
  rm -rf "$cache"
  [ ! -s "$logs/failures.txt" ] || { echo && head -n 60 "$logs/failures.txt"; }
  while IFS= read -r running; do row "slower kernel" "" "$running"; done < <(slower)
  printf '\n%s\n' "$about"
  [ ${#table[@]} -eq 0 ] || printf '%s\n' "${table[@]}"
  exit "$1"
}

# limit SECONDS: so many, or what is left of all the time.
limit() { local most; most=$(left); echo $(($1 < most ? $1 : most)); }
# ended STATUS: by its limit. how STATUS: in words.
ended() { [ "$1" = 124 ] || [ "$1" = 137 ]; }
how() { echo "status $1$(ended "$1" && echo ' (out of time)')"; }

has_torch() { python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; }

# Folders of CUDA's libraries that the loader does not know by itself: the wheels that PyTorch uses, the toolkit, the driver.
vendor_folders() {
  python3 - 2>/dev/null <<'PYTHON'
import glob
import importlib.util
spec = importlib.util.find_spec("nvidia")
for place in spec.submodule_search_locations if spec else []:
    for found in sorted(glob.glob(place + "/*/lib/lib*.so.*")):
        if any(name in found for name in ("libcudnn.so", "libcublasLt.so", "libnvrtc.so", "libnccl.so")):
            print(found.rsplit("/", 1)[0])
PYTHON
  ls -d /usr/local/cuda/lib64 /usr/local/nvidia/lib64 2>/dev/null
}

# Which of CUDA's libraries there are, and what is missing without them.
libraries() {
  local name place found missing=() words=''
  for name in libcuda.so.1 libnvrtc.so.13 libcublasLt.so.13 libcudnn.so.9; do
    found=''
    for place in ${libraries_path//:/ }; do
      [ -e "$place/$name" ] && { found=$place; break; }
    done
    [ -n "$found" ] || found=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | sed -n "s|^\s*$name .*=> \(.*\)/$name|\1|p" | head -n 1)
    if [ -n "$found" ]; then words+="${words:+, }$found/$name"; else missing+=("$name"); fi
  done
  if [ ${#missing[@]} -gt 0 ]; then fail libraries "there is no ${missing[*]}"; else row libraries found "$words"; fi
}

# device: what the plugin says of it, its memory in MiB, its peak; fails where there is none.
device() {
  local words
  "${ours[@]}" timeout -k 5 60 "$folder/bin/baleen" doctor >"$logs/doctor.log" 2>&1
  words=$(sed -n "s/^  $plugin [0-9 ]*//p" "$logs/doctor.log" | head -n 1)
  case "$words" in
    '' | none*) fail device "${words:-see $logs/doctor.log}" "$logs/doctor.log"; return 1 ;;
    *) row device found "$words" ;;
  esac
  [ "$plugin" = cuda ] || return 0
  memory=$(awk 'match($0, /, [0-9.]+ GiB,/) { print int(substr($0, RSTART + 2) * 1024) }' <<<"$words")
  [ -n "$peak" ] || peak=$(sed -n 's/.*dense TFLOP.* bf16 \([0-9.]*\).*/\1/p' <<<"$words")
  [ -n "$peak" ] || row peak unknown "no part of it is told; --peak-tflops says it"
}

# suite NAME SECONDS SHARDS PROGRAM [arguments]: a GoogleTest program on the plugin, in so many processes at once.
suite() {
  local name=$1 seconds=$2 shards=$3 log=$logs/$1 i status worst=0 pids=()
  shift 3
  for ((i = 0; i < shards; ++i)); do
    "${ours[@]}" GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$i" timeout -k 5 "$(limit "$seconds")" "$@" \
      >"$log.$i.log" 2>&1 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do
    wait "$i"
    status=$?
    [ "$status" = 0 ] || worst=$status
  done
  local all=() passed lost skipped words running
  for ((i = 0; i < shards; ++i)); do all+=("$log.$i.log"); done
  passed=$(cat "${all[@]}" | grep -c '^\[       OK \] ')
  lost=$(cat "${all[@]}" | grep -c '^\[  FAILED  \] .*ms)$')
  skipped=$(cat "${all[@]}" | grep -c '^\[  SKIPPED \] .*ms)$')
  words="$passed passed, $lost failed, $skipped skipped"
  ended "$worst" && words+=", not all in the time there was"
  if [ "$worst" = 0 ] && [ "$passed" -gt 0 ]; then row "$name" passed "$words"; return; fi
  local died=() # without telling a failed case: the last one that began is what killed it
  for i in "${all[@]}"; do
    [ "$lost" -gt 0 ] || died+=("$i")
    running=$(grep '^\[' "$i" | tail -n 1 | sed -n 's/^\[ RUN      \] //p')
    words+=${running:+, ended in $running}
  done
  fail "$name" "$words; see $log.*.log" "${died[@]}"
}


# losses NAME PLUGIN DTYPE RANKS SCRIPT [TRANSPORT]: the losses of so many steps, one a line of losses.NAME.values, which is not there
# if the run failed. bf16 and fp16 by the strategy `precision`.
losses() {
  local log=$logs/losses.$1 words=() how=()
  [ "$5" = gpt ] && words=(-- --data "$folder/tests/golden/whales.txt")
  printf '[compute]\nplugin = "%s"\n' "$2" >"$log.toml"
  [ "$4" -gt 1 ] && printf '[transport]\nplugin = "%s"\n%s\n[mesh]\ndata = %s\n[[plan]]\nstrategy = "data"\n' "${6:-shm}" \
    "$([ "${6:-}" != nccl ] || printf 'share_gpu = true\ninterface = "lo"\nmax_channels = 1\ntimeout = 60')" "$4" >>"$log.toml"
  if [[ $3 == *16 ]]; then
    printf '[[plan]]\nstrategy = "precision"\ndtype = "%s"\n' "$3" >>"$log.toml"
  else
    how=(--dtype "$3")
  fi
  rm -f "$log.jsonl" "$log.values"
  "${ours[@]}" timeout -k 5 "$(limit 90)" "$folder/bin/baleen" run "$folder/tests/parity/$5.lua" --steps "$steps" \
    --manifest "$log.toml" "${how[@]}" --log-json "$log.jsonl" "${words[@]}" >"$log.log" 2>&1 || return
  sed -n '/"kind":"step"/s/.*"loss":\([-0-9.e+]*\).*/\1/p' "$log.jsonl" >"$log.values"
}

# run_losses DTYPE SCRIPT [RANKS [TRANSPORT]]: starts the two runs that `parity` compares.
run_losses() {
  [[ $1 != *16 ]] || [ -e "$plugins/baleen_strategy_precision.so" ] || return
  losses "$2.$1.${3:-1}${4:-}.$plugin" "$plugin" "$1" "${3:-1}" "$2" "${4:-shm}" &
  [ "${3:-1}" -gt 1 ] || losses "$2.$1.reference" cpu "$1" 1 "$2" &
}

# parity DTYPE SCRIPT LIMIT [RANKS [TRANSPORT]]: every loss within LIMIT (relative) of those of one rank on the processor.
parity() {
  local ranks=${4:-1} mine reference worst name="parity $2 $1"
  mine=$logs/losses.$2.$1.$ranks${5:-}.$plugin.values reference=$logs/losses.$2.$1.reference.values
  [ "$ranks" -gt 1 ] && name+=", $ranks ranks${5:+ over $5}"
  if [[ $1 == *16 ]] && ! [ -e "$plugins/baleen_strategy_precision.so" ]; then
    skip "$name" "the pack has no strategy precision"
    return
  fi
  if ! [ -e "$mine" ] || ! [ -e "$reference" ]; then
    fail "$name" "a run failed; see $logs/losses.$2.$1.*.log" "${mine%.values}.log" "${reference%.values}.log"
    return
  fi
  worst=$(paste "$mine" "$reference" | awk -v steps="$steps" '
    NF == 2 { d = ($1 - $2) / $2; if (d < 0) d = -d; if (!(d <= worst)) worst = d; ++count }
    END { if (count != steps) print "only " count + 0 " losses"; else printf "%.1e\n", worst }')
  if awk -v w="$worst" -v l="$3" 'BEGIN { exit !(w ~ /^[0-9]/ && w + 0 <= l + 0) }'; then
    row "$name" passed "$steps losses within $worst of the processor's"
  else
    fail "$name" "$worst, limit $3"
  fi
}

# sanitizer TOOL FILTER: one of NVIDIA's checkers over ops, of the kernels that are ours. memcheck also tells of calls that
# fail, as looking a kernel up in one module after the other does.
sanitizer() {
  local program log=$logs/sanitizer.$1.log status name="compute-sanitizer $1" more=(--kernel-name kernel_substring=baleen)
  [ "$1" != memcheck ] || more+=(--report-api-errors no)
  program=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  [ -n "$program" ] || { skip "$name" "it is not on this machine"; return; }
  [ "$(left)" -gt 20 ] || { skip "$name" "less than 20 s left"; return; }
  "${ours[@]}" timeout -k 5 "$(limit 150)" "$program" --tool "$1" "${more[@]}" --error-exitcode 9 \
    "$folder/tests/programs/test_conformance.cuda_cross_check" --gtest_filter="$2" >"$log" 2>&1
  status=$?
  if grep -q 'Device not supported' "$log"; then
    skip "$name" "it says that it does not support this machine's device; see $log"
  elif [ "$status" = 0 ] && grep -Eq 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$log"; then
    row "$name" passed "$(sed -n 's/^\[  PASSED  \] //p' "$log" | tail -n 1) 0 errors"
  else
    fail "$name" "$(how "$status"): $(grep -m 1 'SUMMARY' "$log"); see $log" "$log"
  fi
}

# sanitizers: beside each other; they are slow, and the device is not. In 16 bits racecheck itself fails in a kernel of
# cuBLASLt's, on the cards that were met.
sanitizers() {
  local tool before=${#table[@]} which
  for tool in memcheck racecheck synccheck initcheck; do
    which='*fp32*:*bf16'
    [ "$tool" != racecheck ] || which='*fp32*'
    (
      sanitizer "$tool" "${cases:-$which}" >/dev/null
      printf '%s\n' "$failed" "${table[@]:before}" >"$logs/sanitizer.$tool.row"
    ) &
  done
  wait
  for tool in memcheck racecheck synccheck initcheck; do
    table+=("$(sed 1d "$logs/sanitizer.$tool.row")")
    echo "${table[-1]}"
    [ "$(head -n 1 "$logs/sanitizer.$tool.row")" = 0 ] || failed=1
  done
}

# ratio A B: of two numbers, where the second is none of zero.
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else printf "unknown" }'; }

# kernels SHRINK: bandwidth against a device copy, and a product against PyTorch's.
kernels() {
  local log=$logs/kernels.log name words theirs status
  "${ours[@]}" timeout -k 5 "$(limit 60)" "$folder/tests/programs/bench_device" "$plugins/baleen_compute_$plugin.so" "$1" \
    >"$log" 2>"$logs/kernels.errors.log"
  status=$?
  while IFS=$'\t' read -r name words; do
    if [[ $name =~ ^"product of "([0-9]+) ]] && has_torch &&
      theirs=$(timeout -k 5 "$(limit 60)" python3 "$folder/tests/bench/matmul_torch.py" "${BASH_REMATCH[1]}" \
        2>"$logs/matmul_torch.log"); then
      words+=", PyTorch $theirs: $(ratio "${words%% *}" "$theirs") of it"
    fi
    row "$name" "" "$words"
  done < <(grep "$(printf '\t')" "$log")
  [ "$status" = 0 ] && grep -q "$(printf '\t')" "$log" ||
    fail kernels "$(how "$status"); see $logs/kernels.errors.log" "$logs/kernels.errors.log"
}

# median COLUMN FILE: of the samples of nvidia-smi's at which the card was busy.
median() { awk -F', ' -v c="$1" '$5 >= 90 { print $c }' "$2" | sort -g | awk '{ all[NR] = $1 } END { if (NR) printf "%.0f", all[int((NR + 1) / 2)] }'; }
# card FILE: what it drew and how fast it ran.
card() {
  local watts
  [ -s "$1" ] && watts=$(median 1 "$1") && [ -n "$watts" ] || return
  echo "$watts W of $(median 2 "$1"), $(median 3 "$1") MHz of $(median 4 "$1")"
}

# products NAME LOG: how the plugin computes the products of the step, as it tells at its start.
products() {
  local words
  words=$(grep -aoE 'products: [0-9].*' "$2" | tail -n 1)
  row "$1" "" "${words:-products: not told by this build}"
}

# bench MODEL ROWS SECONDS [arguments]: tokens per second beside PyTorch's, or (--without-peers) alone. ROWS: of a step;
# empty: the model's.
bench() {
  local model=$1 rows=$2 seconds=$3 peers=(--peer compile@python3) name log status watch='' line
  shift 3
  [ -z "$quick" ] || model=tiny
  name="throughput $model${rows:+, $rows rows}" log=$logs/throughput.$model${rows:+.$rows}.log
  [[ " $* " != *" --without-peers "* ]] || { peers=() log=${log%.log}.alone.log; }
  [ "$(left)" -gt 60 ] || { skip "$name" "less than 60 s left"; return; }
  [ ${#peers[@]} = 0 ] || has_torch || { skip "$name" "no PyTorch that sees a GPU"; return; }
  # PyTorch brings libraries of its own, so only Baleen is told of ours.
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" XDG_CACHE_HOME="%s" exec "%s/bin/baleen" "$@"\n' \
    "$libraries_path" "$kernel_cache" "$folder" >"$folder/bin/baleen.sh" &&
    chmod +x "$folder/bin/baleen.sh"
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=power.draw,power.limit,clocks.sm,clocks.max.sm,utilization.gpu --format=csv,noheader,nounits -lms 250 \
      >"${log%.log}.card" 2>/dev/null &
    watch=$!
  fi
  PYTHONUNBUFFERED=1 timeout -k 5 "$(limit "$seconds")" python3 "$folder/tests/bench/throughput.py" --device cuda --model "$model" \
    --rounds 1 --steps "$timed" ${rows:+--batch "$rows"} --baleen "$folder/bin/baleen.sh" "${peers[@]}" "$@" \
    >"$log" 2>&1
  status=$?
  [ -z "$watch" ] || kill "$watch" 2>/dev/null
  while IFS= read -r line; do row "$name" "" "$line"; done < <(grep '^round ' "$log"; sed -n 's/^  //p' "$log")
  products "$name" "$log"
  line=$(card "${log%.log}.card")
  [ -z "$line" ] || row "$name" "" "the card: $line"
  [ "$status" = 0 ] || fail "$name" "$(how "$status"); see $log" "$log"
}

all_parity() {
  local script dtype ranks
  for script in mlp gpt; do
    for dtype in fp64 fp32 bf16 fp16; do run_losses $dtype $script; done
    wait
  done
  run_losses fp32 gpt 2
  run_losses bf16 gpt 2
  wait
  # Ranks that share one GPU, which NCCL takes for hosts.
  [ "$plugin" = cpu ] || for ranks in 2 4; do run_losses fp32 gpt $ranks nccl; wait; done
  for script in mlp gpt; do
    parity fp64 $script 1e-10
    parity fp32 $script 1e-4
    parity bf16 $script 2e-2
    parity fp16 $script 5e-3
  done
  parity fp32 gpt 1e-4 2
  parity bf16 gpt 2e-2 2
  [ "$plugin" = cpu ] || for ranks in 2 4; do parity fp32 gpt 1e-4 $ranks nccl; done
}

# The plan's entry for 16 bits.
sixteen=$'[[plan]]\nstrategy = "precision"\ndtype = "bf16"\n'

on_host='update = "host"'

# offloaded MEMBER KINDS [OPTIONS]: the plan's entry that keeps states, and what of the other kinds is named, outside the
# device. OPTIONS: more of the strategy's, a line each.
offloaded() {
  printf '[[plan]]\nstrategy = "offload"\nmin_elements = 16\nahead = 1\n%s\n' "${3:-}"
  # shellcheck disable=SC2086
  printf '%s = ["*"]\n' $2
  printf '[offload]\nplugin = "%s"\n' "$1"
  [ "$1" != nvme ] || printf 'path = "%s/swap"\n' "$cache"
}

# kept NAME RANKS MANIFEST [arguments of run]: the losses of the small GPT on the device, one a line of kept.NAME.values. Where
# there is a strategy `data` on several ranks, they share the card.
kept() {
  local log=$logs/kept.$1 ranks=$2
  printf '%s\n[compute]\nplugin = "%s"\n' "$3" "$plugin" >"$log.toml"
  [ "$ranks" = 1 ] || printf '[transport]\nplugin = "shm"\n[mesh]\ndata = %s\n[[plan]]\nstrategy = "data"\n' "$ranks" >>"$log.toml"
  shift 3
  rm -f "$log.jsonl" "$log.values"
  "${ours[@]}" timeout -k 5 "$(limit 90)" "$folder/bin/baleen" run "$folder/tests/parity/gpt.lua" --steps "$steps" --manifest "$log.toml" \
    --log-json "$log.jsonl" "$@" -- --data "$folder/tests/golden/whales.txt" >"$log.log" 2>&1 || return 1
  sed -n '/"kind":"step"/s/.*"loss":\([-0-9.e+]*\).*/\1/p' "$log.jsonl" >"$log.values"
}

# same NAME REFERENCE [MOST]: every loss that the run has is the reference's of that step, all its digits, or differs by
# MOST of it.
same() {
  local mine=$logs/kept.$1.values reference=$logs/kept.$2.values count
  if ! [ -s "$mine" ] || ! [ -s "$reference" ]; then
    fail "memory $1" "a run failed; see $logs/kept.{$1,$2}.log" "$logs"/kept.{"$1","$2"}.log
    return
  fi
  count=$(wc -l <"$mine")
  if tail -n "$count" "$reference" | cmp -s - "$mine"; then
    row "memory $1" passed "$count losses are those of $2, to the last digit"
    return
  fi
  local worst
  worst=$(tail -n "$count" "$reference" | paste - "$mine" |
    awk '{ d = ($1 - $2) / $1; if (d < 0) d = -d; if (!(d <= worst)) worst = d } END { printf "%.1e", worst }')
  if awk -v worst="$worst" -v most="${3:-0}" 'BEGIN { exit !(worst + 0 == worst && worst <= most) }'; then
    row "memory $1" passed "$count losses are those of $2, but for $worst at most"
  else
    fail "memory $1" "losses differ from those of $2, by $worst at most"
  fi
}

# memory: what leaves the device and comes back is what it was.
memory() {
  local half=$((steps / 2)) everything='states parameters gradients activations' name
  mkdir -p "$cache/swap"
  for name in offload recompute precision data; do
    [ -e "$plugins/baleen_strategy_$name.so" ] || { skip memory "the pack has no strategy $name"; return; }
  done
  kept inside 1 '' & kept inside-bf16 1 "$sixteen" & kept inside-2-ranks 2 '' &
  kept host 1 "$(offloaded host "$everything")" & kept nvme 1 "$(offloaded nvme "$everything")" &
  kept host-bf16 1 "$sixteen$(offloaded host "$everything")" & kept host-2-ranks 2 "$(offloaded host "$everything")" &
  kept host-update 1 "$(offloaded host states "$on_host")" &
  kept host-update-everything 1 "$(offloaded host "$everything" "$on_host")" &
  kept recompute 1 $'[[plan]]\nstrategy = "recompute"\nmode = "full"\n' &
  kept checkpoint 1 "$(printf '[checkpoint]\nfolder = "%s/kept"\nevery = %s\nkeep = 0\n' "$cache" "$half")" &
  wait
  kept resumed 1 "$(offloaded host states)" --resume "$cache/kept/$(printf 'step-%09d' "$half")"
  for name in host nvme recompute checkpoint resumed; do same "$name" inside; done
  # Of these a device may round a multiplication and an addition once, where the host's cores round twice.
  for name in host-update host-update-everything; do same "$name" inside 1e-5; done
  same host-bf16 inside-bf16
  same host-2-ranks inside-2-ranks
}

text() {
  [ -s "$cache/text" ] ||
    (cd "$folder/tests/bench" && python3 -c 'import sys, pathlib, throughput; throughput.write_text(pathlib.Path(sys.argv[1]))' "$cache/text")
}

# step_of NAME MANIFEST OPTIONS STEPS SECONDS WORDS...: milliseconds of GPT-2 124M's steps (the median, the first ones
# left out), and the GiB that were held on the device. OPTIONS: the plugin's, a line each.
step_of() {
  local log=$logs/step.$1 steps=$4 seconds=$5
  printf '%s\n[compute]\nplugin = "%s"\n%s\n' "$2" "$plugin" "$3" >"$log.toml"
  shift 5
  rm -f "$log.jsonl"
  (cd "$cache" && "${ours[@]}" timeout -k 5 "$(limit "$seconds")" "$folder/bin/baleen" run "$folder/tests/bench/transformer.lua" --steps "$steps" \
    --manifest "$log.toml" --log-json "$log.jsonl" --log-level debug -- --data "$cache/text" "${sizes[@]}" --dtype fp32 "$@") \
    >"$log.log" 2>&1 || return
  sed -n '/"kind":"step"/s/.*"memory_peak_bytes":\([0-9]*\).*"step_ms":\([0-9.e+]*\).*/\2 \1/p' "$log.jsonl" |
    tail -n +$((warming + 1)) | sort -g |
    awk '{ all[NR] = $1; held = $2 } END { if (!NR) exit 1; printf "%.1f %.1f\n", all[int((NR + 1) / 2)], held / 2^30 }'
}

# step_lost NAME LOG STATUS: of a run of step_of that failed.
step_lost() {
  local log=$logs/step.$2.log
  fail "$1" "$(how "$3"); see $log" "$log"
}

# step_row NAME FIRST WORDS: WORDS are what step_of said, FIRST the milliseconds that it is compared with.
step_row() {
  row "$1" "" "${3% *} ms, $(ratio "${3% *}" "$2") of the first; ${3#* } GiB"
}

# long: 900 steps, some two minutes. The first and the last loss, and the medians of fifty steps, the first ten left out, then and in
# the end; with --quick few, whose time says nothing.
long() {
  local log=$logs/step.long steps=900 some=50 words
  [ -z "$quick" ] || steps=24 some=5
  text
  step_of long "$sixteen" "deterministic = false" $steps 200 --batch "$batch" >/dev/null ||
    { step_lost long long $?; return; }
  words=$(sed -n '/"kind":"step"/s/.*"loss":\([-0-9.e+naif]*\).*"step_ms":\([0-9.e+]*\).*/\1 \2/p' "$log.jsonl" |
    awk -v some=$some -v untimed="${quick:-0}" '
    { loss[NR] = $1; ms[NR] = $2 }
    function median(from, to,   i, j, x, all, n) {
      for (i = from; i <= to; ++i) { x = ms[i]; for (j = n++; j > 0 && all[j - 1] > x; --j) all[j] = all[j - 1]; all[j] = x }
      return all[int(n / 2)]
    }
    END {
      first = median(11, 10 + some); last = median(NR - some + 1, NR)
      printf "%s %d steps: loss %.3f, then %.3f; %.1f ms, then %.1f",
        loss[NR] + 0 < loss[1] + 0 && (untimed || last < 1.05 * first) ? "passed" : "FAILED",
        NR, loss[1], loss[NR], first, last
    }')
  case "$words" in passed*) row long passed "${words#* }" ;; *) fail long "${words#* }; see $log.jsonl" ;; esac
}

# offload_row KINDS [OPTIONS]: a step with these outside, beside the first one that was asked for (`inside`). OPTIONS: of the
# strategy, a line each.
offload_row() {
  local name="step, ${1:-nothing} outside" place=${1// /-} found
  [ -z "${2:-}" ] || name+=", ${2//$'\n'/, }" place+=.${2//[^a-z]/-}
  if found=$(step_of "${place:-inside}" "$sixteen${1:+$(offloaded host "$1" "${2:-}")}" "deterministic = false" \
    "$counted" 120 --batch "$batch"); then
    inside=${inside:-${found% *}}
    step_row "$name" "$inside" "$found"
  else
    step_lost "$name" "${place:-inside}" $?
  fi
}

# throughput_offload: what keeping things in the host's memory costs a step of GPT-2 124M in 16 bits, with updates by the
# device and by the host's cores.
throughput_offload() {
  local inside='' kinds
  text
  for kinds in '' states 'states parameters' activations; do offload_row "$kinds"; done
  offload_row states "$on_host"
  offload_row 'states parameters' "$on_host"
  offload_row states "$on_host"$'\ndelay_update = true'
}

# variant NAME MANIFEST OPTIONS ROWS: a row of it beside the defaults, which set `defaults`. OPTIONS: the plugin's, `; `
# between them.
variant() {
  local place="variant.${1//[^a-z0-9]/-}" name="variant $1${3:+, $3}" found
  place+=${3:+.${3//[^a-z0-9]/-}}
  if found=$(step_of "$place" "$2" "${3//; /$'\n'}" "$counted" 80 --batch "$4"); then
    [ -n "$3" ] || defaults=${found% *}
    step_row "$name" "$defaults" "$found"
    products "$name" "$logs/step.$place.log"
  else
    step_lost "$name" "$place" $?
  fi
}

# variants: what the plugin's options cost or save a step of GPT-2 124M. In fp32, where `tf32` counts, with a quarter of
# the rows. The last steps of products have no option: with `deterministic = false` the faster way is taken.
variants() {
  local defaults='' options single=$((batch > 4 ? batch / 4 : 1))
  text
  variant bf16 "$sixteen" '' "$batch"
  for options in 'deterministic = false' 'graphs = false' 'half_logits = true'; do variant bf16 "$sixteen" "$options" "$batch"; done
  variant fp32 '' '' "$single"
  variant fp32 '' 'tf32 = true' "$single"
}

# first: a short training on the device, whose last words are shown where it fails.
first() {
  local status words
  losses "first" "$plugin" fp32 1 gpt
  status=$?
  if [ -s "$logs/losses.first.values" ]; then
    row first passed "$(wc -l <"$logs/losses.first.values") steps, the last loss $(tail -n 1 "$logs/losses.first.values")"
  else
    words=$(tail -n 3 "$logs/losses.first.log" | tr '\n' ' ' | cut -c 1-600)
    fail first "$(how "$status"): $words" "$logs/losses.first.log"
  fi
}

# throughput ROWS MODEL SECONDS [arguments]: in bf16, with the fastest products and attention, whose sums may come in
# any order, as PyTorch's do.
throughput() {
  if [ -e "$plugins/baleen_strategy_precision.so" ]; then
    bench "$2" "$1" "$3" --dtype bf16 ${peak:+--peak-tflops "$peak"} --set compute.deterministic=false "${@:4}"
  else
    skip "throughput $2" "the pack has no strategy precision"
  fi
}

# throughput_1558: in as many rows as fit, then beside PyTorch, which needs more memory.
throughput_1558() {
  local rows
  [ -n "$batches_1558" ] || batches_1558=$((${memory:-0} >= 120 * 1024 ? 32 : ${memory:-0} >= 75 * 1024 ? 16 : 8))
  for rows in ${batches_1558//,/ }; do throughput "$rows" gpt2-1558 150 --without-peers; done
  throughput 8 gpt2-1558 240
}

# profile: time of each op in some steps of GPT-2 124M, and of each stage beside what was expected.
profile() {
  local log=$logs/profile.log line status
  text
  (cd "$cache" && "${ours[@]}" timeout -k 5 "$(limit 60)" "$folder/bin/baleen" run \
    "$folder/tests/bench/transformer.lua" --steps "$profiled" --profile --log-level debug --set compute.plugin="$plugin" --set compute.deterministic=false -- \
    --data "$cache/text" "${sizes[@]}" --batch "$batch" --dtype bf16) >"$log" 2>&1
  status=$?
  [ "$status" = 0 ] || { fail profile "$(how "$status"); see $log" "$log"; return; }
  python3 "$folder/tests/bench/stages.py" "$log" --rows "$batch" ${quick:+--model tiny} >"$logs/stages.log" 2>&1 ||
    fail profile "its table was not understood; see $logs/stages.log" "$logs/stages.log"
  while IFS= read -r line; do row profile "" "$line"; done <"$logs/stages.log"
  products profile "$log"
  row profile "" "each op: $log"
}

# wanted PART: and there is time for it.
wanted() {
  [[ ,$parts, == *",$1,"* ]] || return 1
  [ "$(left)" -gt 20 ] || { skip "$1" "less than 20 s left"; return 1; }
}

on_cpu() {
  local name
  ! wanted kernels || kernels "$shrink"
  ! wanted conformance || suite conformance 150 "$shards" "$folder/tests/programs/test_conformance.compute" "${only[@]}"
  ! wanted parity || all_parity
  ! wanted memory || memory
  for name in throughput profile cross-check throughput-1558 throughput-offload long throughput-fp32 \
    sanitizers variants; do
    ! wanted "$name" || skip "$name" "it is about a GPU; this is --plugin $plugin"
  done
}

on_gpu() {
  local both=$plugins/baleen_compute_cuda.so:$plugins/baleen_compute_cpu.so rows
  if wanted throughput; then for rows in ${batches//,/ }; do throughput "$rows" gpt2-1024 180; done; fi
  ! wanted profile || profile
  ! wanted kernels || kernels "$shrink"
  ! wanted conformance || suite conformance 180 "$shards" "$folder/tests/programs/test_conformance.compute" "${only[@]}"
  export BALEEN_TEST_COMPUTE_PLUGINS=$both
  ! wanted cross-check || suite cross-check 150 "$shards" "$folder/tests/programs/test_conformance.cuda_cross_check" "${only[@]}"
  ! wanted parity || all_parity
  ! wanted memory || memory
  ! wanted throughput-1558 || throughput_1558
  ! wanted throughput-offload || throughput_offload
  ! wanted long || long
  ! wanted throughput-fp32 || bench gpt2 '' 120
  ! wanted sanitizers || sanitizers
  ! wanted variants || variants
}

about="pack $(cat "$folder/version") on $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null ||
  echo 'a machine without nvidia-smi'), $(nproc) cores, $(date -u +%Y-%m-%dT%H:%MZ)"
cores=$(nproc)
memory='' vendor='' steps=20 shrink=1 shards=$((cores > 3 ? cores - 2 : cores)) only=()
# Steps of a throughput's turn, of one that is timed here (without how many first ones), and of a profile; GPT-2 124M's
# sizes.
timed=20 counted=20 warming=7 profiled=8 sizes=(--layers 12 --dim 768 --heads 12 --context 1024 --vocab 50257)
[ "$plugin" = cuda ] && vendor=$(vendor_folders | awk '!seen[$0]++' | paste -sd:)
[ "$plugin" = cpu ] && shrink=256 shards=1
if [ -n "$quick" ]; then
  steps=4 shrink=8192 shards=$cores only=(--gtest_filter='*fp32*')
  timed=2 counted=4 warming=2 profiled=3 sizes=(--layers 2 --dim 64 --heads 2 --context 32 --vocab 65)
fi
[ -z "$cases" ] || only=(--gtest_filter="$cases")
libraries_path=$folder/libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${vendor:+:$vendor}
# Our programs alone see our libraries. The kernels that they compile are kept while the check runs.
ours=(env LD_LIBRARY_PATH="$libraries_path" XDG_CACHE_HOME="$kernel_cache")
trap 'finish 1' EXIT
trap 'fail "the check" "it was stopped"; finish 1' INT TERM
echo "$about"
[ "$plugin" = cpu ] || libraries
device || finish 1
export BALEEN_TEST_COMPUTE_PLUGINS=$plugins/baleen_compute_$plugin.so BALEEN_TEST_BUILD=$folder
! wanted first || first
if [ "$plugin" = cuda ]; then on_gpu; else on_cpu; fi
finish "$failed"
