"""What ctest's JUnit file says of each case."""
import re
import xml.etree.ElementTree
from dataclasses import dataclass

from selection import without_parameter


@dataclass
class Case:
    stage: str
    name: str
    status: str  # passed, failed, skipped or not_run
    seconds: float
    reason: str  # of a skip
    told: str = ""  # what a failed case said of its failure, in a few lines

    @property
    def suite(self):
        return self.name.split("/")[0]


def _reason(output):
    """The line that a skipped case of GoogleTest, or a script that exits with 77, printed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for before, line in zip(lines, lines[1:]):
        if re.search(r": Skipped$", before):
            return line
    spoken = [line for line in lines if line.startswith("skipped")]
    return spoken[0] if spoken else "no reason given"


def _told(output, count=6, width=200):
    """The lines of a failed case that say what went wrong: GoogleTest's failures, sanitizers' findings, errors; or its end."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines)
                  if re.search(r": Failure$|^(error|fatal|FAILED|Traceback)|ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|"
                               r"runtime error: |Assertion .* failed|terminate called", line.strip())), max(0, len(lines) - count))
    return "\n".join(line[:width] for line in lines[first:first + count])


def read(path, stage):
    cases = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        status, reason, told = "passed", "", ""
        if case.find("failure") is not None:
            status, told = "failed", _told(output)
        elif skipped is not None:
            status, reason = "skipped", _reason(output)
            if case.get("status") == "notrun" and "SKIP" not in (skipped.get("message") or "").upper():
                status = "not_run"
        elif case.get("status") == "notrun":
            status = "not_run"
        cases.append(Case(stage, without_parameter(case.get("name")), status, float(case.get("time") or 0), reason, told))
    return cases
