"""How long a run takes that does nearly nothing: the median wall time of `baleen run examples/01_hello/train.lua --steps 1`.

Usage: startup.py [--baleen build/release/bin/baleen] [--runs 21]
The bar is 0.3 s on two cores.
"""
import argparse
import statistics
import time

from baleen_program import ROOT, add_program_option, run, run_command


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    command = run_command(options.baleen, ROOT / "examples/01_hello/train.lua", "--steps", 1)
    seconds = []
    for _ in range(options.runs + 1):
        began = time.perf_counter()
        run(command)
        seconds.append(time.perf_counter() - began)
    warm = seconds[1:]  # the first reads the program from the disk
    print(f"{options.runs} runs: median {statistics.median(warm):.3f} s, fastest {min(warm):.3f}, slowest {max(warm):.3f}"
          f", first of all {seconds[0]:.3f}; the bar is a median of 0.3 s")


if __name__ == "__main__":
    main()
