#!/usr/bin/env python3
"""Measures what checkpoints cost: the main job's time with one every 50 steps, and how fast a large one is written.

Usage: checkpoints.py [--rounds 5] [--steps 200] [--every 50] [--dim 1024] [--layers 6] [--ranks 2]
       [--part stall|bandwidth] [--folder FOLDER] [--baleen build/release/bin/baleen]
The main job (examples/02_gpt) runs without checkpoints and with, in turn; the ratio is of the time from its 10th to its
last step, and the bar is 1.01. Then a transformer saves itself at once, on --ranks ranks, and a plain program writes as
many bytes to one file of the same folder, in pieces of 8 MiB, with one fsync; the bar is 0.8 of its bandwidth. A save's time
is what the program says of it (--log-level debug): from the copy in memory to the last fsync, `latest` written. FOLDER is on
the disk to measure (default: a temporary folder beside the sources).
"""
import os
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from baleen_program import ROOT, add_program_option, make_parser, records, run, run_command
from machine import processor, today
from throughput import write_text

HERE = Path(__file__).resolve().parent
WARM_UP = 10
PIECE = 8 << 20


def training(options, folder: Path, saves: bool):
    """Seconds from the step after the warm-up to the last one."""
    log = folder / "log.jsonl"
    kept = ["--set", f"checkpoint.folder={folder / 'kept'}", "--set", f"checkpoint.every={options.every}"]
    run(run_command(options.baleen, ROOT / "examples/02_gpt/train.lua", "--steps", options.steps, "--log-json", log,
                    *(kept if saves else [])))
    elapsed = [record["elapsed"] for record in records(log, "step")]
    return elapsed[-1] - elapsed[WARM_UP - 1]


def saving(options, folder: Path):
    """Seconds of one save, and its bytes."""
    where = folder / f"large-{time.monotonic_ns()}"
    words = ["--steps", 0, "--log-level", "debug", "--set", "compute.threads=1", "--set", f"mesh.data={options.ranks}",
             "--set", f"checkpoint.folder={where}"]
    own = ["--data", folder / "text.txt", "--layers", options.layers, "--dim", options.dim, "--heads", 16, "--loop", "save"]
    os.sync()
    said = run(run_command(options.baleen, HERE / "transformer.lua", *words, "--", *own))
    size, seconds = re.search(r"(\d+) bytes saved in ([\d.]+) s", said).groups()
    shutil.rmtree(where)
    return float(seconds), int(size)


def plain(folder: Path, size: int):
    """Seconds of a sequential writer of that many bytes."""
    piece = os.urandom(PIECE)
    path = folder / "plain"
    os.sync()
    began = time.perf_counter()
    with open(path, "wb", buffering=0) as file:
        for _ in range(size // PIECE):
            file.write(piece)
        os.fsync(file.fileno())
    seconds = time.perf_counter() - began
    path.unlink()
    return seconds


def report_stall(options, folder: Path):
    ratios = []
    for _ in range(options.rounds):
        without = training(options, folder, False)
        ratios.append(training(options, folder, True) / without)
    print(f"time with a checkpoint every {options.every} steps, in that without: "
          f"{statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})")


def report_bandwidth(options, folder: Path):
    write_text(folder / "text.txt")
    shares, rates = [], []
    for _ in range(options.rounds):
        seconds, size = saving(options, folder)
        rates.append(size / seconds / 1e6)
        shares.append(plain(folder, size) / seconds)
    print(f"a checkpoint of {size / 1e6:.0f} MB on {options.ranks} ranks: {statistics.median(rates):.0f} MB/s, in the "
          f"bandwidth of a plain writer {statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f})")


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--part", choices=["stall", "bandwidth"], help="one of the two alone")
    parser.add_argument("--folder", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    print(today(), processor())
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        if options.part != "bandwidth":
            report_stall(options, Path(name))
        if options.part != "stall":
            report_bandwidth(options, Path(name))


if __name__ == "__main__":
    main()
