#!/usr/bin/env python3
"""Tests of scripts/testing: which cases of a build run, in which order, and what fails a run.

Usage: testing_test.py [Samples | Order | Resumes | Skips | Suites | Patterns | Results | Standstills]
"""
import datetime
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "scripts" / "testing"))
import history  # noqa: E402
import patterns  # noqa: E402
import plan  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import run  # noqa: E402
import selection  # noqa: E402
import skips  # noqa: E402
import standstill  # noqa: E402


def of(status, name, reason=""):
    return results.Case("release", name, status, 1.0, reason)


class Samples(unittest.TestCase):
    CASES = ([(f"parity.zero/Case/{i}", ["parity", "sample_4"]) for i in range(23)]
             + [(f"graph/Case{i}", ["unit"]) for i in range(5)]
             + [("unit.cpu/Numbers0", ["unit", "numeric_8", "sanitized"]), ("golden.main_job/Trains", ["golden", "slow"])])

    def chosen(self, stage, seed):
        wanted, left_out = selection.chosen(self.CASES, stage, seed)
        return [name for _, name in wanted], left_out

    def test_seeds_that_follow_each_other_run_every_case_once(self):
        ci = plan.stages("ci", False)[1]
        for stage, seeds in ((ci, 4 * plan.THINS), (plan.stages("small", False)[0], 4)):
            seen = [name for seed in range(100, 100 + seeds) for name in self.chosen(stage, seed)[0]]
            seen = [name for name in seen if name.startswith("parity")]
            self.assertEqual(sorted(seen), sorted(name for name, _ in self.CASES if name.startswith("parity")))

    def test_parts_together_are_everything_once(self):
        wanted, _ = selection.chosen(self.CASES, plan.stages("all", False)[0], 0)
        for parts in (1, 2, 3, 50):
            seen = [case for number in range(1, parts + 1) for case in selection.in_part(wanted, (number, parts))]
            self.assertEqual(sorted(seen), wanted)
        self.assertEqual(selection.part_of("2/3"), (2, 3))
        for wrong in ("", "2", "0/3", "4/3", "1/0", "a/b", "-1/2", "1/2/3"):
            with self.assertRaises(ValueError, msg=wrong):
                selection.part_of(wrong)

    def test_a_seed_chooses_the_same_again(self):
        ci = plan.stages("ci", False)[1]
        self.assertEqual(self.chosen(ci, 7), self.chosen(ci, 7))
        self.assertNotEqual(self.chosen(ci, 7), self.chosen(ci, 8))

    def test_what_is_left_out_is_counted(self):
        names, left_out = self.chosen(plan.stages("ci", False)[1], 0)
        self.assertEqual(len([name for name in names if name.startswith("parity")]) + left_out, 23)

    def test_everything_leaves_nothing_out(self):
        release = plan.stages("all", False)[0]
        names, left_out = self.chosen(release, 3)
        self.assertEqual((len(names), left_out), (len(self.CASES), 0))

    def test_numbers_come_from_ctest_and_are_those_of_the_names(self):
        wanted, _ = selection.chosen(self.CASES, plan.stages("small", False)[0], 11)
        for number, name in wanted:
            self.assertEqual(self.CASES[number - 1][0], name)

    def test_slow_cases_run_in_everything_only(self):
        for level in ("small", "ci"):
            for stage in plan.stages(level, False):
                self.assertNotIn("golden.main_job/Trains", self.chosen(stage, 0)[0])

    def test_a_case_of_numbers_runs_in_a_landing_with_or_without_sanitizers(self):
        asan, release = plan.stages("ci", False)
        for seed in range(8):
            self.assertIn("unit.cpu/Numbers0", self.chosen(asan, seed)[0] + self.chosen(release, seed)[0])


class Order(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = Path(self.folder.name) / "cache" / "failed_cases.txt"
        self.day = datetime.date(2026, 11, 28)

    def on(self, days_ago=0):
        return history.History(self.file, self.day - datetime.timedelta(days=days_ago))

    def test_what_failed_most_often_is_named_first(self):
        self.on(3).add(["a/Rarely", "b/Often of two words"])
        self.on(2).add(["b/Often of two words"])
        self.on(1).add(["c/Lately"])
        self.assertEqual(self.on().often(), ["b/Often of two words", "c/Lately", "a/Rarely"])

    def test_an_old_failure_is_forgotten(self):
        self.on(history.DAYS + 1).add(["a/Old"])
        self.on(history.DAYS).add(["b/Young"])
        self.assertEqual(self.on().often(), ["b/Young"])
        self.on().add(["c/Now"])
        self.assertNotIn("a/Old", self.file.read_text())

    def test_a_broken_build_puts_no_order_among_cases(self):
        self.on().add([f"a/Case{i}" for i in range(1000)])
        self.assertEqual(len(self.on().often()), history.FIRST)

    def test_without_a_file_that_can_be_read_there_is_no_history(self):
        self.assertEqual(self.on().often(), [])
        self.file.parent.mkdir()
        self.file.write_bytes(b"2026-11-28 a/\xff\xfe\n")
        self.assertEqual(self.on().often(), [])
        self.file.unlink()
        self.file.mkdir()
        self.on().add(["a/Case"])
        self.assertEqual(self.on().often(), [])

    def began(self, build):
        """The order in which ctest begins the cases of a folder, four at a time."""
        told = subprocess.run(["ctest", "--test-dir", build, "-j", "4"], check=True, capture_output=True, text=True).stdout
        return re.findall(r"^ +Start +\d+: (.*)$", told, re.M)

    def test_ctest_begins_with_what_is_to_run_first(self):
        build = Path(self.folder.name)
        names = [f"suite/Case{i}" for i in range(12)] + ["suite/Of/0  # GetParam() = 3 words"]
        (build / "CTestTestfile.cmake").write_text("".join(
            f'add_test([=[{name}]=] "/bin/true")\nset_tests_properties([=[{name}]=] PROPERTIES COST {100 - i})\n'
            for i, name in enumerate(names)))
        self.assertEqual(self.began(build)[0], names[0])
        last = [names[12], names[11]]
        history.run_first(build, last)
        self.assertEqual(set(self.began(build)[:2]), set(last))
        # ctest keeps what failed by itself, which is added to.
        (build / "Testing/Temporary/CTestCostData.txt").write_text(f"{names[3]} 1 0.5\n---\n{names[10]}\n")
        history.run_first(build, last)
        self.assertEqual(set(self.began(build)[:3]), {names[10], *last})


class Resumes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree, self.file = Path(folder.name) / "tree", Path(folder.name) / "cache" / "passed_cases.txt"
        self.git("init", "--quiet", str(self.tree), at=folder.name)
        self.first = self.commit("one")

    def git(self, *words, at=None):
        return subprocess.run(["git", "-C", str(at or self.tree), "-c", "user.name=n", "-c", "user.email=e", *words], check=True,
                              capture_output=True, text=True).stdout.strip()

    def commit(self, text):
        (self.tree / "file").write_text(text)
        self.git("add", "file")
        self.git("commit", "--quiet", "-m", text)
        return self.git("rev-parse", "HEAD")

    def passed(self, today=datetime.date(2026, 12, 1)):
        return history.Passed(self.tree, self.file, today)

    def test_what_passed_at_a_commit_or_later_is_known_of_its_stage(self):
        self.passed().add("release", ["a/Case", "b/Case of words"])
        second = self.commit("two")
        self.passed().add("release", ["c/Case"])
        self.passed().add("asan", ["d/Case"])
        self.assertEqual(self.passed().since(self.first, "release"), {"a/Case", "b/Case of words", "c/Case"})
        self.assertEqual(self.passed().since(second, "release"), {"c/Case"})
        self.assertEqual(self.passed().since("HEAD~1", "asan"), {"d/Case"})

    def test_of_a_changed_tree_nothing_is_noted(self):
        (self.tree / "file").write_text("changed")
        self.passed().add("release", ["a/Case"])
        self.assertEqual(self.passed().since(self.first, "release"), set())

    def test_of_another_branch_nothing_counts(self):
        self.commit("aside")
        self.passed().add("release", ["a/Case"])
        self.git("reset", "--quiet", "--hard", self.first)
        second = self.commit("two")
        self.assertEqual(self.passed().since(second, "release"), set())
        self.assertEqual(self.passed().since(self.first, "release"), {"a/Case"})

    def test_an_unknown_commit_is_refused(self):
        for wrong in ("nowhere", "0" * 40):
            with self.assertRaises(ValueError, msg=wrong):
                self.passed().since(wrong, "release")

    def test_each_is_noted_once_and_the_old_are_forgotten(self):
        old = datetime.date(2026, 12, 1) - datetime.timedelta(days=history.DAYS + 1)
        self.passed(old).add("release", ["a/Old"])
        for _ in range(3):
            self.passed().add("release", ["a/New"])
        self.assertEqual([line.split("\t")[2:] for line in self.file.read_text().splitlines()], [["release", "a/New"]])

    def test_a_file_that_cannot_be_read_says_nothing(self):
        self.file.parent.mkdir()
        self.file.write_bytes(b"2026-12-01\t\xff\n")
        self.assertEqual(self.passed().since(self.first, "release"), set())


class Skips(unittest.TestCase):
    def complaints(self, lines, *cases):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            return skips.ExpectedSkips(file.name).complaints(cases)

    LINES = ["# a comment", "always  ^a/Needs  # what no machine has"]

    def test_a_skip_that_is_expected_is_none(self):
        self.assertEqual(self.complaints(self.LINES, of("skipped", "a/NeedsMuch", "no"), of("passed", "b/Case")), [])

    def test_a_rule_of_no_case_is_told(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("always  ^a/Needs  # what no machine has\nno_gpu  ^b/  # a device\n")
            file.flush()
            expected = skips.ExpectedSkips(file.name)
        self.assertEqual([rule for rule, _ in expected.idle(["a/NeedsMuch", "c/Case"])], ["^b/"])
        self.assertEqual(expected.idle(["a/NeedsMuch", "b/Case"]), [])

    def test_cases_of_a_device_run_in_everything(self):
        wanted, _ = selection.chosen([("parity.cuda/OnADevice", ["parity", "gpu"]), ("bench/Case", ["bench"])],
                                     plan.stages("all", True)[0], 0)
        self.assertEqual([name for _, name in wanted], ["parity.cuda/OnADevice"])

    def test_a_skip_that_nobody_expects_fails_the_run(self):
        (name, sentence), = self.complaints(self.LINES, of("skipped", "b/Case", "the transport did not start"))
        self.assertEqual(name, "b/Case")
        self.assertIn("the transport did not start", sentence)

    def test_an_expected_skip_that_ran_fails_the_run(self):
        for status in ("passed", "failed"):
            (name, sentence), = self.complaints(self.LINES, of(status, "a/NeedsMuch"))
            self.assertEqual(name, "a/NeedsMuch")
            self.assertIn("ran", sentence)

    def test_a_line_without_a_reason_or_with_an_unknown_condition_is_refused(self):
        for line in ("always  ^a/", "always  ^a/ # ", "sometimes  ^a/  # why"):
            with self.assertRaisesRegex(SystemExit, r"\.txt:1: "):
                self.complaints([line])

    def test_the_list_of_this_tree_can_be_read(self):
        tests = Path(__file__).resolve().parents[3]
        self.assertTrue(skips.ExpectedSkips(tests / "expected_skips.txt").rules)
        self.assertTrue(skips.ExpectedSuites(tests / "expected_suites.txt").suites)


class Suites(unittest.TestCase):
    def complaints(self, found, lines=("graph", "# a comment", "unit.cuda  always")):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            return [name for name, _ in skips.ExpectedSuites(file.name).complaints(found)]

    def test_one_that_vanished_fails_the_run(self):
        self.assertEqual(self.complaints({"unit.cuda"}), ["graph"])

    def test_one_that_is_in_no_list_fails_the_run(self):
        self.assertEqual(self.complaints({"graph", "new"}), ["new"])

    def test_one_may_be_missing_where_its_condition_holds(self):
        self.assertEqual(self.complaints({"graph"}), [])

    def test_a_program_that_is_not_built_stands_for_its_suite(self):
        self.assertEqual(selection.suite_of("test_conformance.data_NOT_BUILT"), "conformance.data")
        self.assertEqual(selection.suite_of("conformance.data/Of/Csv.Reads"), "conformance.data")


class Patterns(unittest.TestCase):
    def complaints(self, *builds):
        seen = patterns.Patterns()
        for lines, names in builds:
            with tempfile.TemporaryDirectory() as build:
                (Path(build) / "case_patterns.txt").write_text("".join(line + "\n" for line in lines))
                seen.see(build, names)
        return [(suite, re.search("`(.*)`", sentence)[1]) for suite, sentence in seen.complaints()]

    def test_one_of_a_case_is_good(self):
        self.assertEqual(self.complaints((["a /B[.]C$", "a ."], ["a/B.C", "a/B.D"])), [])

    def test_one_of_no_case_fails_the_run(self):
        self.assertEqual(self.complaints((["a /gcc$"], ["a/B.C/gcc_x", "b/B.C/gcc"])), [("a", "/gcc$")])

    def test_each_alternative_has_to_be_of_a_case(self):
        self.assertEqual(self.complaints((["a B|C.*/D|/(E|F)[|]"], ["a/B", "a/E|"])), [("a", "C.*/D")])

    def test_another_build_of_the_run_may_have_the_case(self):
        self.assertEqual(self.complaints((["a /cuda_"], ["a/B"]), (["a /cuda_"], ["a/cuda_B"])), [])

    def test_a_suite_that_is_not_built_is_not_asked(self):
        self.assertEqual(self.complaints((["a B"], ["test_a_NOT_BUILT"])), [])

    def test_a_build_without_the_file_has_none(self):
        seen = patterns.Patterns()
        seen.see("/nowhere", ["a/B"])
        self.assertEqual(seen.complaints(), [])


class Results(unittest.TestCase):
    FILE = """<testsuite>
      <testcase name="a/Passes  # GetParam() = 3" time="1.5" status="run"><system-out>fine</system-out></testcase>
      <testcase name="a/Fails" time="2" status="fail"><failure message="Failed"/><system-out>[ RUN ] a
one.cpp:7: Failure
Expected: 1
  Actual: 2
</system-out></testcase>
      <testcase name="a/Skips" time="0" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
        <system-out>two.cpp:3: Skipped
no GPU here
</system-out></testcase>
      <testcase name="a/Script" time="0" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>skipped: no root
</system-out></testcase>
      <testcase name="a/NeverRan" status="notrun"><skipped message="Unable to find executable"/></testcase>
    </testsuite>"""

    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(self.FILE)
            file.flush()
            self.cases = {case.name: case for case in results.read(file.name, "release")}

    def test_each_end_of_a_case_is_told_from_the_others(self):
        self.assertEqual({name: case.status for name, case in self.cases.items()},
                         {"a/Passes": "passed", "a/Fails": "failed", "a/Skips": "skipped", "a/Script": "skipped",
                          "a/NeverRan": "not_run"})
        self.assertEqual(self.cases["a/Passes"].seconds, 1.5)

    def test_a_skip_has_its_reason(self):
        self.assertEqual(self.cases["a/Skips"].reason, "no GPU here")
        self.assertEqual(self.cases["a/Script"].reason, "skipped: no root")

    def test_a_failure_begins_with_what_went_wrong(self):
        self.assertEqual(self.cases["a/Fails"].told.splitlines()[:2], ["one.cpp:7: Failure", "Expected: 1"])

    def test_a_command_of_several_outputs_takes_its_time_once(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = ["# ninja log v5", "0\t60000\t9\tone.cpp.o\ta1",
                     "0\t60000\t9\tsums.fatbin\tb2", "0\t60000\t9\tsums.fatbin.resources\tb2",
                     "60000\t90000\t9\tlib/one.so\tc3", "0\t60000\t3\tolder.o\td4"]
            (Path(folder) / ".ninja_log").write_text("".join(line + "\n" for line in lines))
            self.assertEqual(report.compiled(folder, 5), (2, 1, 2.5))
            self.assertEqual(report.compiled(Path(folder) / "none", 5), (0, 0, 0))


class Standstills(unittest.TestCase):
    @staticmethod
    def seen(*beats):
        """Of beats (elapsed, stolen), the seconds of each standstill."""
        at, all_beats = 0.0, []
        for elapsed, stolen in beats:
            at += elapsed
            all_beats.append(standstill.Beat(at, elapsed, stolen))
        return [round(lost, 3) for _, lost in standstill.standstills(all_beats)]

    def test_a_busy_machine_is_none(self):
        self.assertEqual(self.seen(*[(1.0, 0), (1.3, 0.2), (1.9, 0.4)] * 20), [])

    def test_a_pause_is_one_and_so_is_a_machine_without_processors(self):
        self.assertEqual(self.seen((1.0, 0), (115.0, 0), (1.0, 0)), [114.0])
        self.assertEqual(self.seen((1.0, 0), *[(1.1, 0.9)] * 10, (1.0, 0), (1.0, 0)), [9.0])
        self.assertEqual(self.seen((61.0, 30), (1.0, 0), (11.0, 0)), [60.0, 10.0])

    def test_a_short_one_is_none(self):
        self.assertEqual(self.seen((1.0, 0), (4.0, 0), (1.0, 0), (4.0, 0)), [])

    def test_a_stopped_process_sees_that_time_went_on(self):
        program = ("import sys; sys.path.insert(0, sys.argv[1]); import standstill, sys\n"
                   "with standstill.Watch() as watch: print('on', flush=True); sys.stdin.read()\n"
                   "print([lost for _, lost in watch.standstills])")
        with subprocess.Popen([sys.executable, "-c", program, str(Path(run.__file__).parent)], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), "on\n")
            process.send_signal(signal.SIGSTOP)
            time.sleep(standstill.LEAST + 2.5)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.5)
            told = process.communicate("")[0]
        self.assertRegex(told, r"^\[[56789]\.\d+\]\n$")

    def run_of(self, folder, script):
        """A run of a build of one case, which failed; the case is a shell script."""
        (Path(folder) / "CTestTestfile.cmake").write_text(f'add_test([=[a/Case]=] "sh" "-c" [=[{script}]=])\n')
        made = run.Run.__new__(run.Run)
        made.folder, made.steps, made.stood_still = Path(folder), [{"name": "release tests", "code": 8}], []
        made.ends = time.monotonic() + 60
        made.build, made.environment = (lambda stage: folder), (lambda stage: None)
        return made

    def test_after_one_what_failed_runs_again_and_counts(self):
        stage = types.SimpleNamespace(name="release")
        for script, status, code in (("exit 0", "passed", 0), ("exit 1", "failed", 8)):
            with self.subTest(script), tempfile.TemporaryDirectory() as folder:
                made = self.run_of(folder, script)
                cases = made.again(stage, [of("failed", "a/Case"), of("passed", "b/Case")], ["a/Case  # 1", "b/Case"], 60)
                self.assertEqual([case.status for case in cases], [status, "passed"])
                self.assertEqual(made.steps[0]["code"], code)
                self.assertIn("stood still for 60 seconds in the release tests; run again: a/Case", made.stood_still[0])

    def test_after_one_a_broken_tree_is_not_run_again(self):
        made = run.Run.__new__(run.Run)
        made.steps, made.stood_still = [], []
        many = [of("failed", f"a/{i}") for i in range(run.AGAIN + 1)]
        self.assertEqual(made.again(types.SimpleNamespace(name="release"), many, [], 60), many)
        self.assertIn("none was run again", made.stood_still[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
