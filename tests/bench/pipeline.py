#!/usr/bin/env python3
"""Measures a pipeline of two stages of one thread against one rank of two threads, and what of its transfers hides.

Usage: pipeline.py [--schedules 1f1b zero_bubble] [--micro-batches 8] [--rounds 5] [--steps 8] [--layers 8] [--dim 256]
       [--share 0] [--baleen build/release/bin/baleen]
The same batch, in m micro-batches, of a transformer on both sides; the plans follow each other in each round, and each
turn is a process, whose first 2 steps are left out. The bar is 0.9 of the one rank's speed at m = 8, where a pipeline's
bubble alone leaves at most m / (m + 1) = 0.89 to a schedule that fills none (1F1B, if both stages take equal time), and
one rank loses what its threads wait for each other.
--share S: besides, the transport is `paced` (tests/bench/paced): what a rank sends in a step holds its link for S of the
time of a step, and what it receives as long. What a step grows by, over one without a limit, does not hide. What may
hide at most is reckoned from the schedule's own table, by a simulation of its actions, its transfers and one link per
rank (bench_pipeline_tables), with the times that a forward pass, a backward pass and gradients of weights take here: the
mean over the ranks of each one's median, in a traced step of zero_bubble, which has all three. The bar is 0.7 of that,
where it is more than nothing. With equal times, two ranks and S = 0.2 tables let hide: 1f1b 0 (as many micro-batches are
on their way as ranks, so each waits for its own way there and back), zero_bubble 0.25, gpipe 0.75, zero_bubble_h2 0.88.
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from baleen_program import ROOT, add_program_option, make_parser, records, run, run_command
from machine import processor
from throughput import write_text

HERE = Path(__file__).resolve().parent
WARM_UP = 2


def turn(options, folder: Path, *plan, flags=()):
    """Seconds of each step, and the bytes that rank 0 sends in one."""
    log = folder / "log.jsonl"
    run(run_command(options.baleen, HERE / "transformer.lua", "--steps", options.steps + WARM_UP, "--log-json", log,
                    "--plugin-path", options.paced, *flags, *(word for entry in plan for word in ("--set", entry)), "--",
                    "--data", folder / "text.txt",
                    "--layers", options.layers, "--dim", options.dim, "--heads", 8, "--context", 128, "--batch",
                    2 * options.micro_batches, "--accumulate", options.micro_batches))
    elapsed = [record["elapsed"] for record in records(log, "step")]
    steps = [after - before for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1:]
    sent = sum(value for key, value in records(log, "start")[0].items() if key.startswith("sent_bytes.send"))
    return steps, sent


def stages(schedule: str):
    """The keys of a manifest with two of them."""
    return ["mesh.pipeline=2", f'plan=[{{strategy="pipeline",schedule="{schedule}"}}]', "compute.threads=1"]


def compare(options, folder: Path):
    one, found = [], {schedule: [] for schedule in options.schedules}
    for _ in range(options.rounds):
        one.append(statistics.median(turn(options, folder, "compute.threads=2")[0]))
        for schedule, turns in found.items():
            turns.append(statistics.median(turn(options, folder, *stages(schedule))[0]))
    print(f"one rank of two threads: {statistics.median(one) * 1e3:.1f} ms a step")
    for schedule, turns in found.items():
        speeds = sorted(alone / own for alone, own in zip(one, turns))
        print(f"{schedule}: {statistics.median(turns) * 1e3:.1f} ms a step, {statistics.median(speeds):.3f} of its speed "
              f"({speeds[0]:.3f} to {speeds[-1]:.3f}; the bar is 0.9)", flush=True)


def pass_times(options, folder: Path):
    """How long a forward pass, a backward pass and gradients of weights take, in the first's time."""
    sys.path.insert(0, str(ROOT / "scripts"))
    import draw_pipeline
    turn(options, folder, *stages("zero_bubble"), flags=("--trace", folder / "trace.json"))
    ranks = draw_pipeline.read(folder / "trace.json", WARM_UP + 2)
    times = [statistics.mean(statistics.median(end - begin for letter, _, _, begin, end in rank if letter == kind)
                             for rank in ranks) for kind in "FBW"]
    return [time / times[0] for time in times]


def possible(options, schedule: str, times):
    """The part of a rank's sends that the schedule's table lets hide."""
    program = options.baleen.parent / "bench_pipeline_tables"
    told = subprocess.run([program, "--ranks", "2", "--micro-batches", str(options.micro_batches), "--times",
                           ":".join(f"{time:.3f}" for time in times), "--json", str(options.share)],
                          check=True, capture_output=True, text=True).stdout
    return next(max(0.0, one["one_link"]) for one in json.loads(told) if one["schedule"] == schedule)


def hide(options, folder: Path, schedule: str, times):
    def paced(bandwidth):
        return turn(options, folder, *stages(schedule), 'transport.plugin="paced"', f"transport.bandwidth={bandwidth}")

    free_steps, sent = paced(0)
    communication = options.share * statistics.median(free_steps)
    growths = []
    for _ in range(options.rounds):
        free = statistics.median(paced(0)[0])
        growths.append((statistics.median(paced(sent / communication)[0]) - free) / communication)
    may = possible(options, schedule, times)
    hidden = sorted(1 - growth for growth in growths)
    part = f", {statistics.median(hidden) / may:.2f} of that; the bar is 0.7" if may > 0 else "; the table allows nothing"
    print(f"{schedule}: {sent / 2**20:.1f} MiB in {communication * 1e3:.1f} ms a step; {may:.3f} of it may hide at most, and "
          f"{statistics.median(hidden):.2f} does ({hidden[0]:.2f} to {hidden[-1]:.2f}){part}", flush=True)


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--paced", type=Path, help="the plugin; default: beside the program, ../tests/")
    parser.add_argument("--schedules", nargs="+", default=["1f1b", "zero_bubble"])
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--share", type=float, default=0)
    options = parser.parse_args()
    options.paced = options.paced or options.baleen.parent.parent / "tests/baleen_transport_paced.so"
    print(processor())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "text.txt")
        compare(options, folder)
        if not options.share:
            return
        times = pass_times(options, folder)
        print("forward : backward : gradients of weights = " + " : ".join(f"{time:.2f}" for time in times))
        for schedule in options.schedules:
            hide(options, folder, schedule, times)


if __name__ == "__main__":
    main()
