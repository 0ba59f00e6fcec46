"""What each model of zoo/ is called with: arguments drawn to fit a mesh and a plan, mostly."""
from dataclasses import dataclass

TEXTS = ("language", "encoder", "written", "experts", "shared")
TABLES = ("patches", "mixer", "convolution", "towers")
MODELS = TEXTS + TABLES
ROTARY = ("language", "shared")  # a head's width must be even
OPTIMIZERS = ("adamw", "adamw", "adamw", "lamb", "lamb", "lamb", "sgd", "sgd_momentum", "sgd_nesterov", "muon",
              "adafactor")

# Patterns of parameters that may be frozen.
FROZEN = {
    "language": ("embedding.*", "*norm*", "blocks.0.*", "*attention*", "*.mlp.*", "final.*"),
    "encoder": ("look_1.*", "embedding.*", "mlp_*"), "written": ("a*.q", "f1.*"),
    "experts": ("experts_*", "attention_1.*", "embedding.*"), "shared": ("shared.*", "widen.*"),
    "patches": ("*blocks.*", "patches.*", "token.*"), "mixer": ("place_*", "embed.*"),
    "convolution": ("first.*", "second.weight"), "towers": ("left.*", "head.*"),
}

# What can be laid by hand: a pattern of parameters, inputs or layers, and dimensions of theirs.
LAYOUTS = {
    "language": (("blocks.*.mlp.up.weight", ("ff", "embed", 1, -1)), ("blocks.*.attention.*weight", ("heads",)),
                 ("embedding.weight", ("vocab", "embed", 1, 2)), ("final.gamma", (1,)), ("tokens", ("batch", 1, 2))),
    "encoder": (("look_*.q.weight", (1, 2, "heads")), ("mlp_*.up.weight", ("ff", 1)), ("look_*", (1, 2, 3))),
    "written": (("a*.q", (1, 2, 3)), ("f*.gain", (1,)), ("a1", (1, 2, 3))),
    "experts": (("experts_*.up", (1, 2, 3)), ("experts_*.gate", (1, 2)), ("experts_1", (1, 2, 3))),
    "shared": (("shared.mlp.up.weight", ("ff", 1)), ("embedding.weight", (1, 2)), ("shared.mlp", (1, 2, 3))),
    "patches": (("patches.weight", (1, 2)), ("*blocks.*.mlp.up.weight", ("ff",)), ("head.weight", (1, 2))),
    "mixer": (("place_mlp_*.up.weight", ("ff", 1)), ("place_mlp_1", (1, 2, 3)), ("embed.weight", (1, 2))),
    "convolution": (("first.weight", (1, 2)), ("second.weight", (1, 2, 3)), ("first", (1, 2, 3))),
    "towers": (("left.up.weight", (1, 2)), ("right.down.weight", (1, 2)), ("left.up", (1, 2))),
}


@dataclass
class Needs:
    """The least sizes that a plan can cut: rows of a micro-batch, heads, and what the tokens must be a multiple of."""
    rows: int = 1
    heads: int = 1
    tokens: int = 1


def needs_of(mesh, plan, model):
    """What the strategies of a plan need on a mesh."""
    needs = Needs()
    cut = 1  # parts of a row of tokens
    if "data" in mesh and not any(name in ("data", "zero") and "axis" not in options for name, options in plan):
        needs.rows = mesh["data"]  # what works along an axis of its name needs no entry
    for name, options in plan:
        size = mesh.get(options.get("axis", name if name in ("tensor", "sequence") else "data"), 1)
        mode = options.get("mode", "1d")
        if name in ("data", "zero"):
            needs.rows *= size
        elif name == "tensor" and mode == "1d":
            needs.heads *= size
        elif name == "tensor":
            depth = options.get("depth", 1)
            side = round((size // depth) ** (1 / 3 if mode == "3d" else 1 / 2))
            needs.heads *= max(side, 1)
            needs.rows *= max(side, 1) * (max(side, 1) if mode == "3d" else depth)
        elif mode == "ulysses":
            needs.heads *= size
            cut *= size
        elif mode == "ring":
            cut *= size
            needs.tokens = 2
    if needs.tokens > 1:
        needs.tokens = cut * (1 if model == "encoder" else 2)
    return needs


def chance(rng, probability):
    """True with that probability."""
    return rng.random() < probability


def draw_training(rng, model, most_layers=2):
    """How a model is trained, which no plan needs anything of."""
    given = {"optimizer": rng.choice(OPTIMIZERS), "layers": rng.randint(1, most_layers)}
    if chance(rng, 0.35):
        given["clip"] = rng.choice((0.05, 0.5, 1.0))
    if chance(rng, 0.35):
        given["groups"] = True
    if model != "towers" and chance(rng, 0.3):
        given["dropout"] = rng.choice((0.1, 0.3))
    if model in ("mixer", "towers"):
        return given
    if chance(rng, 0.3):
        given["smoothing"] = 0.1
    if chance(rng, 0.3):
        given["ignore"] = rng.choice((0, 1, 20)) if model in TEXTS else 1
    return given


def draw_form(rng, model):
    """The knobs of a model's own."""
    drawn = {
        "language": {"tied": (True,), "bias": (True,), "norm": ("layer",), "activation": ("gelu", "relu", "silu")},
        "encoder": {"mask": ("tokens", "none"), "tied": (True,)},
        "written": {},
        "experts": {"experts": (1, 2, 4, 5), "balance": (True,), "adapters": (True,), "small_logits": (True,),
                    "expert_axis": ("heads", "other", "vocab")},
        "shared": {"bias": (True,), "activation": ("swiglu", "relu")},
        "patches": {"pool": ("token",), "classes": (2, 3, 7), "norm": ("rms",), "head_axis": ("vocab", "ff")},
        "mixer": {"regress": (True,), "places": (3, 4, 7)},
        "convolution": {"axis": ("vocab", "other"), "length": (6, 10)},
        "towers": {"losses": ("distance", "class"), "axis": ("vocab", "other")},
    }[model]
    given = {key: rng.choice(values) for key, values in drawn.items() if chance(rng, 0.35)}
    if chance(rng, 0.12):
        given["frozen"] = rng.choice([word for word in FROZEN[model] if word != "token.*" or given.get("pool")])
    return given


def draw_sizes(rng, model, needs, widths=(4, 6, 8), legal=0.9):
    """Sizes; each meets the needs with the probability `legal`, and is drawn without them else."""
    accumulate = rng.choice((1, 1, 1, 2, 3, 5))
    rows = needs.rows if chance(rng, legal) else 1
    given = {"batch": max(rows, rng.choice((2, 3, 4, 5, 7, 8))) * accumulate}
    if accumulate > 1:
        given["accumulate"] = accumulate
    heads = max(needs.heads if chance(rng, legal) else 1, rng.choice((1, 2, 3, 4, 5)))
    if chance(rng, 0.4):
        heads = needs.heads * rng.choice((1, 2)) if needs.heads < 6 else needs.heads
    width = rng.choice([width for width in widths if width % 2 == 0 or model not in ROTARY])
    given["heads"], given["dim"] = heads, heads * width
    if model == "towers":
        given["dim"] = rng.choice((6, 10, 16))
    if chance(rng, 0.5):
        given["hidden"] = max(needs.heads if chance(rng, legal) else 1, rng.choice((3, 7, 13, 24, 33)))
    if model == "language" and chance(rng, 0.5):
        groups = [count for count in range(1, heads + 1) if heads % count == 0]
        fitting = [count for count in groups if count % needs.heads == 0]
        given["kv"] = rng.choice(fitting if fitting and chance(rng, legal) else groups)
    if model in TEXTS:
        context = rng.choice((5, 6, 8, 11, 12, 16))
        if chance(rng, legal):
            context = -(-context // needs.tokens) * needs.tokens
        given["context"] = context
    return given


def draw_annotation(rng, model, axes):
    """Layouts by hand: of one parameter, or of all that is made inside the model."""
    if chance(rng, 0.5):
        scopes = []
        for _ in range(rng.choice((1, 1, 2))):
            axis = rng.choice(axes)
            dim = rng.choice(("heads", "ff", "vocab", "embed", "batch", "seq"))
            scopes.append(f"split:{axis}:{dim}" if chance(rng, 0.75) else f"replicate:{axis}")
        return {"scopes": ",".join(scopes)}
    name, dims = rng.choice(LAYOUTS[model])
    layout = f"{name}:{rng.choice(axes)}"
    return {"layout": f"{layout}:{rng.choice(dims)}" if chance(rng, 0.75) else layout}
