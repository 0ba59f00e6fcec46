#!/usr/bin/env python3
"""Measures how often a job that nothing is wrong with is warned about, or ended, on a machine that has too much to do.

Usage: false_alarms.py [--minutes 60] [--load 50] [--baleen build/release/bin/baleen]
So many processes compute without end while small GPTs train, one job after the other, on 1 to 4 ranks, over shared memory,
sockets and UCX. Nothing may be said about a job but what it says without the load, and each must end with exit code 0.
Ends with 1 after a false alarm, which is printed.
"""
import itertools
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
from baleen_program import add_program_option, make_parser, run_command
from throughput import write_text

SCRIPT = Path(__file__).resolve().parent / "transformer.lua"
MODEL = ["--layers", 2, "--dim", 64, "--heads", 2, "--context", 64, "--batch", 12]
BUSY = [sys.executable, "-c", "while True: pass"]
# name: words for `baleen run`
CLUSTERS = {
    "1 rank": [],
    "data 2 in shared memory": ["--set", "mesh.data=2"],
    "data 4 in shared memory": ["--set", "mesh.data=4"],
    "data 2 over sockets": ["--set", "mesh.data=2", "--set", "transport.plugin=ucx", "--set", 'transport.tls=["tcp"]'],
    "tensor 2": ["--set", "mesh.tensor=2", "--set", 'plan=[{strategy="tensor"}]'],
    "zero 3 on 3": ["--set", "mesh.data=3", "--set", 'plan=[{strategy="zero", stage=3}]'],
    "sequence 2, a ring": ["--set", "mesh.sequence=2", "--set", 'plan=[{strategy="sequence", mode="ring"}]'],
}
WARNING = re.compile(r"\b(warning|error)\b", re.IGNORECASE)


def train(options, words, text, steps):
    """Its exit code, and the lines that a user would worry about."""
    done = subprocess.run(run_command(options.baleen, SCRIPT, "--steps", steps, *words, "--", "--data", text, *MODEL),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, [line for line in done.stdout.splitlines() if WARNING.search(line)]


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--load", type=int, default=50, help="processes that compute beside the jobs")
    parser.add_argument("--steps", type=int, default=200, help="of a job")
    options = parser.parse_args()
    print("\n".join(machine.description()), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        write_text(text)
        usual = {name: train(options, words, text, 3) for name, words in CLUSTERS.items()}
        busy = [subprocess.Popen(BUSY) for _ in range(options.load)]
        end, jobs, alarms = time.monotonic() + 60 * options.minutes, 0, 0
        try:
            for name in itertools.cycle(CLUSTERS):
                if time.monotonic() >= end:
                    break
                began = time.monotonic()
                status, lines = train(options, CLUSTERS[name], text, options.steps)
                jobs += 1
                new = [line for line in lines if line not in usual[name][1]]
                print(f"{name}: {time.monotonic() - began:.0f} s, exit code {status}, {len(new)} alarms", flush=True)
                if status != 0 or new:
                    alarms += 1
                    print("".join(f"  {line}\n" for line in new), end="", flush=True)
        finally:
            for process in busy:
                process.kill()
                process.wait()
    print(f"{jobs} jobs in {options.minutes:g} minutes beside {options.load} busy processes: {alarms} with a false alarm")
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
