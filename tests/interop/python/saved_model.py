"""A model that Baleen trained and saved, read by the package `safetensors` into PyTorch: the held-out loss is Baleen's.

Usage: saved_model.py --baleen build/release/bin/baleen
And back: what the package writes, Baleen loads and saves again with the same bits.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
sys.path.insert(0, str(GOLDEN))

import torch
from safetensors.torch import load_file, save_file

import evaluation
from gpt_losses import SHAPE, TEXT, load

TOLERANCE = 1e-5


def run(baleen, *words):
    """Runs evaluation.lua; what follows `--` is of the script."""
    command = [baleen, "run", str(GOLDEN / "evaluation.lua"), "--seed", "1", *words, "--", "--data", str(TEXT)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}")


def held_out_of(log):
    """The last held-out loss in a run's log."""
    records = [json.loads(line) for line in Path(log).read_text().splitlines()]
    return [record["held_out_loss"] for record in records if record["kind"] == "evaluate"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", required=True)
    baleen = parser.parse_args().baleen
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, again, log = (str(Path(folder) / name) for name in
                                    ("ours.safetensors", "theirs.safetensors", "again.safetensors", "log.jsonl"))
        run(baleen, "--save", ours, "--log-json", log)
        tensors = load_file(ours)
        model = evaluation.MaskedGpt(SHAPE)
        load(model, tensors)
        ids = torch.tensor(list(TEXT.read_bytes()))
        here = evaluation.held_out(model.double(), ids[len(ids) - int(len(ids) * 0.3) :], 0)
        there = held_out_of(log)
        if not abs(here - there) <= TOLERANCE:
            sys.exit(f"the held-out loss is {here} in PyTorch and {there} in Baleen")
        changed = {name: (tensor * 1.5 + 0.25).contiguous() for name, tensor in tensors.items()}
        save_file(changed, theirs)
        run(baleen, "--load", theirs, "--steps", "0", "--save", again)
        back = load_file(again)
        wrong = sorted(name for name in set(changed) | set(back)
                       if name not in back or name not in changed or not torch.equal(back[name], changed[name]))
        if wrong:
            sys.exit(f"Baleen loads and saves otherwise what the package wrote: {wrong}")
    print(f"held-out loss {here:.7f} here, {there:.7f} there; {len(tensors)} tensors there and back; "
          f"PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
