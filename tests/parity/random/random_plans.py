#!/usr/bin/env python3
"""Random plans are equal to one rank, or refused with a reason before any work: runs some seeds of a kind.

Exits with 1 where a seed was DIFFERENT, crashed, hung, was refused late or without a reason and a remedy, or where none
of many was equal. What a seed is made of is kept then, and the command that repeats it is printed.
"""
import argparse
import resource
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import kinds
import known
from judge import Verdict, judge, run

ROOT = Path(__file__).resolve().parents[3]
MANY = 8  # seeds of which at least one must be equal, or planned


def cases(options):
    """Names, cases, and what is expected of them ("": what is good of any)."""
    if options.kind == "known":
        names = [name for name in known.CASES if options.only in name]
        return [(name, *known.CASES[name]) for name in names[options.first:options.first + options.count]]
    seeds = range(options.first, options.first + options.count)
    return [(str(seed), kinds.draw(options.kind, seed), "") for seed in seeds]


def look_at(case, expected, program, folder, limit):
    """Runs one case; how it ended, and the verdict."""
    (folder / "plan").mkdir(parents=True, exist_ok=True)
    case.write(folder)
    ended = run(case.words(program, folder), folder, limit)
    verdict = judge(case, ended, lambda: run(case.words(program, folder, "plan"), folder / "plan", limit))
    if verdict.good() and not (expected in ("", verdict.outcome) or expected in verdict.why):
        verdict = Verdict("unexpected", f"{verdict.outcome}, where `{expected}` was to come: {verdict.why}")
    return ended, verdict


def show_failure(options, name, words, folder, ended):
    """All that it takes to repeat a seed."""
    print(f"  in {folder}, with its manifest and output:\n    {shlex.join(words)}")
    seed = f" --only {name}" if options.kind == "known" else f" --first {name} --count 1"
    print(f"  judged again:\n    {Path(__file__).resolve()} {options.kind} --baleen {options.baleen}{seed}")
    for line in (ended.out.splitlines()[-6:] + ended.err.splitlines()[:12]):
        print(f"    | {line[:300]}")


def run_all(options, keep):
    """Runs the seeds one after the other; how many had which outcome."""
    counts = Counter()
    for name, case, expected in cases(options):
        folder = keep / f"{options.kind}_{name}"
        ended, verdict = look_at(case, expected, options.baleen, folder, options.limit)
        counts[verdict.outcome if verdict.good() else f"FAILED {verdict.outcome}"] += 1
        why = f" ({verdict.why})" if verdict.why else ""
        print(f"{options.kind} {name}: {verdict.outcome} in {ended.seconds:.1f} s: {case}{why}", flush=True)
        if verdict.good():
            shutil.rmtree(folder)
        else:
            show_failure(options, name, case.words(options.baleen, folder), folder, ended)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*kinds.KINDS, "known"])
    parser.add_argument("--baleen", type=Path, default=ROOT / "build/release/bin/baleen", help="the program")
    parser.add_argument("--first", type=int, default=0, help="the first seed, or the first known case")
    parser.add_argument("--count", type=int, help=f"how many of them (default: {MANY} seeds, all known cases)")
    parser.add_argument("--only", default="", help="known cases whose names have this word")
    parser.add_argument("--limit", type=float, default=200, help="seconds that a seed may take")
    parser.add_argument("--keep", type=Path, help="where failed seeds are kept (default: a new folder in /tmp)")
    options = parser.parse_args()
    if options.count is None:
        options.count = len(known.CASES) if options.kind == "known" else MANY
    if not options.baleen.exists():
        sys.exit(f"there is no program {options.baleen}; build it (scripts/test.sh) or name it with --baleen")
    options.baleen = options.baleen.resolve()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    keep = options.keep or Path(tempfile.mkdtemp(prefix="random_plans_"))
    counts = run_all(options, keep)
    failed = sum(count for outcome, count in counts.items() if outcome.startswith("FAILED"))
    print(f"{options.kind}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    if sum(counts.values()) >= MANY and not counts["equal"] + counts["planned"]:
        print(f"FAILED: none of {sum(counts.values())} seeds was equal, so that nothing was compared")
        failed += 1
    if not failed and not options.keep:
        shutil.rmtree(keep)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
