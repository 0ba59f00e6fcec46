"""The skips that are expected (tests/expected_skips.txt). Any other skip fails a run, and so does an expected one that ran:
a test that no longer skips has to leave the list, one that skips anew has to say why."""
import ctypes
import os
import pathlib
import re
import shutil
import socket
import subprocess


def _reachable(host, port):
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


def _may_administer():
    """CAP_SYS_ADMIN, which mounts and network namespaces need: root of an ordinary container lacks it."""
    status = pathlib.Path("/proc/self/status").read_text()
    return bool(int(re.search(r"^CapEff:\s*(\w+)$", status, re.M).group(1), 16) >> 21 & 1)


def _may_make_networks():
    return _may_administer() and shutil.which("ip") is not None and os.path.exists("/proc/sys/net")


def _may_mount_files():
    """Whether a file can be mounted as an ext4: beside the right, a loop device and what makes the file system."""
    return (_may_administer() and os.access("/dev/loop-control", os.R_OK | os.W_OK)
            and any(shutil.which("mkfs.ext4", path=path) for path in (None, "/usr/sbin:/sbin")))


def _python_has(python, *modules):
    looks = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))"
    try:
        return subprocess.run([python, "-c", looks, *modules], capture_output=True).returncode == 0
    except OSError:
        return False


def _has_library(name):
    folders = ("/usr/local/cuda/lib64", "/usr/local/cuda/lib")
    if any(os.path.exists(f"{folder}/{name}") for folder in folders):
        return True
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def _flags():
    found = re.search(r"^flags\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return set(found.group(1).split()) if found else set()


# What a line's first word may be; each is true where this machine lacks something.
CONDITIONS = {
    "always": lambda: True,
    "no_gpu": lambda: not os.path.exists("/dev/nvidiactl"),
    "gpu": lambda: os.path.exists("/dev/nvidiactl"),
    "no_mounts": lambda: not _may_administer(),
    "no_networks": lambda: not _may_make_networks(),
    "no_loop_mounts": lambda: not _may_mount_files(),
    "no_avx512": lambda: "avx512f" not in _flags(),
    "one_processor": lambda: len(os.sched_getaffinity(0)) < 2,
    "no_cuda_toolkit": lambda: shutil.which("nvcc") is None and not os.path.exists("/usr/local/cuda/bin/nvcc"),
    "no_nccl": lambda: not _has_library("libnccl.so.2"),
    "no_text": lambda: not any(pathlib.Path("/usr/include/c++").glob("*")),
    "no_torch": lambda: not _python_has(os.environ.get("BALEEN_PYTHON") or "python3", "torch"),
    "no_safetensors": lambda: not _python_has("python3", "numpy", "safetensors"),
}


class ExpectedSkips:
    """Lines `condition  regular expression of names  # reason`."""

    def __init__(self, path):
        self.rules = []
        for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
            text, _, reason = line.partition(" # ")
            words = text.split()
            if not words or text.startswith("#"):
                continue
            if len(words) != 2 or words[0] not in CONDITIONS or not reason.strip():
                raise SystemExit(f"error: {path}:{number}: `{line}` is not `condition  regex  # reason`; conditions are "
                                 + ", ".join(sorted(CONDITIONS)))
            self.rules.append((CONDITIONS[words[0]](), re.compile(words[1])))

    def expected(self, name):
        return any(holds and rule.search(name) for holds, rule in self.rules)

    def idle(self, names):
        """Rules that are of none of these cases, which are all that there are: pairs of a rule and a sentence."""
        return [(rule.pattern, "is in tests/expected_skips.txt, and no case is called so")
                for _, rule in self.rules if not any(rule.search(name) for name in names)]

    def complaints(self, results):
        """What is wrong about the skips of a run: pairs of a name and a sentence."""
        out = []
        for case in results:
            if case.status == "skipped" and not self.expected(case.name):
                out.append((case.name, "skipped, and tests/expected_skips.txt does not expect it: " + case.reason))
            if case.status in ("passed", "failed") and self.expected(case.name):
                out.append((case.name, "ran, though tests/expected_skips.txt says that it skips"))
        return out


class ExpectedSuites:
    """Lines `suite  [condition]`: where the condition holds the suite may be missing."""

    def __init__(self, path):
        self.path, self.suites = pathlib.Path(path), {}
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            words = line.split()
            if not words or line.startswith("#"):
                continue
            if len(words) > 2 or (len(words) == 2 and words[1] not in CONDITIONS):
                raise SystemExit(f"error: {path}:{number}: `{line}` is not `suite  [condition]`; conditions are "
                                 + ", ".join(sorted(CONDITIONS)))
            self.suites[words[0]] = words[1] if len(words) == 2 else None

    def complaints(self, found):
        """What is wrong about the suites that the builds of a level have: pairs of a name and a sentence."""
        missing = [name for name, condition in self.suites.items()
                   if name not in found and not (condition and CONDITIONS[condition]())]
        return ([(name, f"is missing from this build, and {self.path.name} expects it") for name in sorted(missing)]
                + [(name, f"is not in {self.path.name}") for name in sorted(found - self.suites.keys())])


def has_cuda():
    """Whether this machine has what compiles the plugin cuda."""
    return not CONDITIONS["no_cuda_toolkit"]()
