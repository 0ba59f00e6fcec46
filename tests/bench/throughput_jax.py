#!/usr/bin/env python3
"""Measures JAX's side of throughput.py: the same transformer, one jitted step; prints its milliseconds as JSON.

Float32 on the CPU; forward, backward, clipping by the global norm and AdamW in one `jit` with its arguments donated.
`threads` is given to XLA as the processors that the process may use.
"""
import json
import math
import os
import time

from baleen_program import make_parser
from models import MODELS, Model

KINDS = 65  # of the characters that stand for the data
RATE, DECAY, BETA1, BETA2, EPSILON, CLIP = 1e-3, 0.1, 0.9, 0.999, 1e-8, 1.0


def use_processors(count: int):
    """Before JAX is loaded: its pool has as many threads as there are processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def make_parameters(jax, model: Model):
    """Names to arrays, initialised as tests/golden/gpt.py does."""
    d, keys = model.dim, iter(jax.random.split(jax.random.PRNGKey(1), 8 * model.layers + 8))

    def normal(*shape, scale=0.02):
        return scale * jax.random.normal(next(keys), shape)

    zeros, ones = jax.numpy.zeros, jax.numpy.ones
    last = 0.02 / math.sqrt(2 * model.layers)
    blocks = [{"norm1": (ones(d), zeros(d)), "norm2": (ones(d), zeros(d)),
               "qkv": (normal(d, 3 * d), zeros(3 * d)), "out": (normal(d, d, scale=last), zeros(d)),
               "up": (normal(d, 4 * d), zeros(4 * d)), "down": (normal(4 * d, d, scale=last), zeros(d))}
              for _ in range(model.layers)]
    return {"embedding": normal(model.vocab, d), "positions": normal(model.context, d), "blocks": blocks,
            "norm": (ones(d), zeros(d)), "output": normal(d, model.vocab)}


def make_loss(jax, model: Model):
    """loss(parameters, windows [B, S + 1])."""
    jnp, heads = jax.numpy, model.heads

    def norm(x, weights):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * weights[0] + weights[1]

    def linear(x, weights):
        return x @ weights[0] + weights[1]

    def block(x, weights):
        b, s, d = x.shape
        qkv = linear(norm(x, weights["norm1"]), weights["qkv"]).reshape(b, s, 3, heads, d // heads)
        y = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=model.causal)
        x = x + linear(y.reshape(b, s, d), weights["out"])
        hidden = jax.nn.gelu(linear(norm(x, weights["norm2"]), weights["up"]), approximate=True)
        return x + linear(hidden, weights["down"])

    def loss(parameters, windows):
        ids, targets = windows[:, :-1], windows[:, 1:]
        x = parameters["embedding"][ids] + parameters["positions"]
        for weights in parameters["blocks"]:
            x = block(x, weights)
        logits = norm(x, parameters["norm"]) @ parameters["output"]
        chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - chosen).mean()

    return loss


def make_step(jax, model: Model):
    """step(state, windows) -> state, loss; the state is (count, parameters, first and second moments)."""
    jnp, tree, loss = jax.numpy, jax.tree_util, make_loss(jax, model)

    def step(state, windows):
        count, parameters, first, second = state
        value, gradients = jax.value_and_grad(loss)(parameters, windows)
        length = jnp.sqrt(sum(jnp.sum(g * g) for g in tree.tree_leaves(gradients)))
        scale = jnp.minimum(1.0, CLIP / (length + 1e-6))
        count = count + 1

        def update(p, g, m, v):
            g = g * scale
            m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
            change = m / (1 - BETA1**count) / (jnp.sqrt(v / (1 - BETA2**count)) + EPSILON)
            return p - RATE * (change + (DECAY * p if p.ndim > 1 else 0)), m, v

        updated = tree.tree_map(update, parameters, gradients, first, second)
        parts = [tree.tree_map(lambda _, u: u[i], parameters, updated) for i in range(3)]
        return (count, *parts), value

    return jax.jit(step, donate_argnums=0)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    model = MODELS[options.model]
    use_processors(options.threads)
    import jax
    milliseconds, losses = [], []
    if options.steps > 0:
        parameters = make_parameters(jax, model)
        zeros = [jax.tree_util.tree_map(jax.numpy.zeros_like, parameters) for _ in range(2)]
        state, step = (0.0, parameters, *zeros), make_step(jax, model)
        shape = (options.steps, model.batch, model.context + 1)
        windows = jax.random.randint(jax.random.PRNGKey(2), shape, 0, KINDS)
    for number in range(options.steps):
        began = time.perf_counter()
        state, loss = step(state, windows[number])
        losses.append(float(loss))
        jax.block_until_ready(state)
        milliseconds.append((time.perf_counter() - began) * 1e3)
    print(json.dumps({"version": "JAX " + jax.__version__, "milliseconds": milliseconds, "losses": losses}))


if __name__ == "__main__":
    main()
