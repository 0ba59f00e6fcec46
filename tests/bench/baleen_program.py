"""What the benchmarks share: their help, finding the built program, running it, reading its log."""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Parser(argparse.ArgumentParser):
    """Its help begins with what is measured; the usage comes behind."""

    def format_help(self):
        about, self.description = self.description, None
        rest = super().format_help()
        self.description = about
        return f"{about.strip()}\n\n{rest}"


def make_parser(about: str) -> argparse.ArgumentParser:
    """For a program whose docstring is `about`; its first line says what is measured."""
    return Parser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)


def add_program_option(parser):
    """The option --baleen, with the release build as its default."""
    parser.add_argument("--baleen", type=Path, default=ROOT / "build/release/bin/baleen", help="the program to measure")


def run_command(baleen: Path, script: Path, *arguments):
    """The words of `baleen run`; script arguments follow "--"."""
    if not baleen.exists():
        sys.exit(f"there is no program {baleen}; build it (scripts/test.sh) or name it with --baleen")
    return [str(baleen), "run", str(script), *map(str, arguments)]


def run(command):
    """Runs to the end, and returns what the program said; says it where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")  # a model says what it says
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}")
    return done.stdout


def records(path: Path, kind: str):
    """The records of a kind in a JSON-lines log."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [record for record in found if record["kind"] == kind]
