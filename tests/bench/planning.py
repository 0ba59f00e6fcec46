#!/usr/bin/env python3
"""Measures what planning costs: seconds and memory of `baleen plan` for large models, and how both grow with the layers.

Usage: planning.py [--only WORD] [--deep 96 192 768] [--rounds 3] [--baleen build/release/bin/baleen]
Plans run one after the other, each on one core as a process of its own. The models are GPTs with rows of 2,048 tokens, one
row a rank and micro-batch. The bars: each in 10 s and 1 GiB; 768 layers in 1.15 times eight times the seconds of 96.
Deep ones run in turn, and the fastest of the rounds counts.
"""
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from baleen_program import ROOT, add_program_option, make_parser
from machine import processor

SCRIPT = ROOT / "tests/parity/plan/gpt_large.lua"
TEXT = ROOT / "tests/golden/whales.txt"
ZERO, TENSOR, SEQUENCE = "zero", {"strategy": "tensor"}, {"strategy": "sequence"}
GPT3 = {"layers": 96, "dim": 12288, "heads": 96}


def zero(stage, **more):
    return {"strategy": ZERO, "stage": stage, **more}


# name: model, mesh (outermost first), plan
CASES = {
    "7.5B, data 8 x tensor 8, zero 1": ({"layers": 36, "dim": 4096, "heads": 32}, {"data": 8, "tensor": 8}, [zero(1), TENSOR]),
    "GPT-3, data 128 x tensor 8, zero 1": (GPT3, {"data": 128, "tensor": 8}, [zero(1), TENSOR]),
    "GPT-3, data 128 x tensor 8, zero 2": (GPT3, {"data": 128, "tensor": 8}, [zero(2), TENSOR]),
    "GPT-3, data 128 x tensor 8, zero 3": (GPT3, {"data": 128, "tensor": 8}, [zero(3), TENSOR]),
    "1T, data 64 x tensor 8, zero 1": ({"layers": 128, "dim": 25600, "heads": 160}, {"data": 64, "tensor": 8}, [zero(1), TENSOR]),
    "GPT-3, data 128 x sequence 8, zero 3 over both":
        (GPT3, {"data": 128, "sequence": 8}, [zero(3, extra_axes="sequence"), SEQUENCE]),
    "GPT-3, sequence 8 x data 128, zero 3 over both":
        (GPT3, {"sequence": 8, "data": 128}, [zero(3, extra_axes="sequence"), SEQUENCE]),
}


def toml(value):
    return f'"{value}"' if isinstance(value, str) else str(value)


def manifest(mesh, plan):
    ranks = 1
    for size in mesh.values():
        ranks *= size
    text = f'[cluster]\nhosts = [{{ name = "localhost", ranks = {ranks} }}]\n[mesh]\n'
    text += "".join(f"{axis} = {size}\n" for axis, size in mesh.items())
    text += f"order = [{', '.join(map(toml, mesh))}]\n"
    for entry in plan:
        text += "[[plan]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in entry.items())
    return text + "[compute]\nmemory = 1000000000\n"  # MiB for all ranks of this one host: everything fits


def plan(program, folder, model, mesh, entries):
    """Seconds of the processor, and the peak of resident MiB."""
    path = Path(folder) / "ranks.toml"
    path.write_text(manifest(mesh, entries))
    rows = mesh.get("data", 1)
    words = [str(program), "plan", str(SCRIPT), "--manifest", str(path), "--", "--data", str(TEXT), "--context", "2048",
             "--batch", str(rows), "--accumulate", "1"]
    for key, value in model.items():
        words += [f"--{key}", str(value)]
    core = min(os.sched_getaffinity(0))
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(words)} failed:\n{said}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--only", default="", help="the plans whose names have this word")
    parser.add_argument("--deep", type=int, nargs="+", default=[96, 768], help="numbers of layers, the fewest first")
    parser.add_argument("--rounds", type=int, default=3, help="how often each of these is planned")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(processor())
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, mesh, entries) in CASES.items():
            if options.only in name:
                seconds, peak = plan(options.baleen, folder, model, mesh, entries)
                print(f"{name}: {seconds:.1f} s, {peak:.0f} MiB")
        for name, mesh, entries in (("zero 3 on 8", {"data": 8}, [zero(3)]), ("data on 8", {"data": 8}, [{"strategy": "data"}])):
            if options.only not in name:
                continue
            runs = [[plan(options.baleen, folder, {"layers": layers, "dim": 1024, "heads": 16}, mesh, entries)
                     for layers in options.deep] for _ in range(options.rounds)]
            best = [min(of_one) for of_one in zip(*runs)]
            for layers, (seconds, peak) in zip(options.deep, best):
                ratio = seconds / best[0][0] / (layers / options.deep[0])
                print(f"{name}, {layers} layers: {seconds:.2f} s, {peak:.0f} MiB, {ratio:.2f} times linear")


if __name__ == "__main__":
    main()
