#!/usr/bin/env python3
"""clang-tidy over sources of a build, several at a time where the build joins them. scripts/lint.sh --tidy calls it.

Usage: tidy.py --program CLANG_TIDY --compiler CLANG --build FOLDER (--all | -)
FOLDER's compile_commands.json says what belongs together: of a joined file all sources are looked at at once, which takes a
fifth of the time, since most of it goes into headers. - reads the sources that count from standard input, a line each.
What it found nothing in is remembered by a digest of the preprocessed text, the rules and the program, in
$XDG_CACHE_HOME/baleen/tidy, and not looked at again. Prints each finding once; exits with 1 where there is one."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
JOINED = re.compile(r'^#include "(.*)"$', re.M)
# Of clang-tidy and clang, these are nothing for a reader.
NOISE = re.compile(r"^(\d+ warnings?.*generated\.|Suppressed \d+ .*|Use -header-filter.*|.*\[clang-tidy-config\])$")
# Flags of GCC that clang refuses.
GCC_ALONE = {"-fno-gnu-unique"}
# What only a joined file has.
OF_JOINED = "-bugprone-suspicious-include"


class Unit:
    """One compilation, of a source or of several that are joined."""

    def __init__(self, entry):
        self.file = Path(entry["directory"], entry["file"])
        self.folder = entry["directory"]
        self.is_c = self.file.suffix == ".c"
        words = shlex.split(entry["command"]) if "command" in entry else list(entry["arguments"])
        self.words = [word for word in self.without_launcher(words) if word not in GCC_ALONE]
        self.is_joined = self.file.parent.name == "Unity"
        found = JOINED.findall(self.file.read_text()) if self.is_joined else [str(self.file)]
        self.sources = [Path(path) for path in found]

    @staticmethod
    def without_launcher(words):
        """The compiler's own words: behind ccache and env."""
        for at, word in enumerate(words):
            if not word.startswith("-") and re.search(r"(^|/)(c\+\+|cc|g\+\+|gcc|clang(\+\+)?)(-\d+)?$", word):
                return words[at + 1:]
        return words[1:]

    def flags(self):
        """Of the compilation, without what it writes."""
        kept, skip = [], False
        for word in self.words:
            if skip or word in ("-c", str(self.file)) or word in ("-MD", "-MMD"):
                skip = False
            elif word in ("-o", "-MT", "-MF"):
                skip = True
            else:
                kept.append(word)
        return kept

    def name(self):
        """For messages."""
        first = os.path.relpath(self.sources[0], ROOT)
        return first if len(self.sources) == 1 else f"{first} and {len(self.sources) - 1} more"


class Tidy:
    def __init__(self, options):
        self.options = options
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        self.cache = Path(cache) / "baleen" / "tidy"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.version = self.said([options.program, "--version"])
        self.configurations = {}
        self.commands = options.build / "clang"

    def write_commands(self, units):
        """A compile_commands.json that clang understands."""
        self.commands.mkdir(exist_ok=True)
        entries = []
        for unit in units:
            words = ["cc" if unit.is_c else "c++", *unit.words]
            entries.append({"directory": unit.folder, "file": str(unit.file), "arguments": words})
        (self.commands / "compile_commands.json").write_text(json.dumps(entries))

    @staticmethod
    def said(words, folder=None):
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace").stdout

    def configuration(self, unit):
        """The rules of the folder in which the unit's sources lie."""
        folder = unit.sources[0].parent
        if folder not in self.configurations:
            text = self.said([self.options.program, "--dump-config", str(unit.sources[0]), "--"])
            own = re.search(r"^HeaderFilterRegex: *'(.*)'$", text, re.M)
            self.configurations[folder] = text, own[1] if own else ""
        return self.configurations[folder]

    def digest(self, unit, rules):
        """Of all that a verdict depends on; None where the source does not compile."""
        words = [*unit.flags(), "-Wno-everything", "-E", "-P", "-x", "c" if unit.is_c else "c++", str(unit.file)]
        done = subprocess.run([self.options.compiler, *words], cwd=unit.folder, capture_output=True)
        if done.returncode != 0:
            return None
        text = hashlib.sha256(done.stdout)
        for part in (self.version, rules, " ".join(unit.flags()), "".join(map(str, unit.sources))):
            text.update(part.replace(str(ROOT), "").encode())
        return text.hexdigest()

    def look_at(self, unit):
        """Findings as text, "" for none; and whether it was looked at."""
        rules, headers = self.configuration(unit)
        digest = self.digest(unit, rules)
        if digest and (self.cache / digest).exists():
            return "", False
        words = [self.options.program, "--quiet", "-p", str(self.commands), f"--config={rules}"]
        if unit.is_joined:
            sources = "|".join(re.escape(str(source)) for source in unit.sources)
            words += [f"--header-filter={headers}|{sources}" if headers else f"--header-filter={sources}",
                      f"--checks={OF_JOINED}"]
        done = subprocess.run([*words, str(unit.file)], capture_output=True, text=True, errors="replace")
        text = "\n".join(line for line in (done.stdout + done.stderr).splitlines() if not NOISE.match(line)).strip()
        if not text and done.returncode != 0:
            text = f"{unit.name()}: clang-tidy ended with {done.returncode}"
        if not text and digest:
            (self.cache / digest).touch()
        return text, True


def units_of(build):
    """Those of the repository's own sources that clang can read: kernels are nvcc's and GCC's."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        unit = Unit(entry)
        made = not unit.is_joined and build in unit.file.resolve().parents
        if not made and unit.file.suffix != ".cu" and all(ROOT in source.parents for source in unit.sources):
            yield unit


def findings_of(text):
    """Each finding with the lines below it."""
    one = []
    for line in text.splitlines():
        if re.match(r"^\S+:\d+:\d+: (warning|error):", line) and one:
            yield "\n".join(one)
            one = []
        one.append(line)
    if one:
        yield "\n".join(one)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="clang-tidy")
    parser.add_argument("--compiler", required=True, help="clang++ of the same version")
    parser.add_argument("--build", type=Path, required=True, help="a build without precompiled headers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at a time")
    parser.add_argument("--all", action="store_true", help="every source that the build compiles")
    parser.add_argument("sources", nargs="?", choices=["-"], help="-: those that standard input names")
    options = parser.parse_args()
    if options.all == bool(options.sources):
        parser.error("say --all, or - and give the sources on standard input")
    options.build = options.build.resolve()
    units = list(units_of(options.build))
    if not options.all:
        wanted = {(ROOT / line.strip()).resolve() for line in sys.stdin if line.strip()}
        units = [unit for unit in units if wanted.intersection(source.resolve() for source in unit.sources)]
    sources = {source for unit in units for source in unit.sources}
    print(f"clang-tidy: {len(sources)} sources in {len(units)} compilations", flush=True)
    tidy, seen, looked, began = Tidy(options), set(), 0, time.monotonic()
    tidy.write_commands(units)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, (unit, (text, new)) in enumerate(zip(units, pool.map(tidy.look_at, units)), 1):
            looked += new
            for finding in findings_of(text):
                if finding not in seen:
                    seen.add(finding)
                    print(finding, flush=True)
            if done % 20 == 0:
                print(f"({done} of {len(units)} in {(time.monotonic() - began) / 60:.1f} minutes)", flush=True)
    print(f"clang-tidy: {len(seen)} findings; {looked} compilations looked at, {len(units) - looked} remembered")
    sys.exit(1 if seen else 0)


if __name__ == "__main__":
    main()
