#!/usr/bin/env python3
"""Measures what the check of memory costs: the time of a training step with it in that without, in turn.

Usage: memory_check.py [--model small] [--rounds 5] [--steps 20] [--batch N] [--baleen build/release/bin/baleen]
Each update compares digests of the parameters and states that it reads with those of what the update before wrote (the
job's `check = { memory = true }`, which is the default). The time of a step is the median of a run's, its first five left
out; the ratio of each round is of two runs, one behind the other. The bar is 1.01.
"""
import statistics
import tempfile
from pathlib import Path

from baleen_program import add_program_option, make_parser, records, run, run_command
from machine import processor, today
from models import MODELS
from throughput import write_text

HERE = Path(__file__).resolve().parent
WARM_UP = 5
BAR = 1.01


def step_ms(options, folder: Path, checks: bool):
    """The median of a run's steps, and of their updates."""
    log = folder / "log.jsonl"
    own = ["--data", folder / "text.txt", *MODELS[options.model].words, "--check_memory", str(checks).lower()]
    if options.batch:
        own += ["--batch", options.batch]
    run(run_command(options.baleen, HERE / "transformer.lua", "--steps", options.steps + WARM_UP, "--log-json", log, "--",
                    *own))
    steps = records(log, "step")[WARM_UP:]
    return [statistics.median(step[name] for step in steps) for name in ("step_ms", "update_ms")]


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--model", choices=list(MODELS), default="small")
    parser.add_argument("--batch", type=int, default=0, help="another batch than the model's")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    ratios, updates = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "text.txt")
        for number in range(options.rounds):
            # Whoever is second in one round is first in the next.
            pair = {checks: step_ms(options, folder, checks) for checks in ([False, True] if number % 2 == 0 else [True, False])}
            ratios.append(pair[True][0] / pair[False][0])
            updates.append(pair[True][1] / pair[False][1])
            print(f"round {number + 1}: {pair[False][0]:.2f} ms a step without, {pair[True][0]:.2f} with; "
                  f"updates {pair[False][1]:.2f} and {pair[True][1]:.2f}", flush=True)
    print(f"{processor()}, {today()}: {options.model}, {options.rounds} rounds of {options.steps} steps: a step with the check "
          f"takes {statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f}) of one without, an update "
          f"{statistics.median(updates):.3f}")
    if statistics.median(ratios) > BAR:
        raise SystemExit(f"missed: the bar is {BAR}")


if __name__ == "__main__":
    main()
