#!/usr/bin/env python3
"""Measures how fast the shared-memory transport reduces, beside OpenMPI (shared-memory BTL) and Gloo (PyTorch), in turn.

In-place all_reduce of fp32, one after the other. Prints medians over the rounds of the ratio of times.
The bars, at 2 and 4 ranks: on memory of the transport's ("arena") 5x OpenMPI and 5x Gloo from 64 KiB to 64 MiB; on other
memory ("private") 1.5x; from 8 B to 4 KiB not slower than OpenMPI.
"""
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
SIZES = [8, 64, 512, 4096, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26]


def times(command):
    """What a side prints, as {bytes: microseconds}; None where it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {int(line[0]): float(line[1]) for line in lines if len(line) == 2 and line[0].isdigit()}
    if done.returncode != 0 or not found:
        print(f"skipped: {command[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    return found


def mpi_command(folder):
    """Builds OpenMPI's side; None, with the reason, where it cannot be."""
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        print("skipped: OpenMPI (no mpicc or mpirun; Debian: libopenmpi-dev, openmpi-bin)", file=sys.stderr)
        return None
    program = pathlib.Path(folder) / "transport_mpi"
    subprocess.run(["mpicc", "-O2", HERE / "transport_mpi.c", "-o", program], check=True)
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader", "-n", None, program]


def sides(options, folder):
    """The commands to run in turn, by name; RANKS and the sizes are filled in later."""
    shm = [options.program, options.plugin, None]
    found = {"arena": shm + ["arena"], "private": shm + ["private"]}
    if command := mpi_command(folder):
        found["OpenMPI"] = command
    if options.python:
        found["Gloo"] = [options.python, HERE / "transport_gloo.py", None]
    else:
        print("skipped: Gloo (no --python with PyTorch)", file=sys.stderr)
    return found


def show(ranks, sizes, rounds):
    names = [name for name in ("OpenMPI", "Gloo") if any(name in one for one in rounds)]
    print(f"\n{ranks} ranks: microseconds, and how many times as long the others take (medians of {len(rounds)} rounds)")
    print(f"{'bytes':>10} {'arena':>10} {'private':>10}" +
          "".join(f" {name + '/arena':>14} {name + '/private':>16}" for name in names))
    for size in sizes:
        row = f"{size:>10}"
        for side in ("arena", "private"):
            row += f" {statistics.median(one[side][size] for one in rounds):>10.2f}"
        for name in names:
            for side, width in (("arena", 14), ("private", 16)):
                ratios = [one[name][size] / one[side][size] for one in rounds if name in one]
                row += f" {statistics.median(ratios):>{width}.2f}"
        print(row, flush=True)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--program", default=ROOT / "build/release/bin/bench_transport")
    parser.add_argument("--plugin", default=ROOT / "build/release/lib/baleen/plugins/baleen_transport_shm.so")
    parser.add_argument("--python", help="one that has PyTorch, for Gloo")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = sides(options, folder)
        for ranks in options.ranks:
            rounds = []
            for _ in range(options.rounds):
                one = {name: times([ranks if word is None else word for word in command] + options.sizes)
                       for name, command in commands.items()}
                if one["arena"] is None or one["private"] is None:
                    sys.exit("error: the transport itself failed; its message is above")
                rounds.append({name: found for name, found in one.items() if found})
            show(ranks, options.sizes, rounds)


if __name__ == "__main__":
    main()
