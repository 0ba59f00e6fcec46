"""A plain PyTorch GPT with exactly the mathematics of Baleen's `nn`: the independent reference of the golden numbers.

Model (D wide, H heads of E = D/H, P positions, V ids, L layers; every shape as Baleen stores it):
  x = embedding[ids] + positions                                        [V, D], [P, D]
  per block: x = x + attention(norm(x)); x = x + mlp(norm(x))           (pre-norm)
  norm: layer norm, epsilon 1e-5, gamma and beta                        [D], [D]
  attention: qkv [D, 3, H, E] with bias [3, H, E]; causal; scale 1/sqrt(E); out [H, E, D] with bias [D]
  mlp: up [D, 4D] with bias [4D]; GELU in its tanh form; down [4D, D] with bias [D]
  final norm; output [D, V] without bias; loss = mean cross entropy (natural log) over all tokens of the batch
Initialisation: embeddings and weights normal(0, 0.02); the two weights that end a residual branch (attention out, mlp
  down) normal(0, 0.02 / sqrt(2 L)); biases and beta 0; gamma 1.
Optimizer: AdamW (betas 0.9 and 0.999, epsilon 1e-8 unless told), decay only on parameters of two or more dimensions;
  gradients clipped to a global norm; rate(step), step from 0: peak (step + 1) / warmup while step < warmup, then
  final + (peak - final) (1 + cos(pi (step - warmup) / (steps - warmup))) / 2 with final = peak / 10 unless told.

Works with PyTorch 1.13 and newer.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Shape:
    """The sizes of a GPT."""
    layers: int
    dim: int
    heads: int
    context: int
    vocab: int = 256
    causal: bool = True


@dataclass
class Recipe:
    """How a GPT is trained."""
    steps: int
    batch: int
    peak: float = 1e-3
    warmup: int = 0
    final: float = 0.1  # as a part of peak
    weight_decay: float = 0.1
    clip: float = 1.0
    betas: tuple = (0.9, 0.999)


class Attention(nn.Module):
    """Self-attention, causal or not; x [B, S, D] -> [B, S, D]."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.causal = shape.causal
        d, h = shape.dim, shape.heads
        e = d // h
        self.qkv = nn.Parameter(torch.empty(d, 3, h, e))
        self.qkv_bias = nn.Parameter(torch.zeros(3, h, e))
        self.out = nn.Parameter(torch.empty(h, e, d))
        self.out_bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        b, s, d = x.shape
        _, _, h, e = self.qkv.shape
        qkv = torch.addmm(self.qkv_bias.view(-1), x.view(b * s, d), self.qkv.view(d, 3 * d)).view(b, s, 3, h, e)
        q, k, v = (qkv[:, :, i].transpose(1, 2) for i in range(3))
        y = fused_attention(q, k, v, self.causal).transpose(1, 2).reshape(b * s, d)
        return torch.addmm(self.out_bias, y, self.out.view(d, d)).view(b, s, d)


def fused_attention(q, k, v, causal):
    """softmax(q k^T / sqrt(E)) v over [B, H, S, E], fused where this PyTorch can."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    s = q.shape[-2]
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    if causal:
        scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool, device=scores.device).triu(1), float("-inf"))
    return scores.softmax(-1) @ v


class Mlp(nn.Module):
    """down(gelu(up(x)))."""

    def __init__(self, shape: Shape):
        super().__init__()
        d = shape.dim
        self.up = nn.Parameter(torch.empty(d, 4 * d))
        self.up_bias = nn.Parameter(torch.zeros(4 * d))
        self.down = nn.Parameter(torch.empty(4 * d, d))
        self.down_bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        rows = x.view(-1, x.shape[-1])
        y = F.gelu(torch.addmm(self.up_bias, rows, self.up), approximate="tanh")
        return torch.addmm(self.down_bias, y, self.down).view_as(x)


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.dim, eps=1e-5)
        self.attention = Attention(shape)
        self.mlp_norm = nn.LayerNorm(shape.dim, eps=1e-5)
        self.mlp = Mlp(shape)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Gpt(nn.Module):
    """ids [B, S] -> logits [B, S, V]."""

    def __init__(self, shape: Shape, seed: int = 1):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(shape.vocab, shape.dim))
        self.positions = nn.Parameter(torch.empty(shape.context, shape.dim))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim, eps=1e-5)
        self.output = nn.Parameter(torch.empty(shape.dim, shape.vocab))
        self.initialise(seed)

    def initialise(self, seed: int):
        """The initialisation of the module's docstring (PyTorch's own random numbers)."""
        generator = torch.Generator().manual_seed(seed)
        residual = 0.02 / math.sqrt(2 * max(1, len(self.blocks)))
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() < 2 or name.endswith("_bias"):
                    continue  # biases and beta are 0, gamma is 1 already
                ends_branch = name.endswith("attention.out") or name.endswith("mlp.down")
                parameter.normal_(0.0, residual if ends_branch else 0.02, generator=generator)

    def forward(self, ids):
        x = F.embedding(ids, self.embedding) + self.positions[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.output

    def loss(self, windows):
        """Mean cross entropy over windows [B, S + 1]: each id is predicted from those before it."""
        logits = self(windows[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


def rate(recipe: Recipe, step: int) -> float:
    """The learning rate of a step, from 0."""
    if step < recipe.warmup:
        return recipe.peak * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    final = recipe.peak * recipe.final
    return final + (recipe.peak - final) * 0.5 * (1 + math.cos(math.pi * done))


class Trainer:
    """Applies a Recipe to a model, a batch of windows at a time."""

    def __init__(self, model: Gpt, recipe: Recipe):
        self.model, self.recipe, self.step = model, recipe, 0
        named = list(model.named_parameters())
        # A bias keeps its logical shape, so [3, H, E] is a bias by name, not by its number of dimensions.
        decayed = [p for n, p in named if p.dim() >= 2 and not n.endswith("_bias")]
        plain = [p for n, p in named if p.dim() < 2 or n.endswith("_bias")]
        groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=recipe.peak, betas=recipe.betas, eps=1e-8)

    def train(self, windows) -> torch.Tensor:
        """One step; returns the loss before it."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate(self.recipe, self.step)
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.model.loss(windows)
        loss.backward()
        if self.recipe.clip > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.optimizer.step()
        self.step += 1
        return loss.detach()
