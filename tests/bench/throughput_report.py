"""What throughput.py says at its end: a line for each side, the ratios, and rows for docs/measurements/training.md."""
import re
import statistics

import machine

MIB = 1 << 20


def ratios(side, ours):
    """How many times as fast ours is, in each round."""
    return [theirs / mine for theirs, mine in zip(side.medians, ours.medians)]


def spread(values, form="{:.2f}"):
    """Median, and least to most."""
    shown = [form.format(number) for number in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def above_states(options, side):
    """Bytes of memory above the model's states and an idle process; None where it is not known."""
    if options.device != "cpu" or side.idle is None or not hasattr(options, "parameters"):
        return None
    if not hasattr(side, "above"):
        side.above = side.memory - 16 * options.parameters - side.idle()
    return side.above


def line_of(options, name, side, sides):
    """One side's line."""
    model, median = options.model, statistics.median(side.milliseconds)
    speed = model.tokens * 1e3 / median
    line = (f"  {name} ({side.version}): {speed:.0f} tokens/s; step {median:.1f} ms "
            f"({min(side.milliseconds):.1f} to {max(side.milliseconds):.1f})")
    if side.peak_shares:
        line += f", {statistics.median(side.peak_shares):.2f} of the multiply-add peak"
    if options.peak_tflops:
        reached = speed / model.tokens * model.flops / 1e12
        line += f", {reached / options.peak_tflops:.1%} of {options.peak_tflops:g} TFLOP/s"
    if (above := above_states(options, side)) is not None:
        line += f", peak {side.memory / MIB:.0f} MiB, above states and idle {above / MIB:.0f} MiB"
    for other, ours in sides.items():
        if ours.ours and ours is not side and ours.dtype == side.dtype:
            line += f"; {other} is {spread(ratios(side, ours))} times as fast"
    return line


def compare_the_fastest(sides):
    """Where there are several numbers: the fastest of ours beside the fastest of theirs, whatever numbers each has."""
    def speed(pair):
        return statistics.median(pair[1].medians)

    ours = [pair for pair in sides.items() if pair[1].ours]
    theirs = [pair for pair in sides.items() if not pair[1].ours]
    if not ours or not theirs or len({side.dtype for side in sides.values()}) < 2:
        return
    (our_name, our), (their_name, their) = min(ours, key=speed), min(theirs, key=speed)
    print(f"  the fastest of ours, {our_name}, is {spread(ratios(their, our))} times as fast as the fastest peer, {their_name}")


def rows(options, sides):
    """A row of that table for each pair of the same numbers."""
    model = options.model
    command = re.sub(r"--baleen[ =]\S+ ?", "", options.command).replace("tests/bench/", "", 1)
    command = re.sub(r"@\S+", "@PYTHON", command).strip()
    for ours in [side for side in sides.values() if side.ours and side.idle]:
        for side in [side for side in sides.values() if not side.ours and side.dtype == ours.dtype]:
            mine, theirs = above_states(options, ours), above_states(options, side)
            share = f"{statistics.median(ours.peak_shares):.2f}" if ours.peak_shares and side.dtype == "fp32" else "–"
            memory = f"{mine / theirs:.2f}" if mine is not None and theirs and theirs > 0 else "–"
            steps = f"{statistics.median(ours.milliseconds):.1f}, {statistics.median(side.milliseconds):.1f}"
            cells = [f"{model.title}, batch {model.batch} x {model.context}", side.dtype, f"{side.version} {side.variant}",
                     spread(ratios(side, ours)), steps, share, memory, options.started,
                     f"{machine.processor()}, {options.threads} threads", f"`{command}`"]
            yield "| " + " | ".join(cells) + " |"


def print_report(options, sides):
    """Everything, the rows last."""
    model = options.model
    options.started = machine.today()
    print(f"{model.title}, batch {model.batch}, context {model.context}, {options.threads} threads, {options.rounds} rounds of "
          f"{options.steps} steps; medians, and least to most:")
    for name, side in sides.items():
        print(line_of(options, name, side, sides))
    compare_the_fastest(sides)
    print(f"command: {options.command}")
    for row in rows(options, sides):
        print(row)
