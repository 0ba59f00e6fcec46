"""Tokens per second of Baleen and of PyTorch on a small GPT: both in turn, A B A B ..., and the ratio of the medians.

Usage: throughput.py [--baleen build/release/bin/baleen] [--peer VARIANT@PYTHON]... [--rounds 5] [--steps 15]
A peer is a variant of throughput_torch.py and a Python that has PyTorch, such as eager@python3 (the default; the Python
is the one BALEEN_PYTHON names, if it does) or fused@/opt/venv/bin/python. Each turn is a process of its own; a step is
all of forward, backward, clipping and AdamW, and the batch's reading; the first 5 steps of a turn are left out.
--ranks N also runs Baleen on N ranks that share the threads. --without-baleen measures the peers alone.
"""
import argparse
import json
import os
import random
import statistics
import string
import subprocess
import sys
import tempfile
from pathlib import Path

from baleen_program import add_program_option, records, run, run_command

HERE = Path(__file__).resolve().parent
TOKENS = 8 * 256  # of one step
WARM_UP = 5


def write_text(path: Path):
    """200,000 characters of 65 kinds: what is measured does not depend on their order."""
    alphabet = string.ascii_letters + string.digits + " .\n"
    path.write_text(alphabet + "".join(random.Random(1).choices(alphabet, k=200_000)))


def baleen_turn(options, folder: Path, ranks: int = 1):
    """Milliseconds of Baleen's steps, as its records are apart."""
    log = folder / "log.jsonl"
    cluster = ["--set", f"mesh.data={ranks}"] if ranks > 1 else []
    run(run_command(options.baleen, HERE / "small_gpt.lua", "--steps", options.steps + WARM_UP, "--log-json", log,
                    "--set", f"compute.threads={options.threads // ranks}", *cluster, "--", "--data", folder / "text.txt"))
    elapsed = [record["elapsed"] for record in records(log, "step")]
    return [(after - before) * 1e3 for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1 :]


def peer_turn(peer: str, options):
    """Milliseconds of PyTorch's steps."""
    variant, _, python = peer.partition("@")
    command = [python or os.environ.get("BALEEN_PYTHON", "python3"), str(HERE / "throughput_torch.py"),
               "--variant", variant, "--threads", str(options.threads), "--steps", str(options.steps + WARM_UP)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])["milliseconds"][WARM_UP:]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--peer", action="append", metavar="VARIANT@PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--without-baleen", action="store_true")
    options = parser.parse_args()
    options.peer = options.peer or ["eager"]
    return options


def measure(options, folder: Path):
    """All steps' milliseconds of each side, taken in turn."""
    turns = {} if options.without_baleen else {"baleen": lambda: baleen_turn(options, folder)}
    if options.ranks > 1:
        turns[f"baleen on {options.ranks} ranks"] = lambda: baleen_turn(options, folder, options.ranks)
    turns.update({peer: lambda peer=peer: peer_turn(peer, options) for peer in options.peer})
    taken = {name: [] for name in turns}
    for number in range(options.rounds):
        for name, turn in turns.items():
            steps = turn()
            taken[name] += steps
            print(f"round {number + 1}: {name}: median step {statistics.median(steps):.1f} ms", flush=True)
    return taken


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "text.txt")
        taken = measure(options, Path(folder))
    print(f"small GPT, {options.threads} threads, {options.rounds} rounds of {options.steps} steps:")
    speeds = {name: TOKENS * 1e3 / statistics.median(steps) for name, steps in taken.items()}
    for name, speed in speeds.items():
        others = [other for other in speeds if other.startswith("baleen") and other != name]
        ratios = "".join(f", {other} is {speeds[other] / speed:.2f} times as fast" for other in others)
        print(f"  {name}: {speed:.0f} tokens/s{ratios}")


if __name__ == "__main__":
    main()
