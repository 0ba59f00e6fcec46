"""Runs of `baleen` on folders of transformers, for the tests beside this file."""
import subprocess
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "05_pretrained" / "train.lua"
TEXT = Path(__file__).resolve().parents[2] / "golden" / "whales.txt"
TOLERANCE = 1e-4


class Baleen:
    """The program, and a folder for what goes in and out of it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)

    def run(self, *words):
        """Its standard output; a failure ends the test."""
        command = [self.program, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def outputs(self, model, inputs, *arguments, program="output"):
        """What a program of the example gives for these tensors. `model`: what --load names."""
        rows, length = next(iter(inputs.values())).shape[:2]
        given, made = self.folder / "in.safetensors", self.folder / "out.safetensors"
        save_file({name: tensor.contiguous() for name, tensor in inputs.items()}, given)
        self.run("infer", SCRIPT, "--load", model, "--program", program, "--inputs", given, "--outputs", made, "--",
                 "--rows", rows, "--length", length, *arguments)
        return load_file(made)


def expect_close(what, theirs, ours):
    """Fails unless all numbers agree within TOLERANCE; tells by how much they differ."""
    if theirs.shape != ours.shape:
        sys.exit(f"{what}: {tuple(theirs.shape)} there, {tuple(ours.shape)} here")
    difference, size = (theirs - ours).abs().max().item(), theirs.abs().max().item()
    if not difference <= TOLERANCE or not size > 0.1:
        sys.exit(f"{what}: they differ by {difference}, of numbers up to {size}")
    print(f"{what}: numbers up to {size:.3g} differ by at most {difference:.2g}")
