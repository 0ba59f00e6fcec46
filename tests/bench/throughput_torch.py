"""PyTorch's side of throughput.py: trains a transformer for some steps and prints their milliseconds as a JSON list.

Usage: throughput_torch.py --variant eager|foreach|fused|compile|ddp [--model small] [--batch N] [--threads 2] [--steps 30]
       [--device cpu|cuda] [--dtype fp32|bf16]
eager: PyTorch's defaults; foreach: AdamW(foreach=True) besides; fused: AdamW(fused=True) besides; compile: torch.compile of the loss besides that; ddp: as many
processes as threads, of one thread each, that share the batch: DistributedDataParallel over Gloo, eager. bf16: the loss under autocast.
"""
import argparse
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
from gpt import Gpt, Recipe, Shape, Trainer  # noqa: E402
from models import MODELS, Model  # noqa: E402

KINDS = 65  # of the characters that stand for the data


def make_trainer(variant: str, model: Model, device: str = "cpu", dtype: str = "fp32") -> Trainer:
    """The model, trained as the variant says."""
    gpt = Gpt(Shape(model.layers, model.dim, model.heads, model.context, model.vocab, model.causal)).to(device)
    trainer = Trainer(gpt, Recipe(steps=1000, batch=model.batch, warmup=100))
    how = {"foreach": {"foreach": True}, "fused": {"fused": True}, "compile": {"fused": True}}.get(variant)
    if how:
        trainer.optimizer = torch.optim.AdamW(trainer.optimizer.param_groups, lr=1e-3, **how)
    if variant == "compile":
        gpt.loss = torch.compile(gpt.loss)
    if dtype == "bf16":
        of = gpt.loss

        def loss(windows):
            with torch.autocast(device, torch.bfloat16):
                return of(windows)

        gpt.loss = loss
    return trainer


def train(trainer: Trainer, context: int, rows: int, steps: int, device: str = "cpu"):
    """Milliseconds of the steps, `rows` rows of the batch each. The loss that is read makes a step wait for its device."""
    ids = torch.randint(KINDS, (200_000,))
    milliseconds = []
    for _ in range(steps):
        began = time.perf_counter()
        starts = torch.randint(len(ids) - context, (rows,)).tolist()
        trainer.train(torch.stack([ids[s : s + context + 1] for s in starts]).to(device))
        if device != "cpu":
            torch.cuda.synchronize()
        milliseconds.append((time.perf_counter() - began) * 1e3)
    return milliseconds


class Loss(torch.nn.Module):
    """A model's loss as the forward pass that DistributedDataParallel wraps."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.of = model.loss

    def forward(self, windows):
        return self.of(windows)


def ddp_rank(rank: int, ranks: int, model: Model, steps: int):
    """One process of `ddp`; rank 0 prints."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(1)
    trainer = make_trainer("eager", model)
    trainer.model.loss = torch.nn.parallel.DistributedDataParallel(Loss(trainer.model))
    milliseconds = train(trainer, model.context, model.batch // ranks, steps)
    if rank == 0:
        print(json.dumps({"torch": torch.__version__, "milliseconds": milliseconds}), flush=True)
    torch.distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", choices=("eager", "foreach", "fused", "compile", "ddp"), default="eager")
    parser.add_argument("--model", choices=sorted(MODELS), default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--batch", type=int)
    options = parser.parse_args()
    model = MODELS[options.model]
    if options.batch:
        model = replace(model, batch=options.batch)
    if options.variant == "ddp":
        torch.multiprocessing.spawn(ddp_rank, args=(options.threads, model, options.steps), nprocs=options.threads)
        return
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    milliseconds = []
    if options.steps > 0:
        trainer = make_trainer(options.variant, model, options.device, options.dtype)
        milliseconds = train(trainer, model.context, model.batch, options.steps, options.device)
    print(json.dumps({"torch": torch.__version__, "milliseconds": milliseconds}))


if __name__ == "__main__":
    main()
