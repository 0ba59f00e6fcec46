"""The patterns by which the build gives some cases of a suite a label, a limit or a lane: one that is of no case does
nothing, and nobody would see it."""
import pathlib
import re


def alternatives(pattern):
    """What `|` separates outside of parentheses and brackets: each part has to be of some case."""
    parts, depth, in_brackets, escaped = [""], 0, False, False
    for letter in pattern:
        if letter == "|" and not (depth or in_brackets or escaped):
            parts.append("")
            continue
        parts[-1] += letter
        if escaped:
            escaped = False
            continue
        escaped = letter == "\\"
        if in_brackets:
            in_brackets = letter != "]"
        elif letter == "[":
            in_brackets = True
        elif letter in "()":
            depth += 1 if letter == "(" else -1
    return parts


class Patterns:
    """Of all builds of a run: a suite that one build has without the cases may have them in another."""

    def __init__(self):
        self.met = {}

    def see(self, build, names):
        """The patterns of a build (lines `suite pattern` of its case_patterns.txt) and the names of its cases."""
        file = pathlib.Path(build) / "case_patterns.txt"
        for line in file.read_text().splitlines() if file.exists() else []:
            suite, pattern = line.split(" ", 1)
            of_suite = [name for name in names if name.startswith(suite + "/")]
            for part in alternatives(pattern) if of_suite else []:
                met = any(re.search(part, name) for name in of_suite)
                self.met[suite, part] = self.met.get((suite, part), False) or met

    def complaints(self):
        """Pairs of a suite and a sentence."""
        return [(suite, f"its CMakeLists.txt names cases by `{part}`, and none is called so")
                for (suite, part), met in sorted(self.met.items()) if not met]
