#!/usr/bin/env python3
"""Measures the resident memory of a run against the plan: anonymous + shared peak, less that of a one-step 01_hello.

SCRIPT is examples/02_gpt/train.lua unless told. Exits with 1 where the peak exceeds the plan by more than 15 % + 64 MiB.
The peak is read from /proc/PID/status every millisecond, so a run must last longer than a few of these.
"""
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from baleen_program import ROOT, add_program_option, make_parser, records, run_command

MIB = 1 << 20
FIELDS = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


def resident_bytes(pid: int) -> int:
    """Anonymous and shared bytes that a process has in memory; 0 once it has ended."""
    try:
        return sum(int(kilobytes) for kilobytes in FIELDS.findall(Path(f"/proc/{pid}/status").read_text())) * 1024
    except (FileNotFoundError, ProcessLookupError):
        return 0


def peak_of(command) -> int:
    """Runs a command and returns the peak of its resident bytes."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident_bytes(process.pid))
            time.sleep(0.001)
        if process.returncode != 0:
            output.seek(0)
            sys.exit(f"{' '.join(command)} failed with status {process.returncode}:\n{output.read()}")
    return peak


def planned_bytes(log: Path) -> int:
    """What the run said at its start."""
    (start,) = records(log, "start")
    if "planned_bytes" not in start:
        sys.exit(f"the start record has no planned_bytes; it has {sorted(start)}")
    return int(start["planned_bytes"])


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("script", nargs="?", type=Path, default=ROOT / "examples/02_gpt/train.lua")
    parser.add_argument("script_arguments", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        after = ["--", *options.script_arguments] if options.script_arguments else []
        peak = peak_of(run_command(options.baleen, options.script, "--steps", options.steps, "--log-json", log, *after))
        planned = planned_bytes(log)
    floor = peak_of(run_command(options.baleen, ROOT / "examples/01_hello/train.lua", "--steps", 1))
    limit = planned * 1.15 + 64 * MIB
    print(f"peak {peak / MIB:.1f} MiB less 01_hello's {floor / MIB:.1f} = {(peak - floor) / MIB:.1f} MiB; "
          f"planned {planned / MIB:.1f} MiB; limit {limit / MIB:.1f} MiB")
    sys.exit(peak - floor > limit)


if __name__ == "__main__":
    main()
