#!/usr/bin/env python3
"""Measures PyTorch's side of throughput.py: trains a transformer for some steps and prints their milliseconds as JSON.

eager: PyTorch's defaults. foreach: AdamW(foreach=True) besides. fused: AdamW(fused=True) besides. compile: torch.compile of
the loss besides that. ddp: as many processes as threads, of one thread each, that share the batch:
DistributedDataParallel over Gloo, eager. bf16: the loss under autocast.
The program ends with an error where AdamW does not take the path that the variant names: every operator of the first
update is looked at.
"""
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from baleen_program import make_parser
from models import MODELS

KINDS = 65  # of the characters that stand for the data
# Variant: AdamW's words, and an operator that only this path of it calls.
PATHS = {"eager": ({}, None), "ddp": ({}, None), "foreach": ({"foreach": True}, "aten::_foreach_addcdiv_"),
         "fused": ({"fused": True}, "aten::_fused_adamw_"), "compile": ({"fused": True}, "aten::_fused_adamw_")}


def make_trainer(variant: str, model, device: str = "cpu", dtype: str = "fp32"):
    """The model, trained as the variant says."""
    import torch
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
    from gpt import Gpt, Recipe, Shape, Trainer
    gpt = Gpt(Shape(model.layers, model.dim, model.heads, model.context, model.vocab, model.causal)).to(device)
    recipe = Recipe(steps=1000, batch=model.batch, warmup=100)
    trainer = Trainer(gpt, recipe)
    words, _ = PATHS[variant]
    # The groups of an optimizer that was made hold all its settings (`fused: None` too), which win over the words.
    groups = [{name: group[name] for name in ("params", "weight_decay")} for group in trainer.optimizer.param_groups]
    trainer.optimizer = torch.optim.AdamW(groups, lr=recipe.peak, betas=recipe.betas, eps=1e-8, **words)
    for group in trainer.optimizer.param_groups:
        for word in words:
            assert group[word] is True, f"AdamW's {word} is {group[word]}"
    if variant == "compile":
        gpt.loss = torch.compile(gpt.loss)
    if dtype == "bf16":
        of = gpt.loss

        def loss(windows):
            with torch.autocast(device, torch.bfloat16):
                return of(windows)

        gpt.loss = loss
    return trainer


def map_states(optimizer, folder: Path):
    """AdamW's two moments of each parameter in a file of zeros each, mapped and shared."""
    import torch
    number = 0
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            state = {"step": torch.tensor(0.0)}
            for moment in ("exp_avg", "exp_avg_sq"):
                mapped = torch.from_file(str(folder / f"{number}.{moment}"), shared=True, size=parameter.numel())
                state[moment] = mapped.view_as(parameter)
            optimizer.state[parameter] = state
            number += 1


def expect_path(variant: str, trainer, step):
    """Runs a step; ends the program where AdamW does not call what the variant promises."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    update, found = trainer.optimizer.step, set()

    class Listener(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, positional=(), named=None):
            found.add(function._schema.name)
            return function(*positional, **(named or {}))

    def heard_update():
        with Listener():
            update()

    trainer.optimizer.step = heard_update
    milliseconds = step()
    trainer.optimizer.step = update
    if PATHS[variant][1] not in found:
        sys.exit(f"error: AdamW of the variant {variant} never called {PATHS[variant][1]}; PyTorch {torch.__version__} "
                 f"called {', '.join(sorted(found))}")
    return milliseconds


def train(trainer, variant: str, context: int, rows: int, steps: int, device: str = "cpu"):
    """Milliseconds of the steps, `rows` rows of the batch each. A step is over when its device has finished."""
    import torch
    ids = torch.randint(KINDS, (200_000,))

    def step():
        began = time.perf_counter()
        starts = torch.randint(len(ids) - context, (rows,)).tolist()
        trainer.train(torch.stack([ids[s : s + context + 1] for s in starts]).to(device))
        if device != "cpu":
            torch.cuda.synchronize()
        return (time.perf_counter() - began) * 1e3

    promised = steps > 0 and PATHS[variant][1] is not None
    milliseconds = [expect_path(variant, trainer, step)] if promised else []
    return milliseconds + [step() for _ in range(steps - len(milliseconds))]


def report(milliseconds):
    """The line that throughput.py reads."""
    import torch
    print(json.dumps({"version": "PyTorch " + torch.__version__, "milliseconds": milliseconds}), flush=True)


def ddp_rank(rank: int, ranks: int, model, steps: int):
    """One process of `ddp`; rank 0 prints."""
    import torch

    class Loss(torch.nn.Module):
        """A model's loss as the forward pass that DistributedDataParallel wraps."""

        def __init__(self, model):
            super().__init__()
            self.model, self.of = model, model.loss

        def forward(self, windows):
            return self.of(windows)

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(1)
    trainer = make_trainer("ddp", model)
    trainer.model.loss = torch.nn.parallel.DistributedDataParallel(Loss(trainer.model))
    milliseconds = train(trainer, "ddp", model.context, model.batch // ranks, steps)
    if rank == 0:
        report(milliseconds)
    torch.distributed.destroy_process_group()


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--variant", choices=sorted(PATHS), default="eager")
    parser.add_argument("--model", choices=sorted(MODELS), default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--mmap", type=Path, metavar="FOLDER", help="AdamW's states lie in mapped files there")
    options = parser.parse_args()
    model = MODELS[options.model]
    if options.batch:
        model = replace(model, batch=options.batch)
    import torch
    if options.variant == "ddp":
        torch.multiprocessing.spawn(ddp_rank, args=(options.threads, model, options.steps), nprocs=options.threads)
        return
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    milliseconds = []
    if options.steps > 0:
        trainer = make_trainer(options.variant, model, options.device, options.dtype)
        if options.mmap:
            map_states(trainer.optimizer, options.mmap)
        milliseconds = train(trainer, options.variant, model.context, model.batch, options.steps, options.device)
    report(milliseconds)


if __name__ == "__main__":
    main()
