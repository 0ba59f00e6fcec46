"""scripts/to_safetensors.py: PyTorch's files and DCP folders become safetensors; what could run code is refused.

Usage: converted.py --baleen build/release/bin/baleen
"""
import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
import transformers
from safetensors.torch import load_file

from exchange_run import Baleen, expect_close
from models import GPT2, inputs_of, loaded, make, output_of

PROGRAM = Path(__file__).resolve().parents[3] / "scripts" / "to_safetensors.py"


class Evil:
    """A pickle that makes a file when it is read."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch '{self.file}'",)


def convert(*words):
    return subprocess.run([sys.executable, PROGRAM, *map(str, words)], capture_output=True, text=True)


def expect_converted(*words):
    done = convert(*words)
    if done.returncode != 0:
        sys.exit(f"{words}: status {done.returncode}: {done.stdout}{done.stderr}")


def expect_refused(text, output, *words):
    """Refused with exit code 2, this text and no traceback; nothing is left."""
    done = convert(words[0], output, *words[1:])
    if done.returncode != 2 or text not in done.stderr or "Traceback" in done.stderr or output.exists():
        sys.exit(f"{words}: status {done.returncode}, and not `{text}`: {done.stdout}{done.stderr}")


def expect_same(what, state, tensors):
    wrong = sorted(name for name in set(state) | set(tensors)
                   if name not in state or name not in tensors or not torch.equal(state[name], tensors[name]))
    if wrong:
        sys.exit(f"{what}: not as in PyTorch: {wrong}")


def check_files(folder, model):
    """One file, a dictionary inside of it, a folder in several files."""
    state = {name: tensor for name, tensor in model.state_dict().items() if name != "lm_head.weight"}  # it is tied
    (folder / "theirs").mkdir()
    torch.save(model.state_dict(), folder / "theirs" / "pytorch_model.bin")
    model.config.save_pretrained(folder / "theirs")
    expect_converted(folder / "theirs" / "pytorch_model.bin", folder / "one.safetensors")
    expect_same("a file", state, load_file(folder / "one.safetensors"))
    inside = {"state": {"model": {"module." + name: tensor for name, tensor in model.state_dict().items()}}, "step": 7}
    torch.save(inside, folder / "inside.pt")
    expect_converted(folder / "inside.pt", folder / "inside.safetensors", "--key", "state.model", "--prefix", "module.")
    expect_same("a dictionary inside", state, load_file(folder / "inside.safetensors"))
    for size in ("2GiB", "20KiB"):
        expect_converted(folder / "theirs", folder / size, "--max-file", size)


def check_dcp(folder, model):
    state = model.state_dict()
    saved = {"model": state, "step": torch.tensor(3), "name": "x"}
    dcp.save(saved, checkpoint_id=folder / "dcp", no_dist=True)
    expect_converted(folder / "dcp", folder / "dcp.safetensors", "--key", "model")
    expect_same("DCP", state, load_file(folder / "dcp.safetensors"))
    expect_refused("no tensor's name begins with `modle.`", folder / "x.safetensors", folder / "dcp", "--key", "modle")


def check_refusals(folder):
    trace, output = folder / "trace", folder / "x.safetensors"
    torch.save({"a": Evil(trace)}, folder / "evil.bin")
    expect_refused("holds more than tensors and plain values", output, folder / "evil.bin")
    (folder / "evil").mkdir()
    (folder / "evil" / ".metadata").write_bytes(pickle.dumps(Evil(trace)))
    expect_refused("which a checkpoint does not need; it is not opened", output, folder / "evil")
    (folder / "broken.bin").write_bytes(b"PK\x03\x04broken")
    expect_refused("broken.bin: cannot be read", output, folder / "broken.bin")
    torch.save([torch.zeros(2)], folder / "list.pt")
    expect_refused("list.pt: holds a list", output, folder / "list.pt")
    torch.save({"step": 3}, folder / "none.pt")
    expect_refused("none.pt: has no tensors", output, folder / "none.pt")
    expect_refused("there is no such file", output, folder / "nowhere")
    expect_refused("has neither .metadata", output, folder)
    (folder / "parts").mkdir()
    (folder / "parts" / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "../evil.bin"}}')
    expect_refused("names ../evil.bin, which is no file of this folder", output, folder / "parts")
    if trace.exists():
        sys.exit("what a file holds was run")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", required=True)
    given = parser.parse_args()
    torch.manual_seed(21)
    transformers.utils.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make("GPT2LMHeadModel", GPT2, folder / "made", {})
        model = loaded("GPT2LMHeadModel", folder / "made")
        check_files(folder, model)
        check_dcp(folder, model)
        check_refusals(folder)
        here, there = inputs_of("GPT2LMHeadModel")
        for size in ("2GiB", "20KiB"):
            ours = Baleen(given.baleen, folder).outputs(folder / size, here)["output"]
            expect_close(f"pytorch_model.bin in files of {size}", output_of(model, there), ours)
    print(f"PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
