#!/usr/bin/env python3
"""`baleen plan --exact` is exact: each rank's numbers are those that a plan has which compiles every rank.

Where hosts differ ranks are told apart whatever they hold. So each seed is planned twice: on one host, where `--exact`
joins ranks that run alike, and on hosts of one rank that differ in their memory. Exits with 1 where a rank differs, or
no seed of many was planned.
"""
import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

import kinds
import known
from judge import planned_ranks

ROOT = Path(__file__).resolve().parents[3]
MANY = 8
MEMORY = 10**6  # MiB of a host
LIMIT = 200  # seconds
COMPARED = ("planned_bytes", "sent_bytes", "held_gradients_bytes", "working_bytes", "working_value_bytes")


def on_own_hosts(case):
    """The manifest with a host for each rank."""
    hosts = ", ".join(f'{{ name = "h{rank}", ranks = 1, address = "127.0.0.{rank + 1}", '
                      f'compute = {{ memory = {MEMORY + rank} }} }}' for rank in range(case.ranks()))
    return re.sub(r"hosts = \[.*\]\n", f"hosts = [{hosts}]\n", case.manifest(), count=1).replace(
        'plugin = "shm"', 'plugin = "ucx"')


def planned(case, program, folder, manifest, flags):
    """What is compared, by rank; None where the plan is refused."""
    (folder / "ranks.toml").write_text(manifest + "threads = 1\n")
    return planned_ranks(case.words(program, folder, "plan"), flags, folder, LIMIT, COMPARED)


def look_at(case, program, folder):
    """What differs, as a line; "" where nothing does, "refused" where there is no plan."""
    case.write(folder)
    manifest = case.manifest() + f"[compute]\nmemory = {MEMORY * case.ranks()}\n"
    joined = planned(case, program, folder, manifest, ["--exact"])
    apart = planned(case, program, folder, on_own_hosts(case) + "[compute]\n", [])
    if joined is None or apart is None:
        return "refused"
    for rank in sorted(apart):
        for key in COMPARED:
            if joined[rank][key] != apart[rank][key]:
                return f"rank {rank}, {key}: {joined[rank][key]} with --exact, and {apart[rank][key]} of its own"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", type=Path, default=ROOT / "build/release/bin/baleen", help="the program")
    parser.add_argument("--kind", default="mixes", help="of kinds.py")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=MANY, help="how many seeds")
    parser.add_argument("--keep", type=Path, help="where failed seeds are kept (default: a new folder in /tmp)")
    parser.add_argument("--known", action="store_true", help="the cases of known.py instead, all of which are planned")
    options = parser.parse_args()
    keep = options.keep or Path(tempfile.mkdtemp(prefix="random_exact_"))
    equal = failed = 0
    cases = list(known.EXACT.items()) if options.known else [
        (seed, kinds.draw(options.kind, seed)) for seed in range(options.first, options.first + options.count)]
    for name, case in cases:
        folder = keep / f"exact_{name}"
        try:
            told = look_at(case, options.baleen.resolve(), folder)
        except RuntimeError as error:
            told = str(error)
        fine = not told or (told == "refused" and not options.known)
        equal += not told
        failed += not fine
        print(f"exact {name}: {told or 'equal'}: {case}", flush=True)
        if fine:
            shutil.rmtree(folder)
    print(f"exact: {equal} equal, {failed} FAILED")
    if not equal and len(cases) >= MANY:
        failed += 1
        print("FAILED: none was planned")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
