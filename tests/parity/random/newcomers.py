"""The kind `newcomers`: scripts as users write them, each unlike the others, below any strategies with any options."""
from pathlib import Path

from case import Case
from models import chance

HERE = Path(__file__).resolve().parent
MODELS = sorted(path.stem for path in (HERE / "newcomers").glob("*.lua") if path.stem != "common")
RULES = ("adamw", "adamw", "adamw", "sgd", "sgd_momentum", "sgd_nesterov", "lamb", "adafactor", "muon")
RATES = ("cosine", "linear", "root", "number", "pieces", "written")
SCHEDULES = ("gpipe", "1f1b", "1f1b", "interleaved", "looped", "zero_bubble", "zero_bubble_h2", "zero_bubble_v")
BUCKETS = (0, 0.0002, 0.001, 0.01)
DIMS = ("heads", "ff", "vocab", "embed", "batch", "seq")


def some(rng, **choices):
    """Of options, each with its own probability and what it is drawn from."""
    return {key: rng.choice(values) for key, (probability, values) in choices.items() if chance(rng, probability)}


def batch_strategy(rng, axis, beside):
    """What cuts the batch along an axis."""
    more = {} if axis == "data" else {"axis": axis}
    if chance(rng, 0.35):
        return ("data", {**more, **some(rng, bucket_mb=(0.5, BUCKETS))})
    options = {"stage": rng.choice((1, 2, 3, 3)), **more, **some(rng, bucket_mb=(0.5, BUCKETS), replicate_below=(0.2, (3, 20, 100)))}
    if beside and chance(rng, 0.5):
        options["extra_axes"] = beside
    if options["stage"] >= 2 and chance(rng, 0.3):
        options["reduce_gradients"] = "once_per_step"
    if options["stage"] == 3:
        options.update(some(rng, prefetch=(0.4, (0, 2, 5)), max_live_parameters_mb=(0.1, (0.05, 1.0))))
    return ("zero", options)


def axes_of(rng):
    """A mesh of 2 to 8 ranks, and the strategies along its axes."""
    mesh, plan = {}, []

    def room(size):
        ranks = 1
        for extent in mesh.values():
            ranks *= extent
        return ranks * size <= 8

    def add(axis, size, *entries):
        if room(size):
            mesh[axis] = size
            plan.extend(entries)

    if chance(rng, 0.35):
        schedule = rng.choice(SCHEDULES)
        options = {"schedule": schedule}
        if schedule in ("interleaved", "looped") and chance(rng, 0.15):
            options["chunks"] = rng.choice((2, 3))
        add("pipeline", rng.choice((2, 2, 2, 2, 3, 4)), ("pipeline", options))
    if chance(rng, 0.4):
        mode = rng.choice(("1d", "1d", "1d", "2d", "2.5d", "3d"))
        size = {"1d": rng.choice((2, 2, 2, 3, 4)), "2d": 4, "2.5d": rng.choice((4, 8)), "3d": 8}[mode]
        tensor = {"mode": mode, **({"depth": size // 4} if mode == "2.5d" else {})}
        add("tensor", size, ("tensor", tensor))
        if "tensor" in mesh and mode == "1d" and chance(rng, 0.3):
            plan.append(("sequence", {"mode": "megatron"}))
    if chance(rng, 0.2):
        add("sequence", rng.choice((2, 2, 3)), ("sequence", {"mode": rng.choice(("ring", "ulysses"))}))
    beside = ["sequence"] if "sequence" in mesh else []
    if chance(rng, 0.75) or not mesh:
        add("data", rng.choice((2, 2, 2, 3, 4)), batch_strategy(rng, "data", beside))
    if chance(rng, 0.15):
        add("shard", rng.choice((2, 3)), batch_strategy(rng, "shard", []))
    axes = list(mesh)
    rng.shuffle(axes)
    return {axis: mesh[axis] for axis in axes}, plan


def offload(rng):
    """What lies outside the device, by any of its options."""
    options = {"min_elements": rng.choice((1, 1, 10)), **some(
        rng, parameters=(0.5, (["*"],)), gradients=(0.5, (["*"],)), activations=(0.4, (["*"],)), update=(0.35, ("host",)),
        ahead=(0.3, (1, 5)), piece_mb=(0.2, (0,)), tile_mb=(0.2, (0.0001, 0.001)), fraction=(0.1, (0.5,)))}
    if chance(rng, 0.12):
        options["delay_update"] = True
    return ("offload", options)


def along_none(rng, mesh):
    """Strategies that claim no axis."""
    plan = []
    if chance(rng, 0.2):
        plan.append(("precision", {"dtype": rng.choice(("bf16", "fp16")), **some(
            rng, gradients=(0.4, ("fp32",)), loss_scale=(0.3, ("dynamic", "none", 128.0)))}))
    if chance(rng, 0.25):
        plan.append(("recompute", rng.choice((
            {"mode": "full"}, {"mode": "selective"}, {"mode": "every", "interval": rng.choice((1, 2, 3))},
            {"mode": "selective", "flops_per_byte": rng.choice((0, 1, 100))},
            {"mode": "auto", "budget_mb": rng.choice((0.005, 0.02, 1.0))}))))
    if "data" in mesh and chance(rng, 0.12):
        method = rng.choice(("bf16", "fp16", "8bit", "1bit", "powersgd"))
        plan.append(("compress", {"method": method, "min_elements": rng.choice((1, 20)), **(
            {"block": 32} if method in ("8bit", "1bit") else {"rank": 1} if method == "powersgd" else {})}))
    if chance(rng, 0.25):
        plan.append(offload(rng))
    return plan


def arguments(rng, mesh):
    """How the script is trained."""
    rows = mesh.get("data", 1) * mesh.get("shard", 1)
    counts = {0: (1, 1, 1, 2, 3, 5), 2: (2, 3, 4, 4, 6, 8)}.get(mesh.get("pipeline", 0), (4, 6, 8))
    accumulate = rng.choice(counts)
    given = {"batch": accumulate * rng.choice((1, rows, rows, rows + 1, 2 * rows)), "optimizer": rng.choice(RULES),
             "rate": rng.choice(RATES)}
    if chance(rng, 0.04):
        given["batch"] += 1
    if accumulate > 1:
        given["accumulate"] = accumulate
    given.update(some(rng, clip=(0.4, (0.01, 0.5, 1.0)), decay=(0.3, (0.1,)), every=(0.2, (0, 1, 3))))
    if chance(rng, 0.15):
        axis = rng.choice(list(mesh) * 3 + ["absent"])
        given["scopes"] = f"split:{axis}:{rng.choice(DIMS)}" if chance(rng, 0.6) else f"replicate:{axis}"
    return given


def newcomers(rng, model=""):
    """A model, a mesh, a stack of strategies, and how it is trained."""
    model = model or rng.choice(MODELS)
    mesh, plan = axes_of(rng)
    plan += along_none(rng, mesh)
    if chance(rng, 0.4):
        rng.shuffle(plan)
    place = rng.choice(("host", "host", "nvme")) if any(name == "offload" for name, _ in plan) else ""
    case = Case(f"newcomers/{model}.lua", mesh, plan, arguments(rng, mesh), offload=place)
    if chance(rng, 0.12):
        case.transport = "hierarchy" if case.ranks() % 2 == 0 and chance(rng, 0.5) else "ucx"
    return case
