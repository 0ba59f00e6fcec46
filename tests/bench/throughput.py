"""Tokens per second of Baleen and of PyTorch or JAX on a transformer: all in turn, A B A B ..., and the ratios of the medians.

Usage: throughput.py [--model small|gpt2|bert|vit] [--baleen build/release/bin/baleen] [--peer VARIANT@PYTHON]... [--rounds 5]
A peer is a variant of throughput_torch.py and a Python that has PyTorch, such as eager@python3 (the default; the Python
is the one BALEEN_PYTHON names, if it does) or compile@/opt/venv/bin/python; or jax@PYTHON, where throughput_jax.py runs.
Debian's python3-torch needs libopenblas0-pthread beside it: without it every product goes through a reference BLAS. Each turn is a process of its own; a step is
all of forward, backward, clipping and AdamW, and the batch's reading; the first steps of a turn are left out.
Also printed: the part of the multiply-add peak that a step's products reach (peak measured after each round by
bench_peak where it is built), and each side's peak of resident memory, and how much of it is above 16 bytes per
parameter and an idle process of that side.
--device cuda measures both on a GPU: Baleen's compute plugin cuda, and PyTorch's tensors there; with --peak-tflops also
the part of that peak which the products of a step reach. --dtype bf16: Baleen's strategy `precision`, PyTorch's autocast.
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
from dataclasses import replace
from pathlib import Path

from baleen_program import ROOT, add_program_option, records, run_command
from models import MODELS

HERE = Path(__file__).resolve().parent
WARM_UP = 3
MIB = 1 << 20


def write_text(path: Path):
    """200,000 characters of 65 kinds: what is measured does not depend on their order."""
    alphabet = string.ascii_letters + string.digits + " .\n"
    path.write_text(alphabet + "".join(random.Random(1).choices(alphabet, k=200_000)))


def run_measured(command):
    """Runs to the end; what it printed, and the peak of its resident bytes (of the largest process of its kind)."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        printed = output.read()
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with status {os.waitstatus_to_exitcode(status)}:\n{printed}")
    return printed, usage.ru_maxrss * 1024


def device_setting(options, ranks: int) -> str:
    return f"compute.threads={options.threads // ranks}" if options.device == "cpu" else f"compute.plugin={options.device}"


def baleen_turn(options, folder: Path, ranks: int = 1):
    """Milliseconds of Baleen's steps, as its records are apart; and its peak of memory."""
    log = folder / "log.jsonl"
    cluster = ["--set", f"mesh.data={ranks}"] if ranks > 1 else []
    _, peak = run_measured(run_command(
        options.baleen, HERE / "transformer.lua", "--steps", options.steps + WARM_UP, "--log-json", log, "--set",
        device_setting(options, ranks), *cluster, *[word for s in options.set for word in ("--set", s)], "--", "--data",
        folder / "text.txt", *options.model.words, *(["--dtype", options.dtype] if options.dtype != "fp32" else [])))
    elapsed = [record["elapsed"] for record in records(log, "step")]
    options.parameters = records(log, "start")[0]["parameters"]
    return [(after - before) * 1e3 for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1 :], peak


def peer_command(peer: str, options, *more):
    variant, _, python = peer.partition("@")
    words = ["throughput_jax.py"] if variant == "jax" else ["throughput_torch.py", "--variant", variant]
    return [python or os.environ.get("BALEEN_PYTHON", "python3"), str(HERE / words[0]), *words[1:],
            "--model", options.name, "--threads", str(options.threads),
            *(["--device", options.device] if options.device != "cpu" else []),
            *(["--dtype", options.dtype] if options.dtype != "fp32" else []),
            *(["--batch", str(options.batch)] if options.batch else []), *more]


def peer_turn(peer: str, options):
    """Milliseconds of a peer's steps, and its peak of memory."""
    printed, peak = run_measured(peer_command(peer, options, "--steps", str(options.steps + WARM_UP)))
    return json.loads(printed.splitlines()[-1])["milliseconds"][WARM_UP:], peak


def idle_bytes(name: str, options) -> int:
    """The peak of a process of this side that trains nothing worth mentioning."""
    if not name.startswith("baleen"):
        return run_measured(peer_command(name, options, "--steps", "0"))[1]
    return run_measured(run_command(options.baleen, ROOT / "examples/01_hello/train.lua", "--steps", 1))[1]


def fma_gflops(options):
    """The multiply-add peak of this machine now; None where bench_peak is not built."""
    program = options.baleen.parent / "bench_peak"
    if options.device != "cpu" or not program.exists():
        return None
    return json.loads(run_measured([str(program), str(options.threads)])[0])["fma_gflops"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_option(parser)
    parser.add_argument("--model", choices=sorted(MODELS), default="small", dest="name")
    parser.add_argument("--peer", action="append", metavar="VARIANT@PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of a turn, after those left out; default: by the model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int, help="rows of a step; default: by the model")
    parser.add_argument("--peak-tflops", type=float, help="dense peak of the device, for the part of it that is reached")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for Baleen's manifest")
    parser.add_argument("--without-baleen", action="store_true")
    options = parser.parse_args()
    options.peer = options.peer or ["eager"]
    options.model = MODELS[options.name]
    if options.batch:
        options.model = replace(options.model, batch=options.batch)
    options.steps = options.steps or options.model.steps
    return options


class Side:
    """What was measured of one side."""

    def __init__(self):
        self.milliseconds, self.peak_shares, self.memory = [], [], 0


def measure(options, folder: Path):
    """Each side's turns, by its name."""
    turns = {} if options.without_baleen else {"baleen": lambda: baleen_turn(options, folder)}
    if options.ranks > 1:
        turns[f"baleen on {options.ranks} ranks"] = lambda: baleen_turn(options, folder, options.ranks)
    turns.update({peer: lambda peer=peer: peer_turn(peer, options) for peer in options.peer})
    sides = {name: Side() for name in turns}
    for number in range(options.rounds):
        medians = {}
        for name, turn in turns.items():
            steps, memory = turn()
            medians[name] = statistics.median(steps)
            sides[name].milliseconds += steps
            sides[name].memory = max(sides[name].memory, memory)
            print(f"round {number + 1}: {name}: median step {medians[name]:.1f} ms", flush=True)
        if peak := fma_gflops(options):
            for name, milliseconds in medians.items():
                sides[name].peak_shares.append(options.model.flops / milliseconds / 1e6 / peak)
    return sides


def report(options, sides):
    """Prints a line per side."""
    model = options.model
    print(f"{model.title}, batch {model.batch}, context {model.context}, {options.threads} threads, {options.rounds} rounds of "
          f"{options.steps} steps:")
    speeds = {name: model.tokens * 1e3 / statistics.median(side.milliseconds) for name, side in sides.items()}
    for name, side in sides.items():
        line = f"  {name}: {speeds[name]:.0f} tokens/s"
        if side.peak_shares:
            line += f", {statistics.median(side.peak_shares):.2f} of the multiply-add peak"
        if options.peak_tflops:
            reached = speeds[name] / model.tokens * model.flops / 1e12
            line += f", {reached / options.peak_tflops:.1%} of {options.peak_tflops:g} TFLOP/s"
        if options.device == "cpu" and hasattr(options, "parameters") and "ranks" not in name and not name.startswith("ddp"):
            above = side.memory - 16 * options.parameters - idle_bytes(name, options)
            line += f", peak {side.memory / MIB:.0f} MiB, above states and idle {above / MIB:.0f} MiB"
        for other in speeds:
            if other.startswith("baleen") and other != name:
                line += f"; {other} is {speeds[other] / speeds[name]:.2f} times as fast"
        print(line)


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "text.txt")
        sides = measure(options, Path(folder))
    report(options, sides)


if __name__ == "__main__":
    main()
