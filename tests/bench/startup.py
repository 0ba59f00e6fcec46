#!/usr/bin/env python3
"""Measures how long a run takes that does nearly nothing: the wall time of `baleen run examples/01_hello/train.lua --steps 1`.

Prints the median of the runs, the fastest and the slowest.
The bar on two cores is 0.3 s for one rank and 0.5 s for two.
"""
import statistics
import time

from baleen_program import ROOT, add_program_option, make_parser, run, run_command


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    command = run_command(options.baleen, ROOT / "examples/01_hello/train.lua", "--steps", 1)
    if options.ranks > 1:
        command += ["--set", f"mesh.data={options.ranks}", "--set", 'plan=[{strategy="data"}]']
    bar = {1: 0.3, 2: 0.5}.get(options.ranks)
    seconds = []
    for _ in range(options.runs + 1):
        began = time.perf_counter()
        run(command)
        seconds.append(time.perf_counter() - began)
    warm = seconds[1:]  # the first reads the program from the disk
    print(f"{options.runs} runs: median {statistics.median(warm):.3f} s, fastest {min(warm):.3f}, slowest {max(warm):.3f}"
          f", first of all {seconds[0]:.3f}" + (f"; the bar is a median of {bar} s" if bar else ""))


if __name__ == "__main__":
    main()
