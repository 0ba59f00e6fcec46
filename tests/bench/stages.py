#!/usr/bin/env python3
"""Measures where a step of GPT-2 124M goes: its profile, summed by stages, beside what was expected of each.

LOG is what `baleen run --profile` of transformer.lua printed. Beside the milliseconds of each stage stand those of the
first measured runs on an H100 (docs/measurements/cuda.md), and those that a review of the sources had expected there
before: of the plugin as it was, and as it could be. All are of 64 rows of 1024 in bf16.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from baleen_program import make_parser
from models import MODELS

ROW = re.compile(r"^ *[\d.]+ % +([\d.]+) +\d+[ \d.]*  (\S.*)$")
EXPECTED = "gpt2-1024"


@dataclass(frozen=True)
class Stage:
    """A part of the step: the ops whose names match (the first match counts), and what was measured and expected."""
    title: str
    names: re.Pattern
    measured: str
    was: str
    goal: str


STAGES = (
    Stage("the update, norm and casts", re.compile(
        r"^optimizer\.|\.update \(|\.norm \(|\.(weight|bias|gamma|beta|positions) \("), "8", "3.5 to 4", "2"),
    Stage("attention, both ways", re.compile(r"\(attention(_grad)?\b"), "18.9", "15 to 17", "15"),
    Stage("gradient of the embedding", re.compile(r"\(embedding_grad\b"), "", "3 to 4", "0.3"),
    Stage("the head and its loss", re.compile(r"^(loss|linear)\b"), "31.6", "97 to 140", "28"),
    Stage("norms, sums of residuals", re.compile(
        r"\(norm(_grad)?\b|^blocks\.\*(\.grad)? \(|^embedding(\.grad)? \("), "10.5", "13 to 16", "7"),
    Stage("products of the blocks", re.compile(r"^blocks\."), "59", "52 to 58", "50"),
    Stage("between launches", re.compile(r"^between launches$"), "", "2 to 3", "1"),
    Stage("others", re.compile(""), "", "", ""),
    Stage("whole step", re.compile(r"(?!)"), "135, waiting", "190 to 240", "105"),
)


def stage_of(name: str) -> Stage:
    return next(stage for stage in STAGES if stage.names.search(name))


def sums(text: str):
    """Milliseconds of a step by the titles of stages."""
    found = dict.fromkeys((stage.title for stage in STAGES), 0.0)
    for milliseconds, name in (row.groups() for row in map(ROW.match, text.splitlines()) if row):
        if name == "whole step":
            found[name] = float(milliseconds)
        else:
            found[stage_of(name).title] += float(milliseconds)
    return found


def main():
    parser = make_parser(__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("--rows", type=int, default=64, help="of the step")
    parser.add_argument("--model", choices=sorted(MODELS), default=EXPECTED)
    options = parser.parse_args()
    found = sums(options.log.read_text(errors="replace"))
    if not found["whole step"]:
        sys.exit(f"error: {options.log} has no profile's table; it is what `baleen run --profile` prints")
    print(f"{'ms a step':<27}{'here':>9}  {'an H100, measured':>17}  {'expected once':>13}  {'its goal':>8}")
    for stage in STAGES:
        print(f"{stage.title:<27}{found[stage.title]:>9.1f}  {stage.measured or '-':>17}  {stage.was or '-':>13}  "
              f"{stage.goal or '-':>8}")
    if options.model != EXPECTED or options.rows != MODELS[EXPECTED].batch:
        model = MODELS[options.model]
        print(f"what was expected is of 64 rows of GPT-2 124M; here are {options.rows} of {model.title}")


if __name__ == "__main__":
    main()
