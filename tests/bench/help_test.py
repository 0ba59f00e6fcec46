#!/usr/bin/env python3
"""Measures nothing: a test that every benchmark can be started by a stranger, and that README.md lists it.

Each program in Python is executable, begins with a shebang and prints its help from a copy of this folder, without a build
and without PyTorch, JAX and NumPy. Each program given as a word prints its help as well. The help's first line says what
is measured.
"""
import re
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST = re.compile(r"^Measures \S.{20,}$")
ABSENT = ("torch", "jax", "numpy")


def scripts():
    """Programs in Python; what is only imported has no main."""
    return [path for path in sorted(HERE.rglob("*.py")) if '__name__ == "__main__"' in path.read_text()]


def expect_start(path: Path):
    """What is wrong with a script's mode and first line."""
    if not os.access(path, os.X_OK):
        yield f"{path} is not executable: chmod +x, and git update-index --chmod=+x"
    if not path.read_text().startswith("#!/usr/bin/env python3\n"):
        yield f"{path} does not begin with #!/usr/bin/env python3"


def expect_help(program: Path, environment):
    """What is wrong with a program's --help."""
    for word in ("--help", "-h"):
        try:
            done = subprocess.run([str(program), word], capture_output=True, text=True, timeout=60, cwd="/", env=environment)
        except OSError as error:
            yield f"{program} {word} does not start: {error}"
            return
        first = done.stdout.partition("\n")[0]
        if done.returncode != 0 or done.stderr:
            yield f"{program} {word} ends with {done.returncode} and says {done.stderr!r}"
        elif not FIRST.match(first):
            yield f"{program} {word} does not begin with what it measures (`Measures ...`) but with {first!r}"
        elif not re.search("^usage: ", done.stdout, re.MULTILINE | re.IGNORECASE):
            yield f"{program} {word} shows no usage"


def expect_mention(name: str, readme: str):
    """What the README lacks."""
    if f"`{name}`" not in readme:
        yield f"{HERE / 'README.md'} does not mention `{name}`"


def main():
    programs, problems = [Path(word).resolve() for word in sys.argv[1:]], []
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__ + "\nUsage: help_test.py [PROGRAM...]")
        return
    readme, found = (HERE / "README.md").read_text(), scripts()
    if len(found) < 10:
        problems.append(f"there are only {len(found)} programs in {HERE}")
    with tempfile.TemporaryDirectory() as folder:
        copy, absent = Path(folder) / "tests/bench", Path(folder) / "absent"
        shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        absent.mkdir()
        for module in ABSENT:
            (absent / f"{module}.py").write_text(f"raise ImportError('{module} is not needed for --help')\n")
        environment = dict(os.environ, PYTHONPATH=str(absent), PYTHONDONTWRITEBYTECODE="1")
        for path in found:
            problems += [*expect_start(path), *expect_mention(str(path.relative_to(HERE)), readme)]
            problems += expect_help(copy / path.relative_to(HERE), environment)
        for program in programs:
            problems += [*expect_help(program, environment), *expect_mention(program.name, readme)]
    print("\n".join(problems) or f"{len(found)} scripts and {len(programs)} programs say what they measure")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
