#!/usr/bin/env python3
"""The C ABI as text: what the headers declare, with sizes, offsets and values that a compiler gives them.

    abi.py --headers sdk/include/baleen            compares with abi.txt beside this file
    abi.py --headers sdk/include/baleen --write    writes abi.txt

A header of a kind belongs to that kind's revision (kind.h), any other to the minor version (base.h). A header that has
changed while its version has not is an error, with --write too; so is a change of a stable interface that old plugins
would not survive: within a major version structs that begin with their size grow at their end, nothing else changes.

Made from the headers' own text and a small C program, not by abidw of libabigail: that one describes what a compiler
wrote into debug information, whose order and ids differ between compilers and versions, and constants are not in it.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The header of each kind.
OF_ONE_NAME = ["compute", "optimizer", "data", "monitor", "checkpoint", "strategy", "transport", "launcher", "offload"]
KINDS = {"op": "op_kind.h"} | {name: f"{name}.h" for name in OF_ONE_NAME}

# Read by the sizes that are written in it (core/plugin/descriptor.cpp).
GROWING = ["baleen_option_t", "baleen_descriptor_t", "baleen_note_t"]


class Wrong(Exception):
    """What the user is told."""


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def split(text, separator):
    """The parts between separators that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


def without_name(parameter):
    """The type of a parameter, whose name plugins do not depend on."""
    return re.sub(r"(?<=[\s*])\w+$", "", parameter).strip()


def members(body):
    """(name, declaration) of each member; `int a, b` are two."""
    for declaration in split(body, ";"):
        function = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
        if function:
            head, parameters = declaration[: function.end()], split(declaration[function.end() : -1], ",")
            yield function.group(1), head + ", ".join(without_name(one) for one in parameters) + ")"
            continue
        names = split(declaration, ",")
        kind, first = re.fullmatch(r"(.*?)(\w+(?:\s*\[\w+\])*)", names[0]).groups()
        for declarator in [first] + names[1:]:
            yield re.match(r"\w+", declarator).group(0), f"{kind.strip()} {declarator}"


class Dump:
    """The lines of one header, in which a number that the compiler knows is a C expression."""

    def __init__(self, path):
        text = without_comments(path.read_text())
        self.lines = []  # (text with {} for numbers, expressions)
        self.constants(text)
        text = re.sub(r"^\s*#.*(?:\\\n.*)*", "", re.sub(r"\\\n", " ", text), flags=re.M)
        declarations = r"typedef struct (\w+) \{(.*?)\} \1;|enum\s*\{(.*?)\};|typedef ([^;{}]*);"
        for found in re.finditer(declarations, text, re.S):
            name, body, constants, alias = found.groups()
            if name:
                self.struct(name, body)
            elif constants:
                for constant in split(constants, ","):
                    self.add(f"constant {constant.split()[0]} = {{}}", f"(long long){constant.split()[0]}")
            elif alias:
                self.add(f"type {' '.join(alias.split())}")

    def add(self, text, *expressions):
        self.lines.append((text, expressions))

    def constants(self, text):
        versions = r"BALEEN_ABI_M\w+|\w+_REVISION|\w+_STATE|\w+_FUNCTIONS|\w+_"
        for name, value in re.findall(r"^#define (BALEEN_\w+)[ \t]+(\S.*)$", text, re.M):
            if not re.fullmatch(versions, name) and re.fullmatch(r'[\w"./]+|\(UINT64_MAX >> 1\)', value.strip()):
                self.add(f"constant {name} = {value.strip()}")

    def struct(self, name, body):
        self.add(f"struct {name} of {{}} bytes", f"sizeof({name})")
        for member, declaration in members(body):
            self.add(f"  {{}} {declaration.replace('{', '{{')}", f"offsetof({name}, {member})")


def compiled(headers, expressions, folder):
    """The numbers that C expressions have, by the compiler that CC names."""
    includes = "".join(f'#include "baleen/{path.name}"\n' for path in headers)
    prints = "".join(f'    printf("%lld\\n", (long long)({expression}));\n' for expression in expressions)
    source, program = pathlib.Path(folder, "numbers.c"), pathlib.Path(folder, "numbers")
    source.write_text(f"#include <stdio.h>\n{includes}int main(void) {{\n{prints}    return 0;\n}}\n")
    compiler = [os.environ.get("CC", "cc"), "-std=c11", f"-I{headers[0].parent.parent}"]
    command = compiler + [str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"the headers do not compile:\n{done.stderr}")
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()


def versions(folder):
    """The version that each header belongs to, by the header's name; of any other under ''."""
    base, kind = (without_comments((folder / name).read_text()) for name in ("base.h", "kind.h"))
    number = lambda name, text: re.search(rf"#define {name} (\w+)", text).group(1)
    found = {"": f"abi {number('BALEEN_ABI_MAJOR', base)}.{number('BALEEN_ABI_MINOR', base)}"}
    for name, header in KINDS.items():
        state = number(f"BALEEN_{name.upper()}_STATE", kind).removeprefix("BALEEN_").lower()
        found[header] = f"{name} revision {number(f'BALEEN_{name.upper()}_REVISION', kind)} {state}"
    return found


def dump(folder):
    """The whole text."""
    headers = sorted(folder.glob("*.h"))
    dumps = {path.name: Dump(path) for path in headers}
    expressions = [e for one in dumps.values() for _, numbers in one.lines for e in numbers]
    with tempfile.TemporaryDirectory() as place:
        values = iter(compiled(headers, expressions, place))
    version, text = versions(folder), ""
    for name, one in dumps.items():
        text += f"== {name}: {version.get(name, version[''])}\n"
        text += "".join(line.format(*(next(values) for _ in numbers)) + "\n" for line, numbers in one.lines)
    return text


def sections(text):
    """(version, lines) of each header, by its name."""
    found = {}
    for line in text.splitlines():
        if line.startswith("== "):
            name, version = line[3:].split(": ")
            found[name] = (version, [])
        else:
            found[name][1].append(line)
    return found


def structs(lines):
    """The members of each struct under its name, and every other line under itself."""
    found, name = {}, ""
    for line in lines:
        if line.startswith("struct "):
            name = line.split()[1]
            found[name] = []
        elif line.startswith("  "):
            found[name].append(line)
        else:
            found[line] = []
    return found


def broken(old, new):
    """What plugins that were built against the lines `old` would not survive in `new`; '' where they would."""
    before, after = structs(old), structs(new)
    for name, had in before.items():
        if name not in after:
            return f"`{name}` is gone"
        grows = name in GROWING or (bool(had) and had[0] == "  0 uint64_t size")
        if (after[name][: len(had)] if grows else after[name]) != had:
            return f"`{name}` has changed" + (" other than at its end" if grows else ", and begins with no size")
    return ""


def complaint(old_text, new_text):
    """Why the new dump may not take the old one's place; '' where it may."""
    old, new = sections(old_text), sections(new_text)
    for name, (version, lines) in old.items():
        now, found = new.get(name, (version, []))
        if lines == found:
            continue
        major = lambda all_versions: all_versions["base.h"][0].split(".")[0]
        reason = "" if version.endswith("draft") or major(old) != major(new) else broken(lines, found)
        if reason:
            return f"{name}: {reason}: plugins of this major version would break; undo it, or raise BALEEN_ABI_MAJOR"
        if version == now:
            macro = "BALEEN_ABI_MINOR" if version.startswith("abi") else f"BALEEN_{version.split()[0].upper()}_REVISION"
            return f"{name} has changed, and its version has not ({version}): raise {macro}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).parent
    parser.add_argument("--headers", type=pathlib.Path, required=True, help="the folder with base.h")
    parser.add_argument("--golden", type=pathlib.Path, default=here / "abi.txt", help="the committed text")
    parser.add_argument("--write", action="store_true", help="write it")
    options = parser.parse_args()
    new = dump(options.headers)
    old = options.golden.read_text() if options.golden.exists() else ""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "committed", "headers", "", "", 0, "")
    difference = "\n".join(lines)
    if old and (reason := complaint(old, new)):
        raise Wrong(f"{reason}\n{difference}")
    if options.write:
        options.golden.write_text(new)
    elif difference:
        raise Wrong(f"{options.golden.name} is not what the headers say; write it anew with --write\n{difference}")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"error: {wrong}")
