#!/usr/bin/env python3
"""Draws what the stages of a pipeline did in a step, beside what their table says, as an SVG.

Usage: draw_pipeline.py trace.json -o pipeline.svg [--step N] [--back]
`baleen run ... --trace trace.json` writes a file per rank; those of further ranks are found beside rank 0's. Above is the
table: the same passes in the same order, each as long as the median of its kind on its rank, without anything else.
Below is what was measured; what a pass waits for others stands in front of it. --back: chunks go down the ranks and back up (schedule zero_bubble_v).
"""
import argparse
import json
import re
import statistics
from pathlib import Path

COLOURS = {"F": "#8ecae6", "B": "#ffb703", "W": "#a3b18a"}
LETTERS = {"forward": "F", "backward": "B", "weight_gradients": "W"}
WIDTH, ROW, MARGIN = 1400, 26, 70


def passes_of(path: Path, step: int):
    """(letter, micro-batch, chunk, begin, end) in microseconds, in their order."""
    found, waits = [], []
    for line in path.read_text().splitlines():
        if '"cat":"pass"' not in line and '"cat":"wait"' not in line:
            continue
        event = json.loads(line.rstrip(","))
        if event["args"]["step"] != step:
            continue
        if event["cat"] == "wait":  # spans come in the order of their ends, so these are of the pass that follows
            waits.append((event["ts"], event["dur"]))
            continue
        waited = sum(length for begin, length in waits if event["ts"] <= begin < event["ts"] + event["dur"])
        waits.clear()
        kind, micro_batch, chunk = re.fullmatch(r"(\w+) of micro-batch (\d+)(?:, chunk (\d+))?", event["name"]).groups()
        found.append((LETTERS[kind], int(micro_batch), int(chunk or 0), event["ts"] + waited,
                      event["ts"] + event["dur"]))
    return sorted(found, key=lambda one: one[3])


def read(first: Path, step: int):
    """By rank."""
    ranks = [passes_of(first, step)]
    while (path := first.with_name(f"{first.stem}.rank{len(ranks)}{first.suffix}")).exists():
        ranks.append(passes_of(path, step))
    return ranks


def ideal(ranks, back: bool):
    """The same passes as early as their table allows, each as long as the median of its kind on its rank."""
    count = len(ranks)
    stages = count * (1 + max(one[2] for rank in ranks for one in rank))
    lengths = [{letter: statistics.median(one[4] - one[3] for one in rank if one[0] == letter)
                for letter in {one[0] for one in rank}} for rank in ranks]

    def stage_of(rank, chunk):
        return chunk * count + (count - 1 - rank if back and chunk % 2 else rank)

    def needs(letter, micro_batch, stage):
        if letter == "F":
            return [("F", micro_batch, stage - 1)] if stage > 0 else []
        if letter == "W":
            return [("B", micro_batch, stage)]
        return [("F", micro_batch, stage)] + ([("B", micro_batch, stage + 1)] if stage + 1 < stages else [])

    ends, free, result, waiting = {}, [0.0] * count, [[] for _ in ranks], True
    while waiting:
        waiting = False
        for number, rank in enumerate(ranks):
            while len(result[number]) < len(rank):
                letter, micro_batch, chunk = rank[len(result[number])][:3]
                stage = stage_of(number, chunk)
                before = needs(letter, micro_batch, stage)
                if any(one not in ends for one in before):
                    break
                begin = max([free[number], *(ends[one] for one in before)])
                free[number] = ends[letter, micro_batch, stage] = begin + lengths[number][letter]
                result[number].append((letter, micro_batch, chunk, begin, free[number]))
                waiting = True
    return result


def draw(title: str, ranks, top: int, scale: float, out):
    start = min(one[3] for rank in ranks for one in rank)
    total = max(one[4] for rank in ranks for one in rank) - start
    busy = sum(one[4] - one[3] for rank in ranks for one in rank) / len(ranks)
    out.append(f'<text x="4" y="{top + 14}" font-weight="bold">{title}: {total / 1e3:.2f} ms, of which a rank computes '
               f'{busy / total:.0%}</text>')
    for number, rank in enumerate(ranks):
        y = top + 22 + number * ROW
        out.append(f'<text x="4" y="{y + 16}">rank {number}</text>')
        for letter, micro_batch, chunk, begin, end in rank:
            x, width = MARGIN + (begin - start) * scale, max(1.0, (end - begin) * scale)
            darker = ' fill-opacity="0.6"' if chunk else ""
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 4}" fill="{COLOURS[letter]}"{darker} '
                       f'stroke="#555" stroke-width="0.5"><title>{letter}{micro_batch}, chunk {chunk}: '
                       f'{(end - begin) / 1e3:.3f} ms</title></rect>')
            if width > 16:
                out.append(f'<text x="{x + 2:.1f}" y="{y + 15}">{letter}{micro_batch}</text>')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, help="rank 0's")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--back", action="store_true")
    options = parser.parse_args()
    ranks = read(options.trace, options.step)
    if not all(ranks):
        parser.error(f"{options.trace} has no passes of step {options.step}: was it written by a run with a pipeline?")
    table = ideal(ranks, options.back)
    longest = max(max(one[4] for rank in part for one in rank) - min(one[3] for rank in part for one in rank)
                  for part in (table, ranks))
    scale, height = (WIDTH - MARGIN - 10) / longest, 22 + len(ranks) * ROW
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{2 * height + 30}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    draw("as the table says", table, 4, scale, out)
    draw(f"measured, step {options.step}", ranks, height + 20, scale, out)
    options.output.write_text("\n".join([*out, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
