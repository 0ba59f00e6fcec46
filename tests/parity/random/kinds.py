"""The kinds of the suite: from a number that draws, a case. Each seed draws by itself, the same on every machine."""
import random

import models
from case import Case
from models import chance
from newcomers import newcomers

GRIDS = {"2d": (4, 4, 9), "2.5d": (4, 8, 8, 12), "3d": (8,)}
BUCKETS = (0, 0.0005, 0.01, 4)


def draw(kind, seed):
    """The case of a seed."""
    return KINDS[kind](random.Random(f"{kind} {seed}"))


def factors(rng, count, parts):
    """A number as a product of so many factors, some of them 1."""
    found, divisor = [1] * parts, 2
    while count > 1:
        while count % divisor == 0:
            found[rng.randrange(parts)] *= divisor
            count //= divisor
        divisor += 1
    return found


def shuffled(rng, mesh):
    """The same axes in another order."""
    axes = list(mesh)
    rng.shuffle(axes)
    return {axis: mesh[axis] for axis in axes}


def zero(rng, axis="data", extra=()):
    """ZeRO with some of its options."""
    options = {"stage": rng.choice((1, 2, 3, 3))}
    if axis != "data":
        options["axis"] = axis
    if extra:
        options["extra_axes"] = list(extra)
    if chance(rng, 0.4):
        options["bucket_mb"] = rng.choice(BUCKETS)
    if options["stage"] >= 2 and chance(rng, 0.3):
        options["reduce_gradients"] = "once_per_step"
    if chance(rng, 0.25):
        options["replicate_below"] = rng.choice((2, 33, 500, 5000))
    if options["stage"] == 3 and chance(rng, 0.3):
        options["prefetch"] = rng.choice((0, 2, 5, 100))
    if options["stage"] == 3 and chance(rng, 0.1):
        options["max_live_parameters_mb"] = rng.choice((0.1, 1.0))
    return ("zero", options)


def precision(rng, model):
    """16 bits with some of their options."""
    options = {"dtype": rng.choice(("bf16", "fp16"))}
    if chance(rng, 0.4):
        options["gradients"] = "fp32"
    if chance(rng, 0.2):
        options["keep"] = ["embedding.*"] if model in models.TEXTS else ["*"]
    if chance(rng, 0.3):
        options["loss_scale"] = rng.choice(("dynamic", "none"))
    return ("precision", options)


def offload(rng):
    """States in the host's memory, and some of the rest too; in so small models nearly all is small."""
    options = {"min_elements": rng.choice((2, 16, 100)), "ahead": rng.choice((1, 2, 2, 5))}
    for what in ("parameters", "gradients", "activations"):
        if chance(rng, 0.4):
            options[what] = ["*"]
    if chance(rng, 0.4):
        options["delay_update"] = True
    return ("offload", options)


def tensor(rng, size, mode):
    """Tensor parallelism on so many ranks; in 2.5d of a depth that fits, where there is one."""
    if mode != "2.5d":
        return ("tensor", {"mode": mode} if mode != "1d" or chance(rng, 0.5) else {})
    depths = [depth for depth in (1, 2, 3) if size % depth == 0 and round((size // depth) ** 0.5) ** 2 == size // depth]
    return ("tensor", {"mode": mode, "depth": rng.choice(depths) if depths else 2})


def plan_of(rng, mesh, model, mode):
    """Strategies along the axes of a mesh, and some that need none."""
    plan, text = [], model in models.TEXTS
    beside = [axis for axis in ("sequence", "sequence_2") if axis in mesh and chance(rng, 0.5)]
    if mode == "2.5d" and "tensor" in mesh and chance(rng, 0.3):
        beside.append("tensor.depth")
    shards = "data" in mesh and chance(rng, 0.6)
    if shards:
        plan.append(zero(rng, extra=beside))
    elif "data" in mesh and chance(rng, 0.8):
        plan.append(("data", {"bucket_mb": rng.choice(BUCKETS)} if chance(rng, 0.3) else {}))
    if "shard" in mesh:
        plan.append(("data", {"axis": "shard"}) if shards or chance(rng, 0.5) else zero(rng, "shard"))
    first = rng.choice(("ulysses", "ring"))
    if "sequence" in mesh:
        plan.append(("sequence", {"mode": first}))
    if "sequence_2" in mesh:
        plan.append(("sequence", {"mode": "ulysses" if first == "ring" else rng.choice(("ring", "ulysses")),
                                  "axis": "sequence_2"}))
    if "tensor" in mesh:
        plan.append(tensor(rng, mesh["tensor"], mode))
        if text and chance(rng, 0.35 if mode == "1d" else 0.1):  # a grid leaves no whole axis for it
            plan.append(("sequence", {"mode": "megatron"}))
    if chance(rng, 0.2):
        plan.append(precision(rng, model))
    if chance(rng, 0.12):
        plan.append(offload(rng))
    rng.shuffle(plan)
    return plan


def mixes(rng):
    """Everything beside everything, on 2 to 12 ranks."""
    model = rng.choice(models.MODELS + ("language", "language", "encoder"))
    axes = ["data", "tensor"]
    if model in models.TEXTS:
        axes.append("sequence")
        if chance(rng, 0.15):
            axes.append("sequence_2")
    if chance(rng, 0.25):
        axes.append("shard")
    if chance(rng, 0.3):
        mode = rng.choice(("2d", "2.5d", "2.5d", "3d"))
        size = rng.choice(GRIDS[mode])
        others = [axis for axis in axes if axis != "tensor"]
        sizes = factors(rng, rng.choice((1, 2, 3)) if size == 4 else 1, len(others))
        mesh = {"tensor": size, **{axis: extent for axis, extent in zip(others, sizes) if extent > 1}}
    else:
        mode = "1d" if chance(rng, 0.95) else rng.choice(("2d", "2.5d", "3d"))
        sizes = factors(rng, rng.choice((2, 3, 4, 4, 5, 6, 6, 8, 8, 9, 10, 12)), len(axes))
        mesh = {axis: extent for axis, extent in zip(axes, sizes) if extent > 1}
    mesh = shuffled(rng, mesh)
    plan = plan_of(rng, mesh, model, mode)
    given = {**models.draw_training(rng, model), **models.draw_form(rng, model),
             **models.draw_sizes(rng, model, models.needs_of(mesh, plan, model))}
    if chance(rng, 0.2):
        named = list(mesh) * 3 + ["absent"]
        if mode != "1d" and "tensor" in mesh:
            named += ["tensor.row", "tensor.col", "tensor.depth"]
        given.update(models.draw_annotation(rng, model, named))
    return Case(f"zoo/{model}.lua", mesh, plan, given, transport="ucx" if chance(rng, 0.05) else "")


def corners(rng):
    """Odd numbers of ranks, sizes of one, fewer of something than ranks, frozen and tied parameters, ZeRO's options."""
    model = rng.choice(models.MODELS + ("language",))
    others = ["shard", "tensor"] + (["sequence", "sequence_2"] if model in models.TEXTS else [])
    axes = ["data"] + rng.sample(others, rng.choice((0, 1, 1, 2, 2)))
    sizes = factors(rng, rng.choice((2, 3, 5, 6, 6, 7, 8, 8, 10, 11, 12)), len(axes))
    mesh = shuffled(rng, {axis: size for axis, size in zip(axes, sizes) if size > 1 or chance(rng, 0.15)})
    plan = plan_of(rng, mesh, model, "1d")
    form = models.draw_form(rng, model)
    if chance(rng, 0.3):
        form["frozen"] = rng.choice([word for word in models.FROZEN[model] if word != "token.*" or form.get("pool")])
    if model == "language" and chance(rng, 0.4):
        form["tied"] = True
    needs = models.needs_of(mesh, plan, model)
    sizes = models.draw_sizes(rng, model, needs, widths=(1, 2, 3, 4), legal=0.9)
    if chance(rng, 0.5):
        sizes["hidden"] = max(needs.heads, rng.choice((1, 2, 3)))
    if chance(rng, 0.3):
        rows = max(needs.rows, 1) * rng.choice((1, 2, 5))
        sizes.update(batch=rows * sizes.get("accumulate", 1))
    if model in models.TEXTS and chance(rng, 0.3):
        sizes["context"] = max(needs.tokens, rng.choice((1, 2, 3)))
    return Case(f"zoo/{model}.lua", mesh, plan, {**models.draw_training(rng, model), **form, **sizes})


def sixteen_bits(rng):
    """Mixes and corners with 16 bits, computed in fp32 with the casts in place."""
    case = rng.choice((mixes, corners))(rng)
    model = case.model[len("zoo/"):-len(".lua")]
    case.plan = [entry for entry in case.plan if entry[0] != "precision"] + [precision(rng, model)]
    case.dtype = "fp32"
    for word in ("layout", "scopes"):
        case.arguments.pop(word, None)
    if case.arguments.get("dim") == 1:
        # A gate that sees one small number gives all experts the same share but for the rounding, and the gradient of
        # what balances them is made of these differences: 16 bits are half of it away, on one rank too.
        case.arguments.pop("balance", None)
    return case


def few_digits(rng):
    """Newcomers in fp32, two of five with 16 bits in it, the casts in place."""
    case = newcomers(rng)
    case.plan = [entry for entry in case.plan if entry[0] != "precision"]
    if chance(rng, 0.4):
        case.plan.insert(rng.randint(0, len(case.plan)), ("precision", {
            "dtype": rng.choice(("bf16", "fp16")), **({"gradients": "fp32"} if chance(rng, 0.3) else {})}))
    case.dtype = "fp32"
    return case


def three_by_three(rng):
    """Grids of 3 x 3 whose last row or column is short or empty."""
    model = rng.choice(models.MODELS)
    plan = [("tensor", rng.choice(({"mode": "2d"}, {"mode": "2d"}, {"mode": "2.5d", "depth": 1})))]
    if chance(rng, 0.25):
        plan.append(precision(rng, model))
    given = {**models.draw_training(rng, model, 1), **models.draw_form(rng, model),
             **models.draw_sizes(rng, model, models.Needs(heads=3), widths=(1, 2, 3, 4), legal=0.97)}
    given["batch"] = rng.choice((3, 4, 5, 7, 8, 10)) * given.get("accumulate", 1)
    given["hidden"] = rng.choice((3, 4, 5, 7, 10, 13))
    return Case(f"zoo/{model}.lua", {"tensor": 9}, plan, given)


def plans_only(rng):
    """Plans of meshes of up to 640 ranks, with sizes that do not divide; nothing runs."""
    model, mesh, plan = rng.choice(models.MODELS), {}, []
    text = model in models.TEXTS
    mode = rng.choice(("", "1d", "2d", "2.5d", "3d"))
    if mode:
        depth, side = rng.choice(((2, 2), (3, 2), (2, 3), (1, 3), (5, 2), (2, 4), (3, 3)))
        mesh["tensor"] = {"1d": rng.randint(2, 8), "2d": rng.choice((4, 9, 16, 25)), "2.5d": depth * side * side,
                          "3d": rng.choice((8, 27, 64))}[mode]
        plan.append(("tensor", {"mode": mode, "depth": depth} if mode == "2.5d" else {"mode": mode}))
    if chance(rng, 0.6) or not mode:
        mesh["data"] = rng.choice((2, 3, 4, 5, 7, 10, 16))
    if text and chance(rng, 0.4):
        mesh["sequence"] = rng.choice((2, 3, 4, 5))
        plan.append(("sequence", {"mode": rng.choice(("ulysses", "ring"))}))
    if "data" in mesh:
        extra = ["sequence"] if "sequence" in mesh and chance(rng, 0.4) else []
        plan.append(zero(rng, extra=extra) if chance(rng, 0.7) else ("data", {}))
    if mode == "1d" and text and chance(rng, 0.4):
        plan.append(("sequence", {"mode": "megatron"}))
    if chance(rng, 0.3):
        plan.append(precision(rng, model))
    mesh = shuffled(rng, mesh)
    case = Case(f"zoo/{model}.lua", mesh, plan, command="plan")
    while case.ranks() > 640:
        largest = max(mesh, key=mesh.get)
        mesh[largest] = {"1d": 2, "2d": 4, "2.5d": depth, "3d": 8, "": 2}[mode] if largest == "tensor" else 2
    rng.shuffle(plan)
    case.arguments = {**models.draw_training(rng, model, 1), **models.draw_form(rng, model),
                      **models.draw_sizes(rng, model, models.needs_of(mesh, plan, model), (1, 2, 3, 4, 6), 0.85)}
    return case


KINDS = {"mixes": mixes, "sixteen_bits": sixteen_bits, "three_by_three": three_by_three, "corners": corners,
         "plans_only": plans_only, "newcomers": newcomers, "few_digits": few_digits}
