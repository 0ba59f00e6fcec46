#!/usr/bin/env python3
"""Measures DeepSpeed's side of peer.py: trains a GPT for some steps with ZeRO-Offload and prints their milliseconds as JSON.

One process on its `cpu` accelerator, fp32, ZeRO stage 2 with the optimizer's states offloaded to the host (Ren et al. 2021,
arXiv 2101.06840) and DeepSpeedCPUAdam, which it compiles when it is first used. Ends with an error where DeepSpeed took
another optimizer.
"""
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parents[1] / "golden"))
from baleen_program import make_parser  # noqa: E402
from models import MODELS  # noqa: E402

KINDS = 65  # of the characters that stand for the data


def config(model):
    return {"train_batch_size": model.batch, "train_micro_batch_size_per_gpu": model.batch, "gradient_clipping": 1.0,
            "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "weight_decay": 0.1}}}


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    model = MODELS[options.model]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29534", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    import deepspeed
    import torch
    from gpt import Gpt, Shape

    class Loss(torch.nn.Module):
        """The model's loss as the forward pass of an engine."""

        def __init__(self):
            super().__init__()
            self.model = Gpt(Shape(model.layers, model.dim, model.heads, model.context, model.vocab, model.causal))

        def forward(self, windows):
            return self.model.loss(windows)

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    deepspeed.init_distributed("gloo")
    loss = Loss()
    engine, *_ = deepspeed.initialize(model=loss, model_parameters=loss.parameters(), config=config(model))
    used = type(engine.optimizer.optimizer).__name__
    if used != "DeepSpeedCPUAdam":
        sys.exit(f"error: DeepSpeed updates with {used}")
    ids = torch.randint(KINDS, (200_000,))
    milliseconds = []
    for _ in range(options.steps):
        began = time.perf_counter()
        starts = torch.randint(len(ids) - model.context, (model.batch,)).tolist()
        value = engine(torch.stack([ids[s : s + model.context + 1] for s in starts]))
        engine.backward(value)
        engine.step()
        milliseconds.append((time.perf_counter() - began) * 1e3)
    print(json.dumps({"version": "DeepSpeed " + deepspeed.__version__, "milliseconds": milliseconds}), flush=True)


if __name__ == "__main__":
    main()
