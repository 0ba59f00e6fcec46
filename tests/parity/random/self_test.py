#!/usr/bin/env python3
"""A test of the suite itself: each kind of failure is found, none is seen where there is none, and seeds replay.

Usage: self_test.py [--baleen PROGRAM --mutants FOLDER]. False programs play all failures in some seconds; the real one,
with a strategy that is wrong on several ranks (tests/parity/oracle), plays a plan that computes something else.
"""
import argparse
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import kinds
import models
import newcomers
from case import Case
from judge import MOST_CPU, MOST_MIB, Ended, judge, run
from random_plans import look_at

HERE = Path(__file__).resolve().parent
# What every false program knows: its command, its manifest's ranks, its precision.
PRELUDE = f"""#!{sys.executable} -IS
import os, re, signal, subprocess, sys, time
words = sys.argv[1:]
plans = words[0] == "plan"
manifest = open(words[words.index("--manifest") + 1]).read()
ranks, dtype = re.search(r"ranks = (\\d+)", manifest)[1], "" if plans else words[words.index("--dtype") + 1]

def compared(end, ranks=ranks, dtype=dtype):
    print(f"{{ranks}} ranks and one rank, 3 steps in {{dtype}}\\nlargest difference of losses: 0\\n{{end}}")

def refuse(text, status=2):
    print("info: a note", file=sys.stderr)
    print(f"error: {{text}}", file=sys.stderr)
    sys.exit(status)

GOOD = "ranks.toml:7:12: strategy `tensor`: `heads` = 3 cannot be cut over 4 ranks; make `heads` 4 or more"
"""
EQUAL = 'compared("EQUAL within the tolerance")'
OPTIONS = argparse.Namespace(baleen=None, mutants=None)


class Program(unittest.TestCase):
    """The whole program beside a false `baleen`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.keep, self.false = Path(folder.name) / "kept", Path(folder.name) / "baleen"
        self.keep.mkdir()

    def write(self, code, prelude=PRELUDE):
        """The false program."""
        self.false.write_text(prelude + code)
        self.false.chmod(0o755)

    def suite(self, code, kind="mixes", count=8):
        """Runs some seeds; status and output. Failed seeds are kept in self.keep."""
        self.write(code)
        words = [HERE / "random_plans.py", kind, "--baleen", self.false, "--count", count, "--keep", self.keep]
        done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=200)
        return done.returncode, done.stdout + done.stderr

    def expect_failure(self, outcome, code, kind="mixes", limit=60, prelude=PRELUDE):
        """The first seed has that outcome, which is no good one."""
        self.write(code, prelude)
        _, verdict = look_at(kinds.draw(kind, 0), "", self.false, self.keep / "0", limit)
        self.assertEqual(verdict.outcome, outcome, f"{code}: {verdict.why}")
        self.assertFalse(verdict.good())

    def test_passes_equal_seeds_and_keeps_nothing(self):
        status, said = self.suite(EQUAL)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"(?m)^mixes: 8 equal$")
        self.assertEqual(list(self.keep.iterdir()), [])

    def test_passes_where_some_are_refused_with_a_reason(self):
        status, said = self.suite(f'if "[transport]" in manifest or int(ranks) > 7: refuse(GOOD)\n{EQUAL}', count=16)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"(?m)^mixes: \d+ equal, \d+ refused$")

    def test_fails_where_none_of_many_is_equal(self):
        status, said = self.suite("refuse(GOOD)")
        self.assertEqual(status, 1, said)
        self.assertIn("none of 8 seeds was equal", said)

    def test_keeps_what_failed_and_says_how_to_repeat_it(self):
        status, said = self.suite(f'if plans: refuse(GOOD)\nif int(ranks) > 8: os.abort()\n{EQUAL}', count=6)
        self.assertEqual(status, 1, said)
        kept = sorted(self.keep.iterdir())
        self.assertTrue(0 < len(kept) < 6, said)
        self.assertIn("ranks = ", (kept[0] / "ranks.toml").read_text())
        self.assertIn(f"--manifest {kept[0]}/ranks.toml", said)
        self.assertIn(f"--first {kept[0].name.split('_')[-1]} --count 1", said)

    def test_finds_a_difference(self):
        self.expect_failure("different", 'compared("DIFFERENT")\nrefuse("the ranks do not compute what one rank does")')

    def test_finds_a_death_by_a_signal(self):
        self.expect_failure("crashed", "os.kill(os.getpid(), signal.SIGSEGV)")
        self.expect_failure("crashed", "os.kill(os.getpid(), signal.SIGSEGV)", "plans_only")

    def test_finds_a_mistake_of_our_own_and_a_lost_rank(self):
        self.expect_failure("crashed", "refuse(GOOD, 70)")
        self.expect_failure("crashed", 'refuse("rank 1 crashed: killed by SIGSEGV", 4)')

    def test_finds_a_hang_and_ends_its_processes(self):
        shell = "#!/bin/sh\ntrap '' TERM\nsleep 99 &\necho $! >$(dirname $4)/child\nwait\nsleep 99\n"
        self.expect_failure("hung", shell, limit=2, prelude="")
        child = int((self.keep / "0" / "child").read_text())
        for _ in range(50):
            status = Path(f"/proc/{child}/status")
            if not status.exists() or "State:\tZ" in status.read_text():
                return
            time.sleep(0.1)
        self.fail("what the hung program had started runs on")

    def test_finds_a_late_refusal(self):
        self.expect_failure("late", 'refuse("rank 0, step 2, collective 7 begun: `x` is 3; make it 4")')
        self.expect_failure("late", "if not plans: refuse(GOOD)")

    def test_finds_a_poor_refusal(self):
        for code in ("sys.exit(2)", 'refuse("")', 'refuse("this plan is not possible; make it another one")',
                     'refuse("`heads` = 3 cannot be cut over the 4 ranks along `tensor`")',
                     'refuse("`x` is to be used as R along `tensor` and as S0; make it 4 or more")',
                     'refuse("place.cpp:175: `x` has 3 rows; make it 4 or more")',
                     'refuse("it may cut `heads`, ff, vocab, ); take another of the 3 axes")'):
            self.expect_failure("poor", code)

    def test_finds_a_success_that_compared_nothing(self):
        self.expect_failure("odd", "pass")
        self.expect_failure("odd", EQUAL.replace(")", ', ranks="1")'))
        self.expect_failure("odd", EQUAL.replace(")", ', dtype="bf16")'))
        self.expect_failure("odd", "pass", "plans_only")


class Judging(unittest.TestCase):
    """Parts without a program."""

    def test_finds_a_plan_that_takes_too_much(self):
        case = Case("zoo/mixer.lua", {"data": 2}, [], command="plan")
        for cpu, mib, outcome in ((MOST_CPU - 1, MOST_MIB - 1, "planned"), (1, MOST_MIB + 1, "greedy"),
                                  (MOST_CPU + 1, 1, "greedy")):
            ended = Ended(0, False, "10 parameters on 2 ranks", "", 1, cpu, mib)
            self.assertEqual(judge(case, ended, None).outcome, outcome)

    def test_measures_memory_and_processors(self):
        with tempfile.TemporaryDirectory() as folder:
            code = "x = bytearray(100 << 20); x[::4096] = b'1' * 25600; sum(range(10**6))"
            ended = run([sys.executable, "-c", code], folder, 60)
        self.assertGreater(ended.mib, 100)
        self.assertGreater(ended.cpu, 0.01)

    def test_takes_the_coarsest_precision_of_sixteen_bits(self):
        case = Case("zoo/mixer.lua", {"data": 2}, [("precision", {"dtype": "bf16"})], dtype="fp32")
        for dtype, outcome in (("bf16", "equal"), ("fp32", "equal"), ("fp16", "odd"), ("fp64", "odd")):
            out = f"2 ranks and one rank, 3 steps in {dtype}\nx\nEQUAL within the tolerance\n"
            self.assertEqual(judge(case, Ended(0, False, out, "", 1, 1, 1), None).outcome, outcome)


class Seeds(unittest.TestCase):
    """What seeds draw."""

    def test_replay_by_themselves(self):
        for kind in kinds.KINDS:
            forth = [str(vars(kinds.draw(kind, seed))) for seed in range(200)]
            back = [str(vars(kinds.draw(kind, seed))) for seed in reversed(range(200))]
            self.assertEqual(forth, back[::-1])
            self.assertGreater(len(set(forth)), 190, kind)

    def test_stay_within_their_meshes(self):
        for kind in kinds.KINDS:
            ranks = [kinds.draw(kind, seed).ranks() for seed in range(1000)]
            low, high = {"plans_only": (2, 640), "three_by_three": (9, 9), "newcomers": (2, 8),
                         "few_digits": (2, 8)}.get(kind, (2, 12))
            self.assertEqual((min(ranks), max(ranks)), (low, high), kind)

    def test_draw_every_model_strategy_and_mode(self):
        text = "".join(str(kinds.draw("mixes", seed)) + "\n" for seed in range(1000))
        for word in (*models.MODELS, "stage=1", "stage=2", "stage=3", "mode=1d", "mode=2d", "mode=2.5d", "mode=3d",
                     "ring", "ulysses", "megatron", "bf16", "fp16"):
            self.assertIn(word, text)

    def test_draw_every_newcomer_and_what_stands_beside_it(self):
        cases = [kinds.draw("newcomers", seed) for seed in range(1000)]
        text = "".join(f"{case} {case.transport} {case.offload} {case.arguments}\n" for case in cases)
        for word in (*newcomers.MODELS, *newcomers.SCHEDULES, *newcomers.RATES, *newcomers.RULES, "recompute", "powersgd",
                     "update=host", "tile_mb", "delay_update", "hierarchy", "nvme", "megatron", "split:", "replicate:"):
            self.assertIn(word, text)


class Mutant(unittest.TestCase):
    """The real program with a strategy that divides a gradient once more on several ranks."""

    def test_is_different(self):
        if not OPTIONS.baleen or not OPTIONS.mutants:
            self.skipTest("no --baleen and --mutants")
        for damage, outcome in (("none", "equal"), ("twice", "different")):
            plan = [("data", {}), ("mutant", {"damage": damage, "of": "embed.weight"})]
            case = Case("zoo/mixer.lua", {"data": 2}, plan, plugins=OPTIONS.mutants)
            with tempfile.TemporaryDirectory() as folder:
                case.write(folder)
                ended = run(case.words(OPTIONS.baleen, folder), folder, 60)
            self.assertEqual(judge(case, ended, None).outcome, outcome, ended.out + ended.err)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baleen", type=Path, help="the real program")
    parser.add_argument("--mutants", type=Path, help="the folder of the strategy `mutant`")
    parser.parse_args(namespace=OPTIONS)
    unittest.main(argv=sys.argv[:1])
