"""What earlier runs on this machine, in any checkout, found: the cases that failed lately run first, so what breaks again
shows at once; and the ones that passed at a commit need not run again where somebody goes on with a run."""
import collections
import datetime
import fcntl
import os
import pathlib
import subprocess

# Older failures say little of today's tree.
DAYS = 60
# A failure that comes with hundreds of others puts no order among cases.
FIRST = 40


def default_path(name="failed_cases.txt"):
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "baleen" / name


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


def _git(root, *words):
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)


class Passed:
    """A file of lines `date commit stage name`, tabs between, of cases that passed. Of a tree with changes that are not
    committed nothing is noted."""

    def __init__(self, root, path=None, today=None):
        self.root = root
        self.path = pathlib.Path(path or default_path("passed_cases.txt"))
        self.today = today or datetime.date.today()

    def _lines(self):
        try:
            lines = [line.split("\t") for line in self.path.read_text().splitlines()]
        except (OSError, UnicodeError):
            return []
        since = (self.today - datetime.timedelta(days=DAYS)).isoformat()
        return [line for line in lines if len(line) == 4 and line[0] >= since]

    def since(self, commit, stage):
        """Names of the stage's cases that passed at this commit or at one that descends from it. ValueError: there is no
        such commit."""
        if _git(self.root, "rev-parse", "--verify", "--quiet", commit + "^{commit}").returncode != 0:
            raise ValueError(commit)
        lines = [line for line in self._lines() if line[2] == stage]
        later = {at for at in {line[1] for line in lines}
                 if _git(self.root, "merge-base", "--is-ancestor", commit, at).returncode == 0}
        return {line[3] for line in lines if line[1] in later}

    def add(self, stage, names):
        head = _git(self.root, "rev-parse", "HEAD").stdout.strip()
        changed = _git(self.root, "status", "--porcelain", "--untracked-files=no")
        if not names or not head or changed.returncode != 0 or changed.stdout:
            return
        noted = {tuple(line[1:]) for line in self._lines()}
        lines = [f"{self.today.isoformat()}\t{head}\t{stage}\t{name}" for name in names if (head, stage, name) not in noted]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            kept = ["\t".join(line) for line in self._lines()]
            written = self.path.with_suffix(f".{os.getpid()}")
            written.write_text("".join(line + "\n" for line in kept + lines))
            written.replace(self.path)
        except OSError:
            pass


def run_first(build, names):
    """Has the next ctest of a build begin with these cases: it takes them for those that failed there last. `names` are
    whole ones, with what ctest prints behind them."""
    file = pathlib.Path(build) / "Testing" / "Temporary" / "CTestCostData.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    costs, _, failed = (file.read_text() if file.exists() else "").partition("---\n")
    failed = [name for name in failed.splitlines() if name]
    file.write_text(costs + "---\n" + "\n".join(dict.fromkeys([*failed, *names])) + "\n")
