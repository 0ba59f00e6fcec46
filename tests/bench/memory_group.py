"""Processes that may take so much memory and no more, page cache included; takes root."""
import os
import pathlib
import subprocess
import sys

MIB = 1 << 20


class MemoryGroup:
    """A memory control group for one process after the other."""

    def __init__(self):
        own = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
        self.first = "memory" in own  # of the first version of control groups
        root = pathlib.Path("/sys/fs/cgroup") / ("memory" if self.first else "")
        self.folder = root / own["memory" if self.first else ""].lstrip("/") / f"baleen-bench-{os.getpid()}"
        self.limit_file = self.folder / ("memory.limit_in_bytes" if self.first else "memory.max")

    def __enter__(self):
        try:
            self.folder.mkdir()
        except OSError as error:
            sys.exit(f"error: no memory control group can be made at {self.folder} ({error.strerror}); it takes root")
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def run(self, command, limit):
        """The finished process; `limit`: MiB, or None."""
        self.limit_file.write_text(str(limit * MIB) if limit else ("-1" if self.first else "max"))

        def enter():
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

        return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", preexec_fn=enter)


def must(done, what):
    """The finished process, unless it failed."""
    if done.returncode != 0:
        sys.exit(f"error: {what} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done
