#!/usr/bin/env python3
"""Measures tokens per second of Baleen and of PyTorch or JAX on a transformer: all in turn, A B A B ..., and the ratios.

A peer is VARIANT[:DTYPE][@PYTHON]. VARIANT: one of throughput_torch.py's (eager, foreach, fused, compile, ddp); `best`,
which is the fastest of eager, fused and compile in a short turn of each; or jax, where throughput_jax.py runs. PYTHON: one
that has PyTorch or JAX, such as /opt/venv/bin/python (default: the one that BALEEN_PYTHON names, or python3).
--dtype fp32 bf16 measures in both: Baleen with its strategy `precision`, PyTorch under autocast; a peer without DTYPE is
measured in each. Ratios compare the same numbers with the same.
Debian's python3-torch needs libopenblas0-pthread beside it: without it every product goes through a reference BLAS.
OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, which some machines set, are not given to peers.

Each turn is a process of its own; a step is all of forward, backward, clipping and AdamW, and the batch's reading; the
first steps of a turn are left out. A ratio is of the medians of one round; printed are its median, least and most over
the rounds. The last lines are rows for docs/measurements/training.md: date, processor and command included.
Also printed: the part of the multiply-add peak that a step's products reach (peak in fp32, measured after each round by
bench_peak where it is built), and each side's peak of resident memory, and how much of it is above 16 bytes per
parameter and an idle process of that side.
--device cuda measures all on a GPU: Baleen's compute plugin cuda, and PyTorch's tensors there; with --peak-tflops also
the part of that peak which the products of a step reach, and how many products are fused where Baleen tells it.
--ranks N also runs Baleen on N ranks that share the threads. --without-baleen measures the peers alone,
--without-peers Baleen.
"""
import json
import os
import random
import re
import shlex
import statistics
import string
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import machine
from baleen_program import ROOT, add_program_option, make_parser, records, run_command
from models import MODELS
from peers import DTYPES, choose, parse_peers, peer_turn
from throughput_report import print_report

HERE = Path(__file__).resolve().parent
WARM_UP = 3


def write_text(path: Path):
    """200,000 characters of 65 kinds: what is measured does not depend on their order."""
    alphabet = string.ascii_letters + string.digits + " .\n"
    path.write_text(alphabet + "".join(random.Random(1).choices(alphabet, k=200_000)))


def run_measured(command, environment=None):
    """Runs to the end; what it printed, and the peak of its resident bytes (of the largest process of its kind)."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        printed = output.read()
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with status {os.waitstatus_to_exitcode(status)}:\n{printed}")
    return printed, usage.ru_maxrss * 1024


def device_setting(options, ranks: int) -> str:
    return f"compute.threads={options.threads // ranks}" if options.device == "cpu" else f"compute.plugin={options.device}"


def baleen_turn(options, folder: Path, dtype: str, ranks: int = 1):
    """Milliseconds of Baleen's steps, as its records are apart; its peak of memory and its version."""
    log, name = folder / "log.jsonl", f"baleen {dtype}" + (f" on {ranks} ranks" if ranks > 1 else "")
    cluster = ["--set", f"mesh.data={ranks}"] if ranks > 1 else []
    told_of = ["--log-level", "debug"] if options.device == "cuda" else []  # products
    printed, peak = run_measured(run_command(
        options.baleen, HERE / "transformer.lua", "--steps", options.steps + WARM_UP, "--log-json", log, "--set",
        device_setting(options, ranks), *cluster, *told_of, *[word for s in options.set for word in ("--set", s)], "--", "--data",
        folder / "text.txt", *options.model.words, *(["--dtype", dtype] if dtype != "fp32" else [])))
    if told := re.findall(r"products: \d.*", printed):
        print(f"{name}: {told[-1]}", flush=True)
    elapsed = [record["elapsed"] for record in records(log, "step")]
    options.parameters = records(log, "start")[0]["parameters"]
    return [(after - before) * 1e3 for before, after in zip(elapsed, elapsed[1:])][WARM_UP - 1 :], peak, options.version


def fma_gflops(options):
    """The multiply-add peak of this machine now; None where bench_peak is not built."""
    program = options.baleen.parent / "bench_peak"
    if options.device != "cpu" or not program.exists():
        return None
    return json.loads(run_measured([str(program), str(options.threads)])[0])["fma_gflops"]


def arguments():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--model", choices=sorted(MODELS), default="small", dest="name")
    parser.add_argument("--peer", action="append", metavar="VARIANT[:DTYPE][@PYTHON]", help="repeatable; default: eager")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of a turn, after those left out; default: by the model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", nargs="+", choices=DTYPES, default=["fp32"])
    parser.add_argument("--batch", type=int, help="rows of a step; default: by the model")
    parser.add_argument("--peak-tflops", type=float, help="dense peak of the device, for the part of it that is reached")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for Baleen's manifest")
    parser.add_argument("--without-baleen", action="store_true")
    parser.add_argument("--without-peers", action="store_true")
    options = parser.parse_args()
    if options.without_peers and (options.peer or options.without_baleen):
        parser.error("--without-peers stands without --peer and --without-baleen")
    options.peer = [] if options.without_peers else parse_peers(options.peer or ["eager"], options.dtype)
    options.model = MODELS[options.name]
    if options.batch:
        options.model = replace(options.model, batch=options.batch)
    options.steps = options.steps or options.model.steps
    return options


class Side:
    """What was measured of one side. `medians` has one number a round."""

    def __init__(self, dtype: str, turn, idle, variant: str = None):
        self.dtype, self.turn, self.idle, self.variant = dtype, turn, idle, variant
        self.milliseconds, self.medians, self.peak_shares, self.memory, self.version = [], [], [], 0, ""

    @property
    def ours(self) -> bool:
        return self.variant is None


def make_sides(options, folder: Path):
    """The sides by their names, in the order of their turns."""
    sides = {}
    hello = [ROOT / "examples/01_hello/train.lua", "--steps", 1]
    for dtype in [] if options.without_baleen else options.dtype:
        sides[f"baleen {dtype}"] = Side(dtype, lambda dtype=dtype: baleen_turn(options, folder, dtype),
                                        lambda: run_measured(run_command(options.baleen, *hello))[1])
        if options.ranks > 1:
            sides[f"baleen {dtype} on {options.ranks} ranks"] = Side(
                dtype, lambda dtype=dtype: baleen_turn(options, folder, dtype, options.ranks), None)
    for peer in dict.fromkeys(choose(peer, options, run_measured, WARM_UP) for peer in options.peer):
        sides[peer.name] = Side(
            peer.dtype, lambda peer=peer: peer_turn(peer, options, run_measured, options.steps, WARM_UP),
            None if peer.variant == "ddp" else
            lambda peer=peer: run_measured(peer.command(options, 0), machine.peers_environment())[1], peer.variant)
    return sides


def measure(options, sides):
    """The turns of all rounds."""
    for number in range(options.rounds):
        for name, side in sides.items():
            steps, memory, side.version = side.turn()
            side.medians.append(statistics.median(steps))
            side.milliseconds += steps
            side.memory = max(side.memory, memory)
            print(f"round {number + 1}: {name}: median step {side.medians[-1]:.1f} ms", flush=True)
        if peak := fma_gflops(options):
            for side in sides.values():
                side.peak_shares.append(options.model.flops / side.medians[-1] / 1e6 / peak)


def main():
    options = arguments()
    options.command = shlex.join(["tests/bench/throughput.py", *sys.argv[1:]])
    print("\n".join(machine.description()), flush=True)
    if not options.without_baleen:
        run_command(options.baleen, HERE / "transformer.lua")
        options.version = machine.version_of(options.baleen)
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / "text.txt")
        sides = make_sides(options, Path(folder))
        measure(options, sides)
    print_report(options, sides)


if __name__ == "__main__":
    main()
