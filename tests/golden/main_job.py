"""The main job (examples/02_gpt) in PyTorch: trains on the C++ headers and prints the held-out loss to compare with.

Usage: main_job.py [--seeds 1,2,3] [--threads 2] [--data /usr/include/c++] [--write main_job.txt]
Every file under the folder in the byte order of its path (links to folders are not followed, hidden files and folders
left out); the files number 20, 40, 60, ... are held out; each part is its files joined end to end. Training windows
start anywhere in the training part. Two held-out losses, over windows of 128 tokens that follow each other: the mean
over all batches of 16, and over 64 that are spread evenly over them, which is what the example shows.
"""
import argparse
import datetime
import os
import time
from pathlib import Path

import torch

from gpt import Gpt, Recipe, Shape, Trainer

SHAPE = Shape(layers=4, dim=128, heads=4, context=128)
EVALUATION_BATCHES = 64


def read_parts(folder: Path):
    """The training and the held-out bytes, as tensors of ids."""
    paths = []
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [os.path.join(base, name) for name in names if not name.startswith(".")]
    paths = sorted((p for p in paths if os.path.isfile(p)), key=os.fsencode)
    parts = [bytearray(), bytearray()]
    for number, path in enumerate(paths, start=1):
        parts[number % 20 == 0] += Path(path).read_bytes()
    print(f"{len(paths)} files, {len(parts[0])} bytes to train on, {len(parts[1])} held out", flush=True)
    return tuple(torch.frombuffer(part, dtype=torch.uint8).long() for part in parts)


def windows_at(ids, starts, context):
    """Windows of context + 1 ids: [len(starts), context + 1]."""
    return torch.stack([ids[s : s + context + 1] for s in starts])


def held_out_loss(model, ids, batch, context, limit=None) -> float:
    """Mean loss over the windows of `ids` that fill batches, or over `limit` batches spread evenly over them."""
    every = (len(ids) - 1) // context // batch
    count = every if limit is None else min(limit, every)
    losses = []
    with torch.no_grad():
        for number in range(count):
            first = number * every // count * batch
            losses.append(model.loss(windows_at(ids, [context * row for row in range(first, first + batch)], context)))
    return float(torch.stack(losses).mean())


def train(seed: int, recipe: Recipe, train_ids, held_out_ids, every: int):
    """Trains from a seed, says how it goes, and returns the two held-out losses: over all, and as the example."""
    torch.manual_seed(seed)
    model = Gpt(SHAPE, seed)
    trainer = Trainer(model, recipe)
    began = time.time()
    for step in range(recipe.steps):
        starts = torch.randint(len(train_ids) - SHAPE.context, (recipe.batch,)).tolist()
        loss = trainer.train(windows_at(train_ids, starts, SHAPE.context))
        if (step + 1) % every == 0:
            print(f"seed {seed} step {step + 1} loss {float(loss):.4f} {time.time() - began:.0f} s", flush=True)
    return [held_out_loss(model, held_out_ids, recipe.batch, SHAPE.context, n) for n in (None, EVALUATION_BATCHES)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path("/usr/include/c++"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--peak", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--beta2", type=float, default=0.999)
    parser.add_argument("--write", type=Path, help="also write the results there, replacing the file")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    recipe = Recipe(steps=options.steps, batch=16, peak=options.peak, warmup=options.warmup, betas=(0.9, options.beta2))
    parts = read_parts(options.data)
    lines = [f"# main_job.py: {recipe}", "# seed, held-out loss (nats per byte) over all batches and over the 64 of the example, date, PyTorch"]
    for seed in (int(s) for s in options.seeds.split(",")):
        whole, spread = train(seed, recipe, *parts, every=100)
        lines.append(f"{seed} {whole:.4f} {spread:.4f} {datetime.date.today()} {torch.__version__}")
        print(f"seed {seed} held-out loss {whole:.4f}, of the batches of the example {spread:.4f}", flush=True)
    if options.write:
        options.write.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
