"""Golden held-out losses of the small GPT of evaluation.lua, in PyTorch (fp64) from Baleen's initial parameters.

Usage: evaluation.py --baleen build/release/bin/baleen            compares with evaluation.txt
       evaluation.py --baleen build/release/bin/baleen --write    replaces evaluation.txt
The last three tenths of the text are held out: 24 windows of 32 tokens that follow each other: four batches of 5 and
one of the 4 that are left. Some lines are of 2 of the 4 whole batches: the numbers 0 and 2. A loss is the sum over all tokens that count, divided
by their number. Exits with 77, which tests take as "skipped", where there is no PyTorch.
"""
import argparse
import sys

from gpt_losses import HERE, SHAPE, TEXT, initial_parameters, load, provenance

import torch
import torch.nn.functional as F

from gpt import Gpt, Recipe, Trainer

GOLDEN = HERE / "evaluation.txt"
RECIPE = Recipe(steps=10, batch=5, peak=1e-2, warmup=3)
SPACE = 32
TOLERANCE = 1e-7
# name: how many batches (0: all), the id that does not count, as evaluation.lua is told
CASES = {"all": (0, -1), "spread": (2, -1), "masked": (0, SPACE), "masked_spread": (2, SPACE)}


class MaskedGpt(Gpt):
    """Targets of one id do not count."""

    ignored = -100

    def summed(self, windows):
        """The sum of all losses that count, and their number."""
        targets = windows[:, 1:].flatten()
        losses = F.cross_entropy(self(windows[:, :-1]).flatten(0, 1), targets, reduction="none")
        counts = (targets != self.ignored).to(losses.dtype)
        return (losses * counts).sum(), counts.sum()

    def loss(self, windows):
        total, count = self.summed(windows)
        return total / count


def windows_of(ids, number, count):
    """Batch `number` of `count` windows of a part."""
    starts = [row * SHAPE.context for row in range(number * count, (number + 1) * count)]
    return torch.stack([ids[start : start + SHAPE.context + 1] for start in starts])


def held_out(model, ids, batches):
    """The loss over the held-out part."""
    every = (len(ids) - 1) // SHAPE.context // RECIPE.batch
    used = range(every) if batches == 0 else [i * every // batches for i in range(batches)]
    batch = [windows_of(ids, number, RECIPE.batch) for number in used]
    rows = (len(ids) - 1) // SHAPE.context
    if batches == 0:  # those that fill no batch
        batch.append(torch.cat([windows_of(ids, row, 1) for row in range(every * RECIPE.batch, rows)]))
    with torch.no_grad():
        parts = [model.summed(windows) for windows in batch]
    return float(sum(total for total, _ in parts) / sum(count for _, count in parts))


def losses_of(tensors, batches, ignored):
    """The held-out losses after 5 and 10 steps."""
    model = MaskedGpt(SHAPE)
    model.ignored = ignored
    load(model, tensors)
    trainer = Trainer(model.double(), RECIPE)
    ids = torch.tensor(list(TEXT.read_bytes()))
    cut = len(ids) - int(len(ids) * 0.3)
    found = []
    for step in range(RECIPE.steps):
        trainer.train(windows_of(ids[:cut], step, RECIPE.batch))
        if (step + 1) % 5 == 0:
            found.append(held_out(model, ids[cut:], batches))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", required=True, help="the program whose initial parameters are used")
    parser.add_argument("--write", action="store_true", help="replace evaluation.txt")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tensors = initial_parameters(options.baleen, HERE / "evaluation.lua")
    lines = []
    for name, (batches, ignored) in CASES.items():
        five, ten = losses_of(tensors, batches, ignored)
        lines.append(f"{name} {batches} {ignored} {five:.9f} {ten:.9f}")
    if options.write:
        head = ["# Held-out losses of evaluation.lua by PyTorch.",
                "# Regenerate: tests/golden/evaluation.py --baleen PROGRAM --write", provenance(),
                "# name, batches (0: all), id that does not count, losses after 5 and 10"]
        GOLDEN.write_text("\n".join(head + lines) + "\n")
        return
    golden = [line.split() for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    found = [line.split() for line in lines]
    if [line[:3] for line in golden] != [line[:3] for line in found]:
        sys.exit(f"{GOLDEN} has other cases than this program")
    wrong = [f"{here}, there {there}" for here, there in zip(found, golden)
             if any(not abs(float(a) - float(b)) <= TOLERANCE for a, b in zip(here[3:], there[3:]))]
    if wrong:
        sys.exit(f"{GOLDEN} disagrees with PyTorch {torch.__version__}:\n" + "\n".join(wrong))
    print(f"{2 * len(golden)} held-out losses agree with PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
