#!/usr/bin/env python3
"""Random mixes stay within the memory that `baleen plan` gives the process: runs some seeds.

Of each rank the peak of resident memory, with the program, its libraries, Lua, data and the transport, is at most what
is planned for the process, and two hundredths; pages that ranks share count once in all. Exits with 1 where a rank took
more, a run failed, or no seed of many was planned and run.
"""
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import kinds
from case import Case
from judge import planned_ranks, run

ROOT = Path(__file__).resolve().parents[3]
MANY = 8
SLACK = 1.02
LIMIT = 200  # seconds


class Large(Case):
    """A GPT whose arenas are most of the process."""

    def script_words(self, folder):
        return ["--data", str(ROOT / "tests/golden/whales.txt"), "--layers", "4", "--dim", "512", "--batch", "16",
                "--context", "128"]


def large(mesh, plan, transport=""):
    """One of them."""
    return Large("../plan/costs/gpt.lua", mesh, plan, dtype="fp32", transport=transport)


LARGE = [
    large({"data": 1}, []),
    large({"data": 2}, [("data", {})]),
    large({"data": 2}, [("zero", {"stage": 1})], "ucx"),
    large({"data": 2, "tensor": 2}, [("zero", {"stage": 3}), ("tensor", {})]),
    large({"tensor": 4}, [("tensor", {"mode": "2d"})]),
    large({"sequence": 2}, [("sequence", {"mode": "ring"}), ("precision", {"dtype": "bf16"})]),
]


# What plugins take beside the program, in models whose arenas hide nothing, and in one whose do.
NVME = '[offload]\nplugin = "nvme"\npath = "/tmp"\n'
HOST = '[offload]\nplugin = "host"\n'
BY_HOSTS = '[transport]\nintra_host = "shm"\ninter_host = "ucx"\nranks_per_host = 2\n'
OUTSIDE = ("offload", {"states": ["*"], "parameters": ["*"], "min_elements": 1})


def small(mesh, plan, more):
    """One of few parameters."""
    return Case("zoo/mixer.lua", mesh, plan, {}, dtype="fp32", more=more)


PLUGINS = [
    small({"data": 1}, [OUTSIDE], NVME),
    small({"data": 2}, [("zero", {"stage": 3}), OUTSIDE], NVME),
    small({"data": 4}, [("data", {})], BY_HOSTS),
    small({"data": 4}, [("zero", {"stage": 2})], BY_HOSTS),
    Large("../plan/costs/gpt.lua", {"data": 2}, [("zero", {"stage": 1}), OUTSIDE], dtype="fp32", more=NVME),
    Large("../plan/costs/gpt.lua", {"data": 2}, [("zero", {"stage": 1}), OUTSIDE], dtype="fp32", more=HOST),
]


def planned(case, program, folder):
    """Bytes of the process by rank, or None where the plan is refused."""
    words = case.words(program, folder, "plan")
    ranks = planned_ranks(words, ["--exact"], folder, LIMIT, ["process_bytes"])
    return ranks and {rank: numbers["process_bytes"] for rank, numbers in ranks.items()}


def facts(record, found):
    """Numbers that a record of the log has of ranks."""
    if isinstance(record, dict):
        for key, value in record.items():
            if key.startswith("rank.") and key.endswith(".process_bytes"):
                found[int(key.split(".")[1])] = value
            facts(value, found)
    elif isinstance(record, list):
        for one in record:
            facts(one, found)


def taken(case, program, folder):
    """The peak of each rank of a run."""
    log = folder / "log.jsonl"
    words = case.words(program, folder, "run")
    at = words.index("--")
    ended = run(words[:at] + ["--steps", "3", "--dtype", case.dtype, "--log-json", str(log)] + words[at:], folder,
                LIMIT)
    if ended.code != 0:
        raise RuntimeError(f"run ended with {ended.code}: {ended.err[-300:]}")
    found = {}
    for line in log.read_text().splitlines():
        facts(json.loads(line), found)
    return found


def look_at(case, program, folder):
    """"refused", or how much of its plan the rank takes that takes most."""
    case.write(folder)
    plan = planned(case, program, folder)
    if plan is None:
        return "refused"
    took = taken(case, program, folder)
    if set(took) != set(plan):
        raise RuntimeError(f"ranks {sorted(plan)} were planned, and {sorted(took)} told what they took")
    return max(took[rank] / plan[rank] for rank in plan)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", type=Path, default=ROOT / "build/release/bin/baleen", help="the program")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=MANY, help="how many seeds")
    parser.add_argument("--keep", type=Path, help="where failed seeds are kept (default: a new folder in /tmp)")
    parser.add_argument("--large", action="store_true", help="a few large models in place of seeds")
    parser.add_argument("--plugins", action="store_true", help="a few with plugins that take memory, in place of seeds")
    options = parser.parse_args()
    program = options.baleen.resolve()
    keep = options.keep or Path(tempfile.mkdtemp(prefix="random_memory_"))
    shares, failed = [], 0
    given = LARGE if options.large else PLUGINS if options.plugins else None
    cases = given or [kinds.draw("mixes", options.first + i) for i in range(options.count)]
    for seed, case in enumerate(cases, 0 if given else options.first):
        folder = keep / f"memory_{seed}"
        try:
            share = look_at(case, program, folder)
        except RuntimeError as error:
            share = str(error)
        good = share == "refused" or (isinstance(share, float) and share <= SLACK)
        failed += not good
        shares += [share] if isinstance(share, float) else []
        told = f"{share:.3f} of the plan" if isinstance(share, float) else share
        print(f"memory {seed}: {'' if good else 'FAILED '}{told}: {case}", flush=True)
        if good:
            shutil.rmtree(folder)
    if shares:
        print(f"memory: {len(shares)} ran, of their plans {min(shares):.3f} to {max(shares):.3f}")
    elif options.count >= MANY:
        print("FAILED: none was planned and run")
        failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
