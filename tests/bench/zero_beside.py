#!/usr/bin/env python3
"""Measures what ZeRO costs beside tensor parallelism: time, bytes sent and memory of a step, in those of `data` beside it.

Usage: zero_beside.py [--stages 1 2 3] [--rounds 5] [--steps 8] [--layers 4] [--dim 512]
       [--baleen build/release/bin/baleen]
Four ranks of one thread, data 2 x tensor 2 in shared memory, a transformer. The plans follow each other in each round;
each turn is a process, whose first 2 steps are left out. Shards are of what `tensor` leaves to a rank, so stages 1 and
2 send as many bytes as `data` (strategies/zero/README.md). The bar is 1.05 for the time and the bytes of stage 1, and
less memory.
"""
import statistics
import tempfile
from pathlib import Path

from baleen_program import add_program_option, make_parser, records, run, run_command
from machine import processor
from throughput import write_text

HERE = Path(__file__).resolve().parent
WARM_UP = 2
BAR = 1.05
TENSOR = '{strategy="tensor"}'


def entry(stage: int):
    """Of the plan, along `data`; stage 0 is `data` itself."""
    return f'{{strategy="zero",stage={stage}}}' if stage else '{strategy="data"}'


def turn(options, folder: Path, stage: int):
    """The median step in seconds, the bytes that a rank sends in a step, and the planned bytes of a rank."""
    log = folder / "log.jsonl"
    run(run_command(options.baleen, HERE / "transformer.lua", "--steps", options.steps + WARM_UP, "--log-json", log,
                    "--set", "mesh.data=2", "--set", "mesh.tensor=2",
                    "--set", 'mesh.order=["data","tensor"]', "--set", f"plan=[{entry(stage)},{TENSOR}]",
                    "--set", "compute.threads=1", "--", "--data", folder / "text.txt", "--layers", options.layers,
                    "--dim", options.dim, "--heads", 8, "--context", 128))
    elapsed = [record["elapsed"] for record in records(log, "step")]
    steps = [after - before for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1:]
    start = records(log, "start")[0]
    sent = sum(value for key, value in start.items() if key.startswith("sent_bytes."))
    return statistics.median(steps), sent, start["planned_bytes"]


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--stages", type=int, nargs="+", choices=[1, 2, 3], default=[1, 2, 3])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--dim", type=int, default=512)
    options = parser.parse_args()
    print(processor())
    found = {stage: [] for stage in [0, *options.stages]}
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "text.txt")
        for _ in range(options.rounds):
            for stage, turns in found.items():
                turns.append(turn(options, Path(folder), stage))
    plain = found.pop(0)
    missed = False
    for stage, turns in found.items():
        times = sorted(mine[0] / other[0] for mine, other in zip(turns, plain))
        print(f"zero {stage} beside tensor, in data beside tensor: time {statistics.median(times):.3f} "
              f"({times[0]:.3f} to {times[-1]:.3f}), bytes {turns[0][1] / plain[0][1]:.3f}, "
              f"memory {turns[0][2] / plain[0][2]:.3f}")
        if stage == 1 and (max(statistics.median(times), turns[0][1] / plain[0][1]) > BAR or turns[0][2] >= plain[0][2]):
            missed = True
    if missed:
        raise SystemExit(f"missed: the bar of stage 1 is {BAR} of time and bytes, and less memory")


if __name__ == "__main__":
    main()
