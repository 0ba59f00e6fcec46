"""The models of throughput.py, for both sides."""
from dataclasses import dataclass


@dataclass
class Model:
    """A transformer's sizes and how it is fed. `steps` is how many are timed in a turn."""
    title: str
    layers: int
    dim: int
    heads: int
    context: int
    vocab: int
    batch: int
    steps: int
    causal: bool = True

    @property
    def tokens(self) -> int:
        """Of one step."""
        return self.batch * self.context

    @property
    def flops(self) -> float:
        """Of the products of one step, forward and backward: 6 per token and weight, and 12 per token, channel and layer for
        each position that is attended to: all of them, or half where attention is causal (Narayanan et al. 2021, arXiv
        2104.04473, which counts all)."""
        weights = 12 * self.layers * self.dim**2 + self.vocab * self.dim
        seen = self.context / 2 if self.causal else self.context
        return 6 * self.tokens * (weights + 2 * self.layers * self.dim * seen)

    @property
    def words(self):
        """The words after `--` for transformer.lua."""
        pairs = {"layers": self.layers, "dim": self.dim, "heads": self.heads, "context": self.context, "vocab": self.vocab,
                 "batch": self.batch, "causal": int(self.causal)}
        return [word for name, value in pairs.items() for word in ("--" + name, str(value))]


MODELS = {
    "tiny": Model("tiny GPT (to try the program)", 2, 64, 2, 32, 65, 4, 5),
    "small": Model("small GPT", 6, 384, 6, 256, 65, 8, 15),
    "gpt2": Model("GPT-2 124M", 12, 768, 12, 256, 50257, 4, 3),
    "gpt2-1024": Model("GPT-2 124M", 12, 768, 12, 1024, 50257, 64, 20),
    "gpt2-1558": Model("GPT-2 1558M", 48, 1600, 25, 1024, 50257, 8, 10),
    "bert": Model("BERT-base-sized encoder", 12, 768, 12, 128, 30522, 8, 3, causal=False),
    "vit": Model("ViT-S/16-sized encoder", 12, 384, 6, 197, 1000, 8, 8, causal=False),
}
