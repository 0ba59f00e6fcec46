#!/usr/bin/env python3
"""Measures how much more memory a rank has at its peak because it saves, against the budget that `memory_mb` gives.

Usage: checkpoint_memory.py [--memory-mb 64] [--layers 24] [--dim 1024] [--heads 16] [--vocab 50257] [--ranks 4]
       [--optimizer sgd] [--folder FOLDER] [--baleen build/release/bin/baleen]
A transformer of that size, in ZeRO's third stage over the ranks, is initialized and saved within the budget; the same job
without checkpoints is initialized and ends. Each side's peak is the largest of its processes' (ru_maxrss, which the kernel
keeps, so nothing is missed between samples). Exits with 1 where the difference is more than the budget and 16 MiB. All
tensors have numbers, no page is left out: --optimizer sgd saves 4 bytes a parameter, adamw 12, and the machine needs as
many for all ranks together. 1.5B parameters: --layers 48 --dim 1600 --heads 25, with sgd 6 GB of memory and of disk.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from baleen_program import ROOT, add_program_option, make_parser, run_command
from machine import processor, today
from throughput import write_text

HERE = Path(__file__).resolve().parent
MIB = 1 << 20
SLACK = 16 * MIB


def peak_of(command):
    """Peak resident bytes of the largest process that the command became or started, and what it said."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        said = output.read()
    if status != 0:
        sys.exit(f"{' '.join(command)} failed with status {status}:\n{said}")
    return usage.ru_maxrss * 1024, said


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--memory-mb", type=float, default=64)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--dim", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--vocab", type=int, default=50257)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--folder", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    print(today(), processor())
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_text(folder / "text.txt")
        manifest = folder / "ranks.toml"
        manifest.write_text(f'[mesh]\ndata = {options.ranks}\n[[plan]]\nstrategy = "zero"\nstage = 3\naxis = "data"\n')
        own = ["--", "--data", folder / "text.txt", "--layers", options.layers, "--dim", options.dim, "--heads",
               options.heads, "--vocab", options.vocab, "--context", 64, "--optimizer", options.optimizer]
        words = ["--manifest", manifest, "--steps", 0, "--log-level", "debug", "--set", "compute.threads=1"]
        kept = ["--set", f"checkpoint.folder={folder / 'kept'}", "--set", f"checkpoint.memory_mb={options.memory_mb}"]
        script = HERE / "transformer.lua"
        without, _ = peak_of(run_command(options.baleen, script, *words, *own, "--loop", "nothing"))
        saving, said = peak_of(run_command(options.baleen, script, *words, *kept, *own, "--loop", "save"))
        saved, seconds = re.search(r"(\d+) bytes saved in ([\d.]+) s", said).groups()
        shutil.rmtree(folder / "kept")
    more = saving - without
    print(f"{int(saved) / MIB:.0f} MiB on {options.ranks} ranks, saved in {seconds} s; a rank's peak: {without / MIB:.1f} MiB "
          f"without, {saving / MIB:.1f} MiB with: {more / MIB:.1f} MiB more; budget {options.memory_mb:g} MiB")
    sys.exit(more > options.memory_mb * MIB + SLACK)


if __name__ == "__main__":
    main()
