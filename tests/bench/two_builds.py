#!/usr/bin/env python3
"""Measures what a change of the program costs: start, planning and a training step of one build in those of another.

Usage: two_builds.py --before OTHER/build/release/bin/baleen [--baleen build/release/bin/baleen] [--rounds 9]
Each runs the examples of its own checkout (names of options change), in turn, as processes: the main job's plan on four
ranks, one step of 01_hello with its start, a step of the main job on one rank. Both have to be release builds of one
compiler.
"""
import statistics
import tempfile
import time
from pathlib import Path

from baleen_program import ROOT, add_program_option, make_parser, records, run, run_command
from machine import processor

WARM_UP, STEPS = 2, 12


def example(program: Path, name: str) -> Path:
    """Of the checkout whose build/release/bin the program is in; else of this one."""
    own = program.resolve().parents[3] / "examples" / name
    return own if own.exists() else ROOT / "examples" / name


def wall(command):
    began = time.perf_counter()
    run(command)
    return time.perf_counter() - began


def start(program: Path, _):
    return wall(run_command(program, example(program, "01_hello/train.lua"), "--steps", 1))


def plan(program: Path, _):
    return wall([str(program), "plan", str(example(program, "02_gpt/train.lua")), "--manifest",
                 str(example(program, "clusters/mixed.toml"))])


def step(program: Path, folder: Path):
    log = folder / "log.jsonl"
    run(run_command(program, example(program, "02_gpt/train.lua"), "--steps", STEPS + WARM_UP, "--log-json", log))
    elapsed = [record["elapsed"] for record in records(log, "step")]
    return statistics.median([after - before for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1:])


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--before", type=Path, required=True, help="the program to compare with")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(processor())
    with tempfile.TemporaryDirectory() as folder:
        for name, measure in {"start and one step of 01_hello": start, "plan of 02_gpt": plan,
                              "step of 02_gpt": step}.items():
            ratios, times = [], []
            for _ in range(options.rounds + 1):
                before = measure(options.before, Path(folder))
                times.append(measure(options.baleen, Path(folder)))
                ratios.append(times[-1] / before)
            warm = sorted(ratios[1:])  # the first reads both from the disk
            print(f"{name}: {statistics.median(warm):.3f} of the time before ({warm[0]:.3f} to {warm[-1]:.3f}), "
                  f"{statistics.median(times[1:]):.3f} s")


if __name__ == "__main__":
    main()
