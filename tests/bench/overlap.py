#!/usr/bin/env python3
"""Measures how much of a strategy's communication hides behind computation: two ranks of one thread, the small GPT.

Usage: overlap.py [--strategy data zero1 zero2 zero3 tensor] [--rounds 5] [--steps 8] [--accumulate 1 2] [--share S]
       [--baleen build/release/bin/baleen]
The transport is `paced` (tests/bench/paced): shared memory whose transfers last as long as their bytes take at a given
bandwidth, during which nobody computes for them. A first turn without a limit gives the time of a step that only
computes, and so the bandwidth at which a step's communication lasts --share of it. Then turns without and with that
limit follow each other. The growth of the step, as a fraction of the communication's time, is the part that did not
hide. Each turn is a process; its first 2 steps are left out. A busy neighbour lengthens steps by more than tensor's
communication takes, so what undisturbed steps show is printed too: the lower quartiles of both kinds of steps, and
that of each wait in traced paced steps.

Not all can hide. What the dependences of a step allow is derived from the calls of a traced step:
  data     sums of gradients behind the rest of the backward pass, as far as that lasts: all buckets but the last
  zero1, 2 scattered sums of gradients likewise; updated parameters come behind the update, which needs the norm of all
           gradients: all buckets but the last, as far as the update of the others lasts. (The next forward pass could
           hide them too, but a step ends when its calls are over.)
  zero3    gathered parameters behind the layers before: all buckets but the first; gradients as above
  tensor   the sum of an input's gradient behind the product that gives the weight's, as far as that lasts: two of the
           four sums of a layer. The forward pass reads its sums at once
The bar is to hide half of that. "As scheduled" is what the traced step itself would show on an ideal link.
"""
import statistics
import tempfile
from pathlib import Path

import step_trace
from baleen_program import add_program_option, make_parser, records, run, run_command
from throughput import write_text

HERE = Path(__file__).resolve().parent
WARM_UP = 2
TRACED = 16

# Name: axis, entry of the plan, communication's time in the computation's.
STRATEGIES = {
    "data": ("data", '{strategy="data"}', 0.5),
    "zero1": ("data", '{strategy="zero",stage=1}', 0.5),
    "zero2": ("data", '{strategy="zero",stage=2}', 0.5),
    "zero3": ("data", '{strategy="zero",stage=3}', 0.5),
    "tensor": ("tensor", '{strategy="tensor",mode="1d"}', 0.25),
}


def start(options, folder: Path, strategy: str, accumulate: int, bandwidth: float, steps: int, *more):
    """Runs the job; a bandwidth of 0 is no limit."""
    axis, entry, _ = STRATEGIES[strategy]
    run(run_command(options.baleen, HERE / "transformer.lua", "--steps", steps, *more,
                    "--plugin-path", options.paced, "--set", 'transport.plugin="paced"',
                    "--set", f"transport.bandwidth={bandwidth}", "--set", f"mesh.{axis}=2", "--set", f"plan=[{entry}]",
                    "--set", "compute.threads=1", "--", "--data", folder / "text.txt", "--accumulate", accumulate))


def turn(options, folder: Path, strategy: str, accumulate: int, bandwidth: float):
    """Seconds of the steps of one run, and the bytes that a rank sends in a step."""
    log = folder / "log.jsonl"
    start(options, folder, strategy, accumulate, bandwidth, options.steps + WARM_UP, "--log-json", log)
    elapsed = [record["elapsed"] for record in records(log, "step")]
    steps = [after - before for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1 :]
    sent = sum(value for key, value in records(log, "start")[0].items() if key.startswith("sent_bytes."))
    return steps, sent


def traced(options, folder: Path, strategy: str, accumulate: int, bandwidth: float):
    """A median step; a bandwidth of 0 is no limit."""
    trace = folder / "trace.json"
    trace.unlink(missing_ok=True)
    start(options, folder, strategy, accumulate, bandwidth, TRACED, "--trace", trace)
    return step_trace.median_step(trace)


def lower_quartile(values):
    return statistics.quantiles(values, n=4)[0]


def update_seconds(step):
    """Of the launches behind the norm of all gradients."""
    last = max(place for place, span in enumerate(step) if span.category == "wait" and span.op == "optimizer.norm")
    return step_trace.computation(step[last:])


def allowed(step, strategy: str, bandwidth: float):
    """Seconds of communication that the dependences allow to hide: see above."""
    def seconds(calls):
        return sum(call.bytes for call in calls) / bandwidth

    def all_but_last(calls):
        return min(seconds(calls[:-1]), step_trace.between(step, calls[0], calls[-1]))

    sums = [call for call in step_trace.begins(step, "all_reduce") if call.op.endswith(".grad")]
    if strategy == "tensor":  # the loss's gradients, of its input and its weight, are made by one launch
        return sum(min(seconds([call]), *step_trace.launches(step, call.op, "matmul"))
                   for call in sums if call.op != "loss.grad")
    if strategy == "data":
        return all_but_last(sums)
    reduced = all_but_last(step_trace.begins(step, "reduce_scatter"))
    gathers = step_trace.begins(step, "all_gather")
    if strategy == "zero3":
        return reduced + seconds(gathers[1:])
    return reduced + min(seconds(gathers[:-1]), update_seconds(step))


def derive(options, folder: Path, strategy: str, accumulate: int, compute: float, bandwidth: float):
    """Prints what may hide, and returns it as a fraction of the communication."""
    step = traced(options, folder, strategy, accumulate, 0)
    step_trace.scale_to(step, compute)
    calls = step_trace.begins(step, "all_reduce", "reduce_scatter", "all_gather")
    communication = sum(call.bytes for call in calls) / bandwidth
    may = allowed(step, strategy, bandwidth) / communication
    shown = step_trace.exposed(step, bandwidth) / communication
    print(f"{strategy}, accumulate {accumulate}: {len(calls)} calls; dependences allow {may:.2f} of the communication to "
          f"hide; as scheduled {1 - shown:.2f} does", flush=True)
    hidden = 1 - step_trace.waited(traced(options, folder, strategy, accumulate, bandwidth)) / communication
    print(f"{strategy}, accumulate {accumulate}: by the waits of traced paced steps {hidden:.2f} hides, "
          f"{hidden / may:.2f} of what may", flush=True)
    return may


def measure(options, folder: Path, strategy: str, accumulate: int):
    """Prints the rounds and the summary of one job."""
    share = options.share or STRATEGIES[strategy][2]
    free_steps, sent = turn(options, folder, strategy, accumulate, 0)
    compute = statistics.median(free_steps)
    communication = share * compute
    bandwidth = sent / communication
    print(f"{strategy}, accumulate {accumulate}: compute {compute * 1e3:.1f} ms; {sent / 2**20:.1f} MiB in "
          f"{communication * 1e3:.1f} ms at {bandwidth / 1e6:.1f} MB/s", flush=True)
    may = derive(options, folder, strategy, accumulate, compute, bandwidth)
    free, paced, growths = [], [], []  # steps; of each round
    for number in range(options.rounds):
        free_steps = turn(options, folder, strategy, accumulate, 0)[0]
        paced_steps = turn(options, folder, strategy, accumulate, bandwidth)[0]
        free += free_steps
        paced += paced_steps
        growths.append((statistics.median(paced_steps) - statistics.median(free_steps)) / communication)
        print(f"round {number + 1}: without limit {statistics.median(free_steps) * 1e3:.1f} ms, paced "
              f"{statistics.median(paced_steps) * 1e3:.1f} ms, growth {growths[-1]:.2f} of the communication", flush=True)
    hidden = 1 - (statistics.median(paced) - statistics.median(free)) / communication
    fast = 1 - (lower_quartile(paced) - lower_quartile(free)) / communication
    print(f"{strategy}, accumulate {accumulate}: median step {statistics.median(free) * 1e3:.1f} ms without limit, "
          f"{statistics.median(paced) * 1e3:.1f} ms paced: {hidden:.2f} of the communication hides, {hidden / may:.2f} of "
          f"what may (median of rounds {(1 - statistics.median(growths)) / may:.2f}, lower quartiles {fast / may:.2f}; the bar is 0.5)",
          flush=True)


def arguments():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--paced", type=Path, help="the plugin; default: beside the program, ../tests/")
    parser.add_argument("--strategy", nargs="+", choices=STRATEGIES, default=["data"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--accumulate", type=int, nargs="+", help="default: 1 2 for data, 1 for others")
    parser.add_argument("--share", type=float, help="communication's time, of the computation's; default: 0.5, tensor 0.25")
    options = parser.parse_args()
    options.paced = options.paced or options.baleen.parent.parent / "tests/baleen_transport_paced.so"
    return options


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "text.txt")
        for strategy in options.strategy:
            for accumulate in options.accumulate or ([1, 2] if strategy == "data" else [1]):
                measure(options, Path(folder), strategy, accumulate)


if __name__ == "__main__":
    main()
