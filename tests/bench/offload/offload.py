#!/usr/bin/env python3
"""Measures how fast the offload backends are: nvme beside fio on the same disk, host beside memcpy by as many threads, in turn.

Usage: offload.py [--part nvme|host] [--rounds 7] [--seconds 2] [--folder FOLDER] [--threads 1 2]
nvme: the same pattern, bytes of a request and queue depth for both, past the page cache (O_DIRECT), io_uring on both sides,
one file that was written just before, and a second of the pattern before the time counts. In order: blocks of 8 MiB, which nvme cuts into requests; random: blocks of one request.
The bar is 0.9 of fio's bandwidth. host: blocks between 256 MiB of buffers and a slot of 1 GiB, both beyond any cache; each thread of memcpy copies its
part of all blocks and waits for nobody. The bar is 0.85. FOLDER is on the disk to measure (default: build).
"""
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from baleen_program import make_parser  # noqa: E402
from machine import description  # noqa: E402

MIB = 1 << 20
SLOT = 1024 * MIB
RAMP = 1  # seconds before the time counts, on both sides: the disk is done with what was just written


def rate_of(command):
    """Bytes per second that bench_offload prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(str(word) for word in command)}: {done.stderr.strip()}")
    return float(done.stdout)


def fio_rate(options, folder, kind, request, depth):
    """fio's bytes per second; kind as bench_offload names it."""
    is_put, is_random = kind.startswith("put"), kind.endswith("random")
    pattern = ("rand" if is_random else "") + ("write" if is_put else "read")
    words = ["fio", "--name=peer", f"--filename={folder}/fio", f"--size={SLOT}", f"--rw={pattern}", f"--bs={request}",
             f"--iodepth={depth}", "--ioengine=io_uring", "--direct=1", f"--runtime={options.seconds}", "--time_based=1",
             "--overwrite=1", "--unlink=1", f"--ramp_time={RAMP}", "--output-format=json"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    return float(job["write" if is_put else "read"]["bw_bytes"])


def show(name, rounds, peer, bar):
    """One row: medians of both sides and of the ratio."""
    ratios = [ours / theirs for ours, theirs in rounds]
    ours, theirs = (statistics.median(one[side] for one in rounds) / 1e6 for side in (0, 1))
    ratio = statistics.median(ratios)
    print(f"{name:<42} {ours:>9.0f} MB/s {theirs:>9.0f} MB/s {peer:<7} {ratio:>5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
          f"{'' if ratio >= bar else f'  below the bar of {bar}'}", flush=True)


def measure_nvme(options, folder):
    if not shutil.which("fio"):
        print("skipped: nvme (no fio; Debian: fio)", file=sys.stderr)
        return
    program, plugin = options.program, options.plugins / "baleen_offload_nvme.so"
    for kind, request, depth in [("put", MIB, 16), ("get", MIB, 16), ("put", MIB // 8, 32), ("get", MIB // 8, 32),
                                 ("put_random", MIB // 8, 32), ("get_random", MIB // 8, 32)]:
        is_random = kind.endswith("random")
        block, under_way = (request, 4 * depth) if is_random else (8 * MIB, 6)
        rounds = []
        for _ in range(options.rounds):
            ours = rate_of([program, plugin, kind, block, under_way, SLOT, options.seconds, f"path={folder}",
                            f"request={request}", f"depth={depth}"])
            rounds.append((ours, fio_rate(options, folder, kind, request, depth)))
        show(f"nvme {kind}, {request // 1024} KiB, depth {depth}", rounds, "fio", 0.9)


def measure_host(options):
    program, plugin = options.program, options.plugins / "baleen_offload_host.so"
    for threads in options.threads:
        for kind in ("put", "get"):
            for block in (4 * MIB, 16 * MIB, 128 * MIB):
                pattern = [block, 3, SLOT, options.seconds]
                rounds = [(rate_of([program, plugin, kind, *pattern, f"threads={threads}"]),
                           rate_of([program, "memcpy", threads, kind, *pattern])) for _ in range(options.rounds)]
                show(f"host {kind}, blocks of {block // MIB} MiB, {threads} threads", rounds, "memcpy", 0.85)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/bench_offload")
    parser.add_argument("--plugins", type=pathlib.Path, default=ROOT / "build/release/lib/baleen/plugins")
    parser.add_argument("--part", choices=["nvme", "host"], help="one of the two alone")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    print("\n".join(description()))
    print(f"medians of {options.rounds} rounds, the two sides in turn, {options.seconds:g} s each; the ratio with least and most")
    if options.part != "nvme":
        measure_host(options)
    if options.part != "host":
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            measure_nvme(options, folder)


if __name__ == "__main__":
    main()
