#!/usr/bin/env python3
"""Measures a step of training with too little memory beside a peer's, in turn: optimizer states lie on a disk.

Usage: peer.py --python PYTHON [--peer mmap|deepspeed] [--limit MIB] [--quarter] [--model gpt2] [--rounds 3] [--steps 3]
               [--folder FOLDER] [--variant fused] [--baleen build/release/bin/baleen]
mmap: PyTorch with AdamW's states in mapped files. deepspeed: DeepSpeed with ZeRO-Offload to the host's memory, without a
limit, since it keeps all of it there; Baleen then has a quarter of what it takes with everything inside, the rest on the
disk. With mmap both processes run in a memory control group of LIMIT MiB, page cache included, which takes root. Baleen has what its device
lacks on the disk (`offload` with `as_needed`, member `nvme`), by the plan's own numbers; PyTorch has AdamW's states in mapped
files, since it can have nothing else there. Default of LIMIT: the least, in steps of 128, in which PyTorch runs. With
--quarter Baleen alone also runs in a quarter. FOLDER is on the disk to use (default: build). PYTHON has the peer. Printed: medians, and Baleen's time over PyTorch's with the least and the most of the rounds.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from baleen_program import add_program_option, make_parser, records, run_command  # noqa: E402
from machine import processor, today  # noqa: E402
from memory_group import MIB, MemoryGroup, must  # noqa: E402
from models import MODELS  # noqa: E402
from throughput import write_text  # noqa: E402

WARM_UP = 1
MARGIN = 96  # MiB for what no plan counts: the page cache of a log, a stack


def outside(plan):
    """MiB on the disk."""
    return plan.get("offload", {"bytes": 0})["bytes"] / MIB


class Baleen:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.words = ["--data", folder / "text.txt", *MODELS[options.model].words]

    def command(self, manifest, *more):
        return run_command(self.options.baleen, HERE.parent / "transformer.lua", "--manifest", manifest, *more, "--", *self.words)

    def planned(self, manifest):
        command = self.command(manifest, "--json")
        command[1] = "plan"
        return json.loads(must(subprocess.run(command, capture_output=True, text=True), "plan").stdout)["classes"][0]

    def manifest(self, name, device_mb):
        """Of a run whose arenas take so many MiB at most; None: all inside."""
        text = '[cluster]\nhosts = [{ name = "localhost", ranks = 1 }]\n[mesh]\ndata = 1\n'
        if device_mb:
            text += (f'[[plan]]\nstrategy = "offload"\nas_needed = true\n[offload]\nplugin = "nvme"\npath = "{self.folder}"\n'
                     f"[memory]\ndevice_mb = {device_mb}\n")
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def within(self, name, limit):
        """The manifest of a process of so many MiB, and what it plans."""
        inside = self.planned(self.manifest("inside", None))
        beside = (inside["process_bytes"] - inside["planned_bytes"]["total"]) / MIB
        manifest = self.manifest(name, limit - beside - MARGIN)
        return manifest, self.planned(manifest)

    def step_ms(self, group, manifest, limit):
        log = self.folder / "log.jsonl"
        steps = self.options.steps + WARM_UP
        must(group.run(self.command(manifest, "--steps", steps, "--log-json", log), limit), "baleen run")
        return statistics.median(step["step_ms"] for step in records(log, "step")[WARM_UP:])


def torch_ms(options, group, folder, limit):
    """None where it does not run in so little."""
    with tempfile.TemporaryDirectory(dir=folder) as states:
        command = [options.python, HERE.parent / "throughput_torch.py", "--variant", options.variant, "--model", options.model,
                   "--steps", options.steps + WARM_UP, "--mmap", states]
        done = group.run(command, limit)
    if done.returncode == -9:
        return None
    return statistics.median(json.loads(must(done, "PyTorch").stdout.splitlines()[-1])["milliseconds"][WARM_UP:])


def deepspeed_ms(options, group):
    command = [options.python, HERE / "deepspeed_steps.py", "--model", options.model, "--steps", options.steps + WARM_UP]
    done = must(group.run(command, None), "DeepSpeed")
    found = [line for line in done.stdout.splitlines() if line.startswith('{"version"')]
    return statistics.median(json.loads(found[-1])["milliseconds"][WARM_UP:])


def beside_deepspeed(options, group, baleen, inside):
    quarter = inside["planned_bytes"]["total"] / 4 / MIB
    manifest = baleen.manifest("quarter", quarter)
    plan = baleen.planned(manifest)
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(baleen.step_ms(group, manifest, None))
        theirs.append(deepspeed_ms(options, group))
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"{processor()}, {today()}: {MODELS[options.model].title}, {options.rounds} rounds of {options.steps} steps")
    print(f"Baleen in {quarter:.0f} MiB of the device, {outside(plan):.0f} MiB on the disk: {statistics.median(ours):.0f} ms, "
          f"DeepSpeed with states in the host's memory {statistics.median(theirs):.0f} ms: {statistics.median(ratios):.2f} "
          f"({min(ratios):.2f} to {max(ratios):.2f})")


def least_limit(options, group, folder):
    inside = 4096
    while torch_ms(options, group, folder, inside - 128) is not None:
        inside -= 128
    return inside


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--python", required=True)
    parser.add_argument("--peer", choices=("mmap", "deepspeed"), default="mmap")
    parser.add_argument("--limit", type=int, help="MiB of each process")
    parser.add_argument("--quarter", action="store_true")
    parser.add_argument("--model", choices=list(MODELS), default="gpt2")
    parser.add_argument("--variant", choices=("eager", "foreach", "fused", "compile"), default="fused")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name, MemoryGroup() as group:
        folder = pathlib.Path(name)
        write_text(folder / "text.txt")
        baleen = Baleen(options, folder)
        inside = baleen.planned(baleen.manifest("inside", None))
        if options.peer == "deepspeed":
            beside_deepspeed(options, group, baleen, inside)
            return
        limit = options.limit or least_limit(options, group, folder)
        manifest, plan = baleen.within("limited", limit)
        ours, theirs, alone = [], [], []
        for _ in range(options.rounds):
            ours.append(baleen.step_ms(group, manifest, limit))
            theirs.append(torch_ms(options, group, folder, limit))
            alone.append(baleen.step_ms(group, folder / "inside.toml", None))
            if theirs[-1] is None:
                sys.exit(f"error: PyTorch does not run in {limit} MiB")
        ratios = [a / b for a, b in zip(ours, theirs)]
        print(f"{processor()}, {today()}: {MODELS[options.model].title}, {options.rounds} rounds of {options.steps} steps, "
              f"{limit} MiB for each process")
        print(f"Baleen {statistics.median(ours):.0f} ms ({outside(plan):.0f} MiB outside), PyTorch "
              f"{options.variant} {statistics.median(theirs):.0f} ms: {statistics.median(ratios):.2f} ({min(ratios):.2f} to "
              f"{max(ratios):.2f}); Baleen with all inside {statistics.median(alone):.0f} ms")
        if options.quarter:
            quarter = inside["planned_bytes"]["total"] // 4 / MIB
            manifest = baleen.manifest("quarter", quarter)
            plan = baleen.planned(manifest)
            times = [baleen.step_ms(group, manifest, None) for _ in range(options.rounds)]
            print(f"Baleen in a quarter, {quarter:.0f} MiB of the device: {statistics.median(times):.0f} ms "
                  f"({outside(plan):.0f} MiB outside)")


if __name__ == "__main__":
    main()
