#!/usr/bin/env python3
"""Measures what `encrypt = true` of the transport `ucx` costs, beside UCX's own TCP in turn, over the loopback.

Prints the medians of both sides and of the ratios of a round: how many bytes a second travel encrypted, of those that travel
plain. `send` goes one way, so that one rank encrypts and the other decrypts; in an all_reduce both do both. The bar is 0.6 at
4 MiB, with two cores.
"""
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from baleen_program import add_program_option, make_parser, run  # noqa: E402
from machine import processor  # noqa: E402

SIDES = {"plain": {"tls": ["tcp"], "devices": ["lo"], "direct": False}, "encrypted": {"encrypt": True, "devices": ["lo"]}}
COLLECTIVES = ("send", "all_reduce")


def points(options, folder, side, size):
    """Seconds by collective."""
    file = pathlib.Path(folder) / f"{side}.toml"
    keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in SIDES[side].items())
    file.write_text(f'[mesh]\ndata = 2\n[transport]\nplugin = "ucx"\n{keys}')
    command = [options.baleen, "bench", "transport", "--manifest", file, "--json", "--from", size, "--to", size,
               "--seconds", options.seconds]
    for collective in COLLECTIVES:
        command += ["--collective", collective]
    return {point["collective"]: point["seconds"] for point in json.loads(run([str(word) for word in command]).splitlines()[-1])["points"]}


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1 << 16, 1 << 20, 1 << 22, 1 << 24])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    options = parser.parse_args()
    print(processor())
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            rounds = [{side: points(options, folder, side, size) for side in SIDES} for _ in range(options.rounds)]
            for collective in COLLECTIVES:
                plain, hidden = ([one[side][collective] for one in rounds] for side in SIDES)
                ratios = [a / b for a, b in zip(plain, hidden)]
                print(f"{collective:10} {size:>9} B: plain {statistics.median(plain) * 1e6:8.0f} us, encrypted "
                      f"{statistics.median(hidden) * 1e6:8.0f} us, ratio {statistics.median(ratios):.2f} "
                      f"({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
