"""Those that throughput.py compares with: how they are named, started and chosen."""
import json
import os
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from machine import peers_environment

HERE = Path(__file__).resolve().parent
DTYPES = ("fp32", "bf16")
VARIANTS = ("eager", "foreach", "fused", "compile", "ddp", "jax", "best")
CANDIDATES = ("eager", "fused", "compile")  # of `best`
NAME = re.compile(r"^(?P<variant>\w+)(?::(?P<dtype>\w+))?(?:@(?P<python>.+))?$")


@dataclass(frozen=True)
class Peer:
    """A variant of throughput_torch.py, or JAX; in which numbers; and the Python that has it."""
    variant: str
    dtype: str
    python: str

    @property
    def name(self) -> str:
        return f"{self.variant} {self.dtype} of {self.python}"

    def command(self, options, steps: int):
        """The words that start it for so many steps."""
        words = ["throughput_jax.py"] if self.variant == "jax" else ["throughput_torch.py", "--variant", self.variant]
        return [self.python, str(HERE / words[0]), *words[1:], "--model", options.name, "--threads", str(options.threads),
                *(["--device", options.device] if options.device != "cpu" else []),
                *(["--dtype", self.dtype] if self.dtype != "fp32" else []),
                *(["--batch", str(options.batch)] if options.batch else []), "--steps", str(steps)]


def parse_peers(names, dtypes):
    """VARIANT[:DTYPE][@PYTHON] of the command line; without DTYPE, one peer for each of `dtypes`."""
    default, found = os.environ.get("BALEEN_PYTHON", "python3"), []
    for name in names:
        words = NAME.match(name)
        if not words or words["variant"] not in VARIANTS or words["dtype"] not in (None, *DTYPES):
            sys.exit(f"error: no peer `{name}`: it is VARIANT[:DTYPE][@PYTHON]; variants: {', '.join(VARIANTS)}; "
                     f"dtypes: {', '.join(DTYPES)}")
        for dtype in [words["dtype"]] if words["dtype"] else dtypes:
            found.append(Peer(words["variant"], dtype, words["python"] or default))
    for peer in found:
        if peer.dtype != "fp32" and peer.variant in ("jax", "ddp"):
            sys.exit(f"error: the peer `{peer.variant}` is measured in fp32 only")
    return list(dict.fromkeys(found))


def peer_turn(peer: Peer, options, run_measured, steps: int, left_out: int):
    """Milliseconds of a peer's steps but the first, its peak of memory and its version."""
    printed, peak = run_measured(peer.command(options, steps + left_out), peers_environment())
    said = json.loads([line for line in printed.splitlines() if line.startswith("{")][-1])  # libraries talk, too
    return said["milliseconds"][left_out:], peak, said["version"]


def choose(peer: Peer, options, run_measured, left_out: int) -> Peer:
    """Of `best`: the candidate whose median step is the fastest in a short turn of each."""
    if peer.variant != "best":
        return peer
    medians = {}
    for variant in CANDIDATES:
        candidate = Peer(variant, peer.dtype, peer.python)
        steps = peer_turn(candidate, options, run_measured, min(4, options.steps), left_out)[0]
        medians[candidate] = statistics.median(steps)
    print(f"best {peer.dtype}: " + ", ".join(f"{p.variant} {ms:.1f} ms" for p, ms in medians.items()), flush=True)
    return min(medians, key=medians.get)
