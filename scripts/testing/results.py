"""What ctest's JUnit file says of each case."""
import re
import xml.etree.ElementTree
from dataclasses import dataclass


@dataclass
class Case:
    stage: str
    name: str
    status: str  # passed, failed, skipped or not_run
    seconds: float
    reason: str  # of a skip

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


def read(path, stage):
    cases = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        status, reason = "passed", ""
        if case.find("failure") is not None:
            status = "failed"
        elif skipped is not None:
            status, reason = "skipped", _reason(output)
            if case.get("status") == "notrun" and "SKIP" not in (skipped.get("message") or "").upper():
                status = "not_run"
        elif case.get("status") == "notrun":
            status = "not_run"
        cases.append(Case(stage, case.get("name").split("  # ")[0], status, float(case.get("time") or 0), reason))
    return cases
