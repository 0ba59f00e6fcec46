#!/usr/bin/env python3
"""Builds and runs the tests of a level, stage by stage (plan.py), and says where the time went. scripts/test.sh calls it.

Ends with ctest's summaries, a table (kept in build/testing/times.txt and times.json), and a line of all cases of all
stages. Exits with 1 where a step or a case failed, a skip was not expected, or an expected skip ran."""
import argparse
import datetime
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import history  # noqa: E402
import patterns  # noqa: E402
import plan  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402
import selection  # noqa: E402
import skips  # noqa: E402
import standstill  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A case that computes takes ten places and one that mostly waits takes two, of ten a processor and eight: so up to four
# cases wait beside the ones that compute (cmake/BaleenBuild.cmake).
PLACES, EXTRA_PLACES = 10, 8
# Of failed cases, so many are repeated at the end with what they said.
LAST_FAILURES = 12
# So many cases at most are run again after the machine stood still: more have another reason.
AGAIN = 20


def head_number():
    """A number that each commit has of its own."""
    found = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    return int(found.stdout[:7], 16) if found.returncode == 0 and found.stdout else 0


def part(text):
    try:
        return selection.part_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is no K/N with K from 1 to N, as 2/3") from None


class Run:
    def __init__(self, options):
        self.options = options
        self.began = time.monotonic()
        self.ends = self.began + options.limit * 60
        self.folder = ROOT / "build" / "testing"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.steps, self.cases, self.complaints, self.left_out = [], [], [], 0
        self.stood_still = []
        self.suites, self.names, self.patterns = set(), set(), patterns.Patterns()
        self.history = history.History()
        self.passed = history.Passed(ROOT)

    def environment(self, stage):
        return dict(os.environ, CCACHE_STATSLOG=str(self.folder / f"ccache_{stage.name.replace(' ', '_')}.log"),
                    BALEEN_TEST_SEED=str(self.options.seed), BALEEN_TEST_LATE=str(self.folder / "late.txt"),
                    **stage.environment)

    def build(self, stage):
        return ROOT / "build" / (stage.folder or stage.preset)

    def step(self, name, command, environment=None, note=lambda: ""):
        """Runs a command to its end or to the limit of all; whether it succeeded."""
        print(f"==> {name}: {' '.join(map(str, command))}", flush=True)
        began = time.monotonic()
        process = subprocess.Popen(list(map(str, command)), cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            code = process.wait(timeout=max(1.0, self.ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            print(f"error: {name}: the limit of {self.options.limit:g} minutes for everything is over", flush=True)
            code = 124
        except KeyboardInterrupt:
            code = 130
        if code in (124, 130):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.steps.append({"name": name, "seconds": time.monotonic() - began, "note": note(), "code": code})
        if code == 130:
            self.finish()
        return code == 0

    def compile(self, stage):
        build = self.build(stage)
        environment = self.environment(stage)
        configure = ["cmake", "--preset", stage.preset, "-B", build, "-DBALEEN_BUILD_TESTS=ON", *stage.configure]
        if not self.step(f"{stage.name} configure", configure, environment):
            return False
        since = time.time_ns()  # as ninja notes when files were written
        targets = self.options.target or stage.targets
        command = ["cmake", "--build", build, f"-j{os.cpu_count()}"]
        for target in targets:
            command += ["--target", target]

        def note():
            objects, links, busy = report.compiled(build, since)
            hits, calls = report.cache(environment["CCACHE_STATSLOG"])
            return f"{objects} objects, {links} others, {busy:.1f} processor-minutes; {hits} of {calls} from the cache"
        return self.step(f"{stage.name} compile", command, environment, note)

    def test(self, stage):
        build = self.build(stage)
        listed = selection.listed(str(build))
        cases = [(selection.without_parameter(name), labels) for name, labels in listed]
        self.suites |= {selection.suite_of(name) for name, _ in cases}
        self.names |= {name for name, _ in listed}
        self.patterns.see(build, [name for name, _ in listed])
        if stage.targets or self.options.target:
            cases = [case if not case[0].endswith("_NOT_BUILT") else ("", []) for case in cases]
        wanted, left_out = selection.chosen(cases, stage, self.options.seed)
        wanted = selection.in_part([(number, name) for number, name in wanted if name], self.options.part)
        self.left_out += left_out
        before = self.passed_before(stage)
        resumed = sum(name in before for _, name in wanted)
        wanted = [(number, name) for number, name in wanted if name not in before]
        if resumed and not wanted:
            return True
        often = set(self.history.often())
        first = [listed[number - 1][0] for number, name in wanted if name in often]
        history.run_first(build, first)
        numbers = self.folder / f"{stage.name}_numbers.txt"
        numbers.write_text("0,0,0," + ",".join(str(number) for number, _ in wanted) + "\n")
        output = self.folder / f"{stage.name}.xml"
        left = max(1.0, self.ends - time.monotonic() - 60)
        stop = datetime.datetime.now() + datetime.timedelta(seconds=left)
        command = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "-j",
                   PLACES * (os.cpu_count() or 1) + EXTRA_PLACES, "--output-junit", output]
        if self.options.arguments:
            command += self.options.arguments
            if not any(word.startswith(("-L", "--label")) for word in self.options.arguments):
                command += ["-LE", plan.RARE]
        else:
            command += ["-I", numbers]
        if left < 24 * 3600 - 120:
            command += ["--stop-time", stop.strftime("%H:%M:%S")]
        of_part = "" if self.options.part[1] == 1 else " of part {} of {}".format(*self.options.part)
        of_part += f", {resumed} passed before" if resumed else ""
        with standstill.Watch() as watch:
            done = self.step(f"{stage.name} tests", command, self.environment(stage),
                             lambda: f"{len(wanted)} cases{of_part}, {left_out} left out by the sample, {len(first)} that failed lately first")
        if output.exists():
            cases = results.read(output, stage.name)
            if watch.standstills:
                cases = self.again(stage, cases, [name for name, _ in listed], sum(lost for _, lost in watch.standstills))
            self.history.add([case.name for case in cases if case.status == "failed"])
            self.cases += cases
            self.note_passed(stage, [case.name for case in cases if case.status == "passed"])
        return done

    def passed_before(self, stage):
        """The cases of a stage that need not run again; of one without cases, a case without a name."""
        return self.passed.since(self.options.resume, stage.name) if self.options.resume else set()

    def note_passed(self, stage, names):
        if self.options.level == "all":
            self.passed.add(stage.name, names)

    def again(self, stage, cases, names, lost):
        """The cases of a stage with those that failed run once more: for `lost` seconds the machine stood still, and it
        was asked nothing. `names` are all of the build's, in ctest's order."""
        failed = {case.name for case in cases if case.status == "failed"}
        told = f"the machine stood still for {lost:.0f} seconds in the {stage.name} tests"
        if not failed or len(failed) > AGAIN:
            self.stood_still.append(f"{told}; {len(failed)} cases failed, none was run again")
            return cases
        numbers = [str(i) for i, name in enumerate(names, 1) if selection.without_parameter(name) in failed]
        output = self.folder / f"{stage.name}_again.xml"
        command = ["ctest", "--test-dir", self.build(stage), "--output-on-failure", "--no-tests=error", "-j", PLACES,
                   "--output-junit", output, "-I", "0,0,0," + ",".join(numbers)]
        first = self.steps[-1]
        self.step(f"{stage.name} tests again", command, self.environment(stage), lambda: f"{len(numbers)} cases; {told}")
        second = {case.name: case for case in results.read(output, stage.name)} if output.exists() else {}
        cases = [second.get(case.name, case) for case in cases]
        if all(case.status in ("passed", "skipped") for case in cases):
            first["code"] = 0
        self.stood_still.append(f"{told}; run again: {', '.join(sorted(failed))}")
        return cases

    def finish(self):
        late = self.folder / "late.txt"
        facts = {"level": self.options.level, "seed": self.options.seed, "processors": os.cpu_count(),
                 "processor": report.processor(), "date": datetime.date.today().isoformat(), "steps": self.steps,
                 "stood_still": self.stood_still,
                 "late": late.read_text().splitlines() if late.exists() else []}
        lines = report.table(facts, self.cases)
        report.keep(self.folder, facts, self.cases, lines)
        print("\n".join(lines))
        print(f"(kept in {self.folder.relative_to(ROOT)}/times.txt; the same sample again: --seed {self.options.seed})")
        for sentence in self.stood_still:
            print(f"NOTE: {sentence}")
        for name, sentence in self.complaints:
            print(f"FAILED: {name}: {sentence}")
        for step in self.steps:
            if step["code"] != 0:
                print(f"FAILED: {step['name']} (status {step['code']})")
        count = {status: sum(case.status == status for case in self.cases)
                 for status in ("passed", "failed", "skipped", "not_run")}
        # At the very end: where only the last lines of a log are kept, these are among them.
        broken = [case for case in self.cases if case.status in ("failed", "not_run")]
        for case in broken[:LAST_FAILURES]:
            print(f"FAILED: {case.stage} {case.name}" + (" (did not run)" if case.status == "not_run" else ""))
            for line in case.told.splitlines():
                print(f"    {line}")
        if len(broken) > LAST_FAILURES:
            print(f"... and {len(broken) - LAST_FAILURES} more: {self.folder.relative_to(ROOT)}/times.json")
        if self.cases:
            print(f"{count['passed']} passed, {count['failed'] + count['not_run']} failed, {count['skipped']} skipped",
                  flush=True)
        failed = self.complaints or count["failed"] or count["not_run"] or any(s["code"] != 0 for s in self.steps)
        sys.exit(1 if failed else 0)

    def all(self):
        options = self.options
        if not options.arguments and not options.target:
            self.step("lint", [ROOT / "scripts" / "lint.sh"])
        stages = plan.stages(options.level, skips.has_cuda())
        if options.stage:
            stages = [stage for stage in stages if stage.name == options.stage]
        if options.preset:
            stages = [stage for stage in stages if stage.preset == options.preset and not stage.builds_only]
            stages = stages[:1] or [plan.only(options.preset)]
        if not stages:
            raise SystemExit(f"error: the level {options.level} has no stage `{options.stage}`")
        for stage in stages:
            if "" in self.passed_before(stage):
                continue
            if stage.command:
                if not options.arguments and not options.target:
                    if self.step(stage.name, [ROOT / stage.command[0], *stage.command[1:]]):
                        self.note_passed(stage, [""])
            elif self.compile(stage):
                if not stage.builds_only:
                    self.test(stage)
                elif not options.target:
                    self.note_passed(stage, [""])
        self.judge()
        self.finish()

    def judge(self):
        """Skips, and what is missing: of a part of the cases, that says nothing."""
        options = self.options
        expected = skips.ExpectedSkips(ROOT / "tests" / "expected_skips.txt")
        self.complaints = expected.complaints(self.cases)
        if options.arguments or options.stage or options.preset or options.target:
            return
        if any(step["code"] != 0 for step in self.steps if not step["name"].endswith(" tests")):
            return
        self.complaints += skips.ExpectedSuites(ROOT / "tests" / "expected_suites.txt").complaints(self.suites)
        self.complaints += self.patterns.complaints()
        if options.level == "all" and skips.has_cuda():
            self.complaints += expected.idle(self.names)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", choices=["small", "ci", "all"], default="small")
    parser.add_argument("--seed", type=int, default=None, help="which part of each matrix runs (default: the commit's)")
    parser.add_argument("--limit", type=float, default=85, help="minutes for everything; the summary still comes")
    parser.add_argument("--preset", default="", help="only the stages of this preset")
    parser.add_argument("--stage", default="", help="only this stage")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="K/N",
                        help="of the cases of each stage, the K-th of N parts")
    parser.add_argument("--resume", default="", metavar="COMMIT",
                        help="leave out what passed at COMMIT or later, in runs of --all on this machine")
    parser.add_argument("--target", action="append", default=[], help="build only this target; repeatable")
    parser.add_argument("arguments", nargs="*", help="for ctest, instead of the level's selection of cases")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = head_number()
    if options.resume:
        if options.level != "all":
            parser.error("--resume goes on with a run of --all")
        try:
            history.Passed(ROOT).since(options.resume, "")
        except ValueError:
            parser.error(f"--resume: there is no commit `{options.resume}`")
    Run(options).all()


if __name__ == "__main__":
    main()
