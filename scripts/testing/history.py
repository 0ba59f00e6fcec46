"""The cases that failed lately on this machine, in any checkout: they run first, so what breaks again shows at once."""
import collections
import datetime
import fcntl
import os
import pathlib

# Older failures say little of today's tree.
DAYS = 60
# A failure that comes with hundreds of others puts no order among cases.
FIRST = 40


def default_path():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "baleen" / "failed_cases.txt"


class History:
    """A file of lines `date name`, a line for each failure. Where it cannot be read or written, there is no history."""

    def __init__(self, path=None, today=None):
        self.path = pathlib.Path(path or default_path())
        self.today = today or datetime.date.today()

    def _recent(self, text):
        since = (self.today - datetime.timedelta(days=DAYS)).isoformat()
        return [line for line in text.splitlines() if " " in line and line.split(" ", 1)[0] >= since]

    def often(self):
        """Names, those that failed most often first; of two that failed as often, the one that failed last."""
        try:
            lines = self._recent(self.path.read_text())
        except (OSError, UnicodeError):
            return []
        names = [line.split(" ", 1)[1] for line in reversed(lines)]
        return [name for name, _ in collections.Counter(names).most_common(FIRST)]

    def add(self, names):
        """These failed today."""
        if not names:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                lines = self._recent(file.read()) + [f"{self.today.isoformat()} {name}" for name in names]
                file.truncate(0)
                file.write("\n".join(lines) + "\n")
        except (OSError, UnicodeError):
            pass


def run_first(build, names):
    """Has the next ctest of a build begin with these cases: it takes them for those that failed there last. `names` are
    whole ones, with what ctest prints behind them."""
    file = pathlib.Path(build) / "Testing" / "Temporary" / "CTestCostData.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    costs, _, failed = (file.read_text() if file.exists() else "").partition("---\n")
    failed = [name for name in failed.splitlines() if name]
    file.write_text(costs + "---\n" + "\n".join(dict.fromkeys([*failed, *names])) + "\n")
