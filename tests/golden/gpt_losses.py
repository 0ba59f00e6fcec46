"""Ten golden losses of the small GPT of gpt.lua, computed in PyTorch (fp64) from Baleen's own initial parameters.

Usage: gpt_losses.py --baleen build/release/bin/baleen            compares with gpt_losses.txt
       gpt_losses.py --baleen build/release/bin/baleen --write    replaces gpt_losses.txt
Exits with 77, which tests take as "skipped", where there is no PyTorch.
"""
import argparse
import datetime
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
except ImportError as problem:
    print(f"skipped: this Python has no PyTorch ({problem}); name one that has with BALEEN_PYTHON")
    sys.exit(77)

from gpt import Gpt, Recipe, Shape, Trainer

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "gpt_losses.txt"
TEXT = HERE / "whales.txt"
SHAPE = Shape(layers=2, dim=64, heads=2, context=32)
RECIPE = Recipe(steps=10, batch=4, peak=1e-2, warmup=3)
TOLERANCE = 1e-4

# Baleen's names of parameters, and those of gpt.py. {i} is a block's number.
NAMES = {
    "embedding.weight": "embedding",
    "embedding.positions": "positions",
    "blocks.{i}.attention_norm.gamma": "blocks.{i}.attention_norm.weight",
    "blocks.{i}.attention_norm.beta": "blocks.{i}.attention_norm.bias",
    "blocks.{i}.attention.qkv.weight": "blocks.{i}.attention.qkv",
    "blocks.{i}.attention.qkv.bias": "blocks.{i}.attention.qkv_bias",
    "blocks.{i}.attention.out.weight": "blocks.{i}.attention.out",
    "blocks.{i}.attention.out.bias": "blocks.{i}.attention.out_bias",
    "blocks.{i}.mlp_norm.gamma": "blocks.{i}.mlp_norm.weight",
    "blocks.{i}.mlp_norm.beta": "blocks.{i}.mlp_norm.bias",
    "blocks.{i}.mlp.up.weight": "blocks.{i}.mlp.up",
    "blocks.{i}.mlp.up.bias": "blocks.{i}.mlp.up_bias",
    "blocks.{i}.mlp.down.weight": "blocks.{i}.mlp.down",
    "blocks.{i}.mlp.down.bias": "blocks.{i}.mlp.down_bias",
    "norm.gamma": "norm.weight",
    "norm.beta": "norm.bias",
    "head.weight": "output",
}


def names_of_model(layers: int):
    """NAMES with every block's number filled in."""
    return {theirs.format(i=i): ours.format(i=i) for theirs, ours in NAMES.items() for i in range(layers)}


def read_safetensors(path: Path):
    """The fp32 tensors of a safetensors file by name."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            sys.exit(f"{path}: tensor {name} is {entry['dtype']}, expected F32")
        begin, end = entry["data_offsets"]
        piece = bytearray(raw[8 + size + begin : 8 + size + end])
        tensors[name] = torch.frombuffer(piece, dtype=torch.float32).reshape(entry["shape"])
    return tensors


def provenance() -> str:
    """The line of a golden file that says from what it was made."""
    sha = hashlib.sha256(TEXT.read_bytes()).hexdigest()
    return f"# {datetime.date.today()}, PyTorch {torch.__version__}, {TEXT.name} sha256:{sha}"


def initial_parameters(baleen: str, script: Path = HERE / "gpt.lua"):
    """What Baleen starts a script from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "initial.safetensors"
        command = [baleen, "run", str(script), "--seed", "1", "--steps", "0", "--save", str(path),
                   "--", "--data", str(TEXT)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}")
        return read_safetensors(path)


def load(model: Gpt, tensors):
    """Copies tensors into the model; every name must have its counterpart of the same shape."""
    names = names_of_model(SHAPE.layers)
    parameters = dict(model.named_parameters())
    if set(names) != set(tensors):
        sys.exit(f"parameters without a counterpart: {sorted(set(names) ^ set(tensors))}; correct NAMES")
    with torch.no_grad():
        for theirs, ours in names.items():
            if parameters[ours].shape != tensors[theirs].shape:
                sys.exit(f"{theirs} is {tuple(tensors[theirs].shape)}, {ours} is {tuple(parameters[ours].shape)}")
            parameters[ours].copy_(tensors[theirs])


def losses_from(tensors):
    """The losses of RECIPE's steps; row i of the text is its bytes from i * context."""
    model = Gpt(SHAPE)
    load(model, tensors)
    trainer = Trainer(model.double(), RECIPE)
    ids = torch.tensor(list(TEXT.read_bytes()))
    rows = [ids[i : i + SHAPE.context + 1] for i in range(0, len(ids) - SHAPE.context, SHAPE.context)]
    batches = [torch.stack(rows[s * RECIPE.batch : (s + 1) * RECIPE.batch]) for s in range(RECIPE.steps)]
    return [float(trainer.train(batch)) for batch in batches]


def golden_losses():
    """The committed losses."""
    return [float(line.split()[1]) for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", required=True, help="the program whose initial parameters are used")
    parser.add_argument("--write", action="store_true", help="replace gpt_losses.txt")
    options = parser.parse_args()
    torch.set_num_threads(1)
    losses = losses_from(initial_parameters(options.baleen))
    if options.write:
        head = ["# Losses of gpt.lua by PyTorch. Regenerate: tests/golden/gpt_losses.py --baleen PROGRAM --write",
                provenance(), "# step loss"]
        GOLDEN.write_text("\n".join(head + [f"{i} {loss:.7f}" for i, loss in enumerate(losses, 1)]) + "\n")
        return
    golden = golden_losses()
    wrong = [f"step {i}: {a:.7f} here, {b:.7f} there" for i, (a, b) in enumerate(zip(losses, golden), 1)
             if not abs(a - b) <= TOLERANCE]
    if wrong or len(golden) != RECIPE.steps:
        sys.exit(f"{GOLDEN} ({len(golden)} losses) disagrees with PyTorch {torch.__version__}:\n" + "\n".join(wrong))
    print(f"{len(golden)} losses agree with PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
