"""How much of gradient communication hides behind the backward pass: two ranks of one thread, the small GPT, strategy `data`.

Usage: overlap.py [--baleen build/release/bin/baleen] [--rounds 5] [--steps 8] [--accumulate 1 2] [--share 0.5]
The transport is `paced` (tests/support/paced): shared memory whose transfers last as long as their bytes take at a given
bandwidth, during which nobody computes for them. A first turn without a limit gives the time of a step that only
computes, and so the bandwidth at which a step's communication lasts --share of it. Then turns without and with that
limit follow each other. The growth of the step, as a fraction of the communication's time, is the part that did not
hide: 0 is perfect, 1 is no overlap; the bar is 0.5. Each turn is a process; its first 2 steps are left out.
"""
import argparse
import statistics
import tempfile
from pathlib import Path

from baleen_program import add_program_option, records, run, run_command
from throughput import write_text

HERE = Path(__file__).resolve().parent
WARM_UP = 2


def turn(options, folder: Path, accumulate: int, bandwidth: float):
    """Milliseconds of the steps of one run, and the bytes that a rank sends in a step. A bandwidth of 0 is no limit."""
    log = folder / "log.jsonl"
    run(run_command(options.baleen, HERE / "small_gpt.lua", "--steps", options.steps + WARM_UP, "--log-json", log,
                    "--plugin-path", options.paced, "--set", 'transport.plugin="paced"',
                    "--set", f"transport.bandwidth={bandwidth}", "--set", "mesh.data=2", "--set", "compute.threads=1",
                    "--", "--data", folder / "text.txt", "--accumulate", accumulate))
    elapsed = [record["elapsed"] * 1e3 for record in records(log, "step")]
    steps = [after - before for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1 :]
    return steps, records(log, "start")[0]["sent_bytes.all_reduce.data"]


def measure(options, folder: Path, accumulate: int):
    """Prints the rounds and the summary of one job."""
    free_steps, sent = turn(options, folder, accumulate, 0)
    communication = options.share * statistics.median(free_steps)
    bandwidth = sent / communication * 1e3
    print(f"accumulate {accumulate}: compute {communication / options.share:.1f} ms; {sent / 2**20:.1f} MiB in "
          f"{communication:.1f} ms at {bandwidth / 1e6:.1f} MB/s", flush=True)
    free, paced, growths = [], [], []
    for number in range(options.rounds):
        free_steps, paced_steps = turn(options, folder, accumulate, 0)[0], turn(options, folder, accumulate, bandwidth)[0]
        free += free_steps
        paced += paced_steps
        growths.append((statistics.median(paced_steps) - statistics.median(free_steps)) / communication)
        print(f"round {number + 1}: without limit {statistics.median(free_steps):.1f} ms, paced "
              f"{statistics.median(paced_steps):.1f} ms, growth {growths[-1]:.2f} of the communication", flush=True)
    whole = (statistics.median(paced) - statistics.median(free)) / communication
    print(f"accumulate {accumulate}: median step {statistics.median(free):.1f} ms without limit, "
          f"{statistics.median(paced):.1f} ms paced: growth {whole:.2f} of the communication "
          f"(median of rounds {statistics.median(growths):.2f}; the bar is 0.5)", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--paced", type=Path, help="the plugin; default: beside the program, ../tests/")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--accumulate", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--share", type=float, default=0.5, help="communication's time, of the computation's")
    options = parser.parse_args()
    options.paced = options.paced or options.baleen.parent.parent / "tests/baleen_transport_paced.so"
    return options


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "text.txt")
        for accumulate in options.accumulate:
            measure(options, Path(folder), accumulate)


if __name__ == "__main__":
    main()
