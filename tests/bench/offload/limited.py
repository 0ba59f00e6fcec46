#!/usr/bin/env python3
"""Measures GPT-2, its head tied to the embedding, trained in a process of little memory: all of it lies on a disk between its uses, and large matrices run in tiles.

Usage: limited.py [--limit 256] [--model gpt2] [--batch 1] [--steps 8] [--rounds 3] [--tile 8] [--folder FOLDER]
                  [--baleen build/release/bin/baleen]
The process is in a memory control group of LIMIT MiB, page cache included, which takes root. FOLDER is on the disk to use
(default: build). Printed: the time of a step, and what part of the least it could take that is: the time with everything in
the memory, in tiles or not, or the bytes got or put by the bandwidth that `plan --measure-offload` finds, whichever is more (the bar is 0.85);
and that the parameters of a checkpoint from there have the bits of a run of the same tiles in memory.
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

WARM_UP = 2
EVERYTHING = 'parameters = ["*"]\ngradients = ["*"]\nactivations = ["*"]\nahead = 1\npiece_mb = 4\n'


def captured(command):
    return must(subprocess.run([str(word) for word in command], capture_output=True, text=True), str(command[1]))


def tensors(path):
    """Bytes of each tensor of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {name: data[8 + size + one["data_offsets"][0] : 8 + size + one["data_offsets"][1]] for name, one in header.items()}


class Runs:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.words = ["--data", folder / "text.txt", *MODELS[options.model].words, "--batch", options.batch, "--tied"]

    def manifest(self, name, strategy=None):
        path = self.folder / f"{name}.toml"
        if strategy is None:
            path.write_text('[cluster]\nhosts = [{ name = "localhost", ranks = 1 }]\n[mesh]\ndata = 1\n')
            return path
        path.write_text('[cluster]\nhosts = [{ name = "localhost", ranks = 1 }]\n[mesh]\ndata = 1\n[[plan]]\n'
                        f'strategy = "offload"\ntile_mb = {self.options.tile}\n{strategy}[offload]\nplugin = "nvme"\n'
                        f'path = "{self.folder}"\n[checkpoint]\nfolder = "{self.folder / name}"\nmemory_mb = 16\n')
        return path

    def command(self, what, manifest, *more):
        command = run_command(self.options.baleen, HERE.parent / "transformer.lua", "--manifest", manifest, *more, "--", *self.words)
        command[1] = what
        return command

    def step_ms(self, group, manifest, limit, *more):
        log = self.folder / "log.jsonl"
        steps = self.options.steps
        must(group.run(self.command("run", manifest, "--steps", steps, "--log-json", log, *more), limit), "baleen run")
        return statistics.median(step["step_ms"] for step in records(log, "step")[WARM_UP:])

    def parameters(self, group, manifest, limit):
        """Of a checkpoint behind the last step."""
        log = self.folder / manifest.stem
        self.step_ms(group, manifest, limit, "--set", f"checkpoint.every={self.options.steps}")
        exported = self.folder / f"{manifest.stem}.safetensors"
        captured([self.options.baleen, "checkpoint", "export", log, exported])
        return tensors(exported)


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--limit", type=int, default=256, help="MiB of the process")
    parser.add_argument("--model", choices=list(MODELS), default="gpt2")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--tile", type=float, default=8, help="MiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name, MemoryGroup() as group:
        folder = pathlib.Path(name)
        write_text(folder / "text.txt")
        runs = Runs(options, folder)
        inside, outside = runs.manifest("inside", "fraction = 0\n"), runs.manifest("outside", EVERYTHING)
        plain = runs.manifest("plain")
        ours, parts = [], []
        for _ in range(options.rounds):
            plan = json.loads(captured(runs.command("plan", outside, "--measure-offload", 2, "--json")).stdout)["classes"][0]
            computing = min(runs.step_ms(group, inside, None), runs.step_ms(group, plain, None))
            least = max(1000 * plan["offload"]["least_seconds"], computing)
            ours.append(runs.step_ms(group, outside, options.limit))
            parts.append(least / ours[-1])
        same = runs.parameters(group, outside, options.limit) == runs.parameters(group, inside, None)
    print(f"{processor()}, {today()}: {MODELS[options.model].title}, batch {options.batch}, {options.rounds} rounds of {options.steps} "
          f"steps in {options.limit} MiB")
    print(f"{plan['process_bytes'] / MIB:.0f} MiB planned of the process, {plan['offload']['bytes'] / MIB:.0f} MiB on the disk: "
          f"{statistics.median(ours):.0f} ms a step (with everything in memory {computing:.0f}), {statistics.median(parts):.2f} ({min(parts):.2f} to {max(parts):.2f}) of what "
          f"disk and processor allow; parameters of {'the same' if same else 'OTHER'} bits")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
