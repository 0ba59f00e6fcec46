"""Which cases of a build run. A case with the label sample_K belongs to a matrix of which the small level runs every K-th
case, and a landing one of these (plan.THINS): which ones, the seed decides, and so many seeds that follow each other run
them all. The label numeric_K says the same of
stages with sanitizers; other stages run all such cases, though a sanitizer's suite holds them."""
import hashlib
import json
import re
import subprocess


def without_parameter(name):
    """What stands behind a name is a parameter as text, which may hold a path of this machine."""
    return name.split("  # ")[0]


def listed(build):
    """All cases of a build in ctest's order: name as ctest has it, labels."""
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True,
                          text=True).stdout
    cases = []
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        cases.append((test["name"], properties.get("LABELS", [])))
    return cases


def suite_of(name):
    """Of a case's name; a program that is not built stands for its suite."""
    return re.sub(r"^test_(.*)_NOT_BUILT$", r"\1", name.split("/")[0])


def rate(labels, word="sample"):
    """K of the label sample_K; 1 without one."""
    found = [re.fullmatch(word + r"_(\d+)", label) for label in labels]
    return max([int(match[1]) for match in found if match], default=1)


def rank(name):
    """A place in the order in which samples are drawn: the same on every machine."""
    return hashlib.md5(name.encode()).digest()


def part_of(text):
    """Of "2/3" the numbers 2 and 3. ValueError where it is no part."""
    number, _, parts = text.partition("/")
    if not number.isdigit() or not parts.isdigit() or not 1 <= int(number) <= int(parts):
        raise ValueError(text)
    return int(number), int(parts)


def in_part(wanted, part):
    """Every N-th case from the K-th on: neighbours, which take alike, are in different parts."""
    number, parts = part
    return wanted[number - 1::parts]


def chosen(cases, stage, seed):
    """The numbers (from 1, ctest's) and names of the cases that run, and how many the sample leaves out."""
    wanted, matrices = [], {}
    for number, (name, labels) in enumerate(cases, 1):
        numeric = rate(labels, "numeric")
        if numeric > 1 and not stage.sanitizes:
            labels = [label for label in labels if label != "sanitized"]
        if stage.labels and not any(re.search(stage.labels, label) for label in labels):
            continue
        if stage.without and any(re.search(stage.without, label) for label in labels):
            continue
        if stage.names and not re.search(stage.names, name):
            continue
        if stage.without_names and re.search(stage.without_names, name):
            continue
        thins = stage.thins if rate(labels) > 1 else 1
        one_in = max(rate(labels) * thins, numeric if stage.sanitizes else 1) if stage.sampled else 1
        if one_in > 1:
            matrices.setdefault((name.split("/")[0], one_in), []).append((rank(name), number, name))
        else:
            wanted.append((number, name))
    left_out = 0
    for (_, one_in), matrix in matrices.items():
        for place, (_, number, name) in enumerate(sorted(matrix)):
            if (place + seed) % one_in == 0:
                wanted.append((number, name))
            else:
                left_out += 1
    return sorted(wanted), left_out
