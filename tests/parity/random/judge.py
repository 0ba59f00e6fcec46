"""Runs one command within limits, and judges how it ended: equal, planned, refused with a reason, or a failure."""
import json
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

GOOD = ("equal", "planned", "refused")
MOST_MIB = 2048  # of memory that a command may take
MOST_CPU = 60  # seconds of a processor that planning may take, however busy the machine is

# What a refusal tells of what to do.
REMEDY = re.compile(
    r"\b(make|mark|use|take|choose|give|set|put|name|write|leave|add|hold|lower|raise|remove|did you mean|at least|at most|"
    r"or more|or less|must be|may be|known|needs?|instead|in place of|only with|the names are)\b")
# What only we understand: layouts by their letters, sources, types, addresses, Lua's own words, names that are empty,
# advice for those who write strategies.
INTERNALS = re.compile(
    r"\b(R|P|F|S\d|S\d\.\d) (along|over)\b|\bas (R|P|F|S\d)\b|\.[ch]pp\b|\bBALEEN_|std::|0x[0-9a-f]{4}|\bassert|"
    r"\bexception\b|\binternal\b|our own bug|nullptr|attempt to (index|call|compare|concatenate|perform)|``|\(\)|, \)|"
    r"let the strategy|offer this op|candidate")
# Where a run stood that had begun.
BEGUN = re.compile(r"\bstep \d+|\bevaluating\b|\bcollective \d+ begun")


@dataclass
class Ended:
    """How a command ended; `code` is as subprocess has it."""
    code: int
    hung: bool
    out: str
    err: str
    seconds: float
    cpu: float  # seconds, of all its processes
    mib: float


@dataclass
class Verdict:
    """`outcome` is one of GOOD, or else a failure; `why` is a line about it."""
    outcome: str
    why: str = ""

    def good(self):
        """Whether nothing is wrong."""
        return self.outcome in GOOD


def run(words, folder, limit):
    """Runs a command for at most `limit` seconds; what it says is kept in the folder as well."""
    paths = [Path(folder) / name for name in ("out.txt", "err.txt")]
    began, hung, done = time.monotonic(), threading.Event(), threading.Event()
    with paths[0].open("w") as out, paths[1].open("w") as err:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)

    def end():
        hung.set()
        _signal(process.pid, signal.SIGTERM)
        if not done.wait(3):
            _signal(process.pid, signal.SIGKILL)

    timer = threading.Timer(limit, end)
    timer.start()
    _, status, used = os.wait4(process.pid, 0)
    done.set()
    timer.cancel()
    timer.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if hung.is_set():
        _signal(process.pid, signal.SIGKILL)  # ranks that outlived what started them
    out, err = (path.read_text(errors="replace") for path in paths)
    cpu = used.ru_utime + used.ru_stime
    return Ended(process.returncode, hung.is_set(), out, err, time.monotonic() - began, cpu, used.ru_maxrss / 1024)


def _signal(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def judge(case, ended, plan):
    """`plan` runs `baleen plan` for the same case: what it takes and a run refuses is refused late."""
    said = _first(ended.err)
    if ended.hung:
        return Verdict("hung", f"it did not end within {ended.seconds:.0f} s")
    if "DIFFERENT" in ended.out:
        return Verdict("different", said)
    if ended.code < 0:
        return Verdict("crashed", f"by {signal.Signals(-ended.code).name}")
    if ended.code not in (0, 2, 3):
        return Verdict("crashed", f"status {ended.code}: {said}")
    if ended.mib > MOST_MIB:
        return Verdict("greedy", f"{ended.mib:.0f} MiB of memory")
    if case.command == "plan" and ended.cpu > MOST_CPU:
        return Verdict("greedy", f"{ended.cpu:.0f} s of a processor")
    if ended.code == 0:
        return _finished(case, ended)
    return _refused(case, ended, plan)


def _finished(case, ended):
    if case.command == "plan":
        planned = "parameters on" in ended.out
        return Verdict("planned") if planned else Verdict("odd", "status 0, and no plan printed")
    head = f"{case.ranks()} ranks and one rank, "
    if case.ranks() > 1 and not ended.out.startswith(head):
        return Verdict("odd", f"status 0, and `{ended.out[:60]}` where `{head}` was to come")
    said = any(f" steps in {dtype}\n" in ended.out for dtype in case.dtypes())
    if not said or "\nEQUAL within the tolerance\n" not in ended.out:
        return Verdict("odd", "status 0, and not EQUAL")
    return Verdict("equal")


def _refused(case, ended, plan):
    said = _first(ended.err)
    if "error: " not in ended.err:
        return Verdict("poor", f"status {ended.code} without an error: {said}")
    if BEGUN.search(said):
        return Verdict("late", said)
    if case.command != "plan" and plan().code == 0:
        return Verdict("late", f"`baleen plan` takes it: {said}")
    found = INTERNALS.search(ended.err)
    if found:
        return Verdict("poor", f"words of internals, `{found[0]}`: {said}")
    if not re.search(r"`|\d", said) or len(said.split()) < 6:
        return Verdict("poor", f"no reason: {said}")
    if not REMEDY.search(ended.err):
        return Verdict("poor", f"no remedy: {said}")
    return Verdict("refused", said)


def _first(err):
    """The first error, without the path before it; else the last line."""
    lines = err.strip().splitlines() or ["(nothing was said)"]
    for line in lines:
        if line.startswith("error: "):
            return re.sub(r"\S*/", "", line, count=1)
    return lines[-1]


def planned_ranks(words, flags, folder, limit, keys):
    """These numbers of each rank, as `baleen plan --json` with further flags tells them; None where it is refused."""
    at = words.index("--")
    ended = run(words[:at] + ["--json", *flags] + words[at:], folder, limit)
    if ended.code == 2:
        return None
    if ended.code not in (0, 3):
        raise RuntimeError(f"plan ended with {ended.code}: {ended.err[-300:]}")
    ranks = {}
    for one in json.loads(ended.out)["classes"]:
        for first, last in one["ranks"]:
            ranks.update({rank: {key: one[key] for key in keys} for rank in range(first, last + 1)})
    return ranks
