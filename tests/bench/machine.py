"""Where and when something was measured: the processor, the date, the versions, and what the environment sets."""
import datetime
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What makes products faster where a processor has it; others say nothing about a result.
TELLING = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8")
# Set on some machines for one library's sake: a peer is measured as its makers would have it run.
UNFAIR = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
# Might make a side slower or faster; told, not taken away.
WATCHED = re.compile(r"^(OMP|KMP|GOMP|MKL|DNNL|ONEDNN|OPENBLAS|GOTO|BLIS|ATEN|TORCH|XLA)_|^LD_PRELOAD$")


def processor(text: str = None) -> str:
    """Vendor, model's name and the instructions that tell, of the first processor in /proc/cpuinfo."""
    if text is None:
        file = Path("/proc/cpuinfo")
        text = file.read_text() if file.exists() else ""
    fields = dict(reversed([re.split(r"\s*:\s*", line, maxsplit=1) for line in text.split("\n\n")[0].splitlines()
                            if ":" in line]))
    flags = fields.get("flags", "").split()
    numbers = f"family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
    has = " ".join(flag for flag in TELLING if flag in flags) or "none of " + " ".join(TELLING)
    amx = "" if any(flag.startswith("amx") for flag in flags) else ", no AMX"
    return f"{fields.get('vendor_id', 'unknown')}, {fields.get('model name', 'unknown')} ({numbers}; {has}{amx})"


def peers_environment():
    """The environment for a peer: ours without what is unfair to it."""
    return {name: value for name, value in os.environ.items() if name not in UNFAIR}


def version_of(baleen: Path) -> str:
    """What the program says, and the sources' commit where they are a repository."""
    said = subprocess.run([str(baleen), "--version"], capture_output=True, text=True).stdout.strip()
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        return said
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    commit = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return f"{said} ({commit})" if commit else said


def description():
    """Lines: the date, the processor, how busy it is, what the environment sets."""
    busy = ", ".join(f"{load:.2f}" for load in os.getloadavg())
    watched = [f"{name}={value}" for name, value in sorted(os.environ.items()) if WATCHED.match(name)]
    left = [word for word in watched if word.split("=")[0] not in UNFAIR]
    taken = [word for word in watched if word.split("=")[0] in UNFAIR]
    lines = [f"date: {today()}", f"processor: {processor()}",
             f"cores: {len(os.sched_getaffinity(0))} to be had; load averages at the start: {busy}"]
    if left:
        lines.append("environment: " + " ".join(left))
    if taken:
        lines.append("environment: not given to peers: " + " ".join(taken))
    return lines


def today() -> str:
    """As 2026-11-21."""
    return datetime.date.today().isoformat()
