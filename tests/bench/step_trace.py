"""A step of a traced run: its launches and calls in order, and how much of the calls' time they would show on a link."""
import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

NAME = re.compile(r"^(?P<op>.*) \((?P<kind>\w+)\)(?: #(?P<call>\d+), (?P<bytes>\d+) bytes)?$")


@dataclass
class Span:
    """`seconds` of a launch; `call` and `bytes` of the beginning of a call, or of the wait for it."""
    category: str
    op: str
    kind: str
    call: int
    bytes: int
    seconds: float


def read_steps(path: Path):
    """The spans of each step but the first, of rank 0."""
    steps = {}
    for line in path.read_text().splitlines():
        if '"ph":"X"' not in line:
            continue
        event = json.loads(line.rstrip(","))
        found = NAME.match(event["name"])
        span = Span(event["cat"], found["op"], found["kind"], int(found["call"] or 0), int(found["bytes"] or 0),
                    event["dur"] * 1e-6)
        steps.setdefault(event["args"]["step"], []).append(span)
    return [spans for step, spans in sorted(steps.items()) if step > 1]


def median_step(path: Path):
    """One step, each launch as long as it lasts in the median, each wait as in the lower quartile."""
    steps = read_steps(path)
    step = steps[0]
    for place, span in enumerate(step):
        seconds = [other[place].seconds for other in steps]
        # A wait lasts longer where the other rank was held up: its lower quartile is the call's own.
        span.seconds = statistics.quantiles(seconds, n=4)[0] if span.category == "wait" else statistics.median(seconds)
    return step


def begins(step, *kinds):
    """The beginnings of calls of these kinds, in order."""
    return [span for span in step if span.category == "begin" and span.kind in kinds]


def computation(step):
    """Seconds of the launches."""
    return sum(span.seconds for span in step if span.category == "compute")


def waited(step):
    """Seconds of waits for calls."""
    return sum(span.seconds for span in step if span.category == "wait")


def scale_to(step, seconds: float):
    """Makes the launches last so long together: a traced step waits for each."""
    factor = seconds / computation(step)
    for span in step:
        span.seconds *= factor


def between(step, first: Span, last: Span):
    """Seconds of the launches between the beginnings of two calls."""
    places = [place for place, span in enumerate(step) if span is first or span is last]
    return computation(step[places[0] : places[-1]])


def launches(step, op: str, kind: str):
    """Seconds of each launch of this name."""
    return [span.seconds for span in step if (span.category, span.op, span.kind) == ("compute", op, kind)]


def exposed(step, bandwidth: float):
    """Seconds by which calls lengthen a step on a link that carries one after the other, in the order of the step."""
    now = link = 0.0
    ends = {}
    for span in step:
        if span.category == "compute":
            now += span.seconds
        elif span.category == "begin":
            link = max(link, now) + span.bytes / bandwidth
            ends[span.call] = link
        else:
            now = max(now, ends[span.call])
    return max(now, link) - computation(step)
