#!/usr/bin/env python3
"""Measures what the strategy offload costs a step of training: states, parameters too, gradients and activations too, in the host's
memory and on a disk, beside the same run with all of them in the device, in turn; and updates where states lie beside the same
run with updates by the device.

Usage: steps.py [--model small] [--batch N] [--rounds 5] [--steps 10] [--folder FOLDER] [--only WORD] [--compute PLUGIN]
                [--baleen build/release/bin/baleen]
The time of a step is the median of a run's, its first three left out. The bound is what a step takes at least: the time of
the one inside, or the bytes got and put by the bandwidth that `bench_offload` measures for the same member with blocks of 8
MiB, whichever is more. The bar is 1.15 times the bound; of a budget that fits everything 1.01 of the time inside. FOLDER is on the disk to measure (default: build).
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from baleen_program import add_program_option, make_parser, records, run, run_command  # noqa: E402
from machine import processor, today  # noqa: E402
from models import MODELS  # noqa: E402
from throughput import write_text  # noqa: E402

MIB = 1 << 20
WARM_UP = 3
EVERYTHING = 'parameters = ["*"]\ngradients = ["*"]\nactivations = ["*"]\n'
DELAYED = "delay_update = true\n"
THERE = 'update = "host"\n'
CASES = {  # what lies outside, and where
    "inside": None,
    "by a budget that fits everything, host": ("as_needed = true\n", "host"),
    "states, host": ("", "host"),
    "states and parameters, host": ('parameters = ["*"]\n', "host"),
    "everything, host": (EVERYTHING, "host"),
    "states, host, updated there": (THERE, "host"),
    "states and parameters, host, updated there": (THERE + 'parameters = ["*"]\n', "host"),
    "everything, host, updated there": (THERE + EVERYTHING, "host"),
    "states, host, delayed": (DELAYED, "host"),
    "states, host, delayed, updated there": (DELAYED + THERE, "host"),
    "states, nvme": ("", "nvme"),
    "states and parameters, nvme": ('parameters = ["*"]\n', "nvme"),
    "everything, nvme": (EVERYTHING, "nvme"),
    "states, nvme, delayed": (DELAYED, "nvme"),
    "states and parameters, nvme, delayed": (DELAYED + 'parameters = ["*"]\n', "nvme"),
    "everything, nvme, delayed": (DELAYED + EVERYTHING, "nvme"),
}


def manifest(case, folder, compute):
    text = '[cluster]\nhosts = [{ name = "localhost", ranks = 1 }]\n[mesh]\ndata = 1\n'
    text += f'[compute]\nplugin = "{compute}"\n' if compute else ""
    if not case:
        return text
    options, member = case
    text += f'[[plan]]\nstrategy = "offload"\n{options}[offload]\nplugin = "{member}"\n'
    return text + (f'path = "{folder}"\n' if member == "nvme" else "")


def bandwidth(options, member, folder):
    """Bytes per second of the member: got, put."""
    words = [options.program, options.plugins / f"baleen_offload_{member}.so"]
    rates = []
    for kind in ("get", "put"):
        command = [*words, kind, 8 * MIB, 3, 512 * MIB, 2, *([f"path={folder}"] if member == "nvme" else [])]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"error: {' '.join(map(str, command))}: {done.stderr.strip()}")
        rates.append(float(done.stdout))
    return rates


def words_of(options, folder):
    own = ["--data", folder / "text.txt", *MODELS[options.model].words]
    return own + (["--batch", options.batch] if options.batch else [])


def planned(options, folder, name):
    """Bytes in the device, and got and put in a step."""
    command = run_command(options.baleen, HERE.parent / "transformer.lua", "--manifest", folder / f"{name}.toml", "--json", "--",
                          *words_of(options, folder))
    command[1] = "plan"
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: plan: {done.stderr.strip()}")
    one = json.loads(done.stdout)["classes"][0]
    moved = one.get("offload", {"got_bytes": 0, "put_bytes": 0})
    copied = one.get("host_updates", {"copied_in_bytes": 0, "copied_out_bytes": 0})
    return (one["planned_bytes"]["total"], moved["got_bytes"] + copied["copied_in_bytes"],
            moved["put_bytes"] + copied["copied_out_bytes"])


def step_ms(options, folder, name):
    log = folder / "log.jsonl"
    run(run_command(options.baleen, HERE.parent / "transformer.lua", "--manifest", folder / f"{name}.toml", "--steps",
                    options.steps + WARM_UP, "--log-json", log, "--", *words_of(options, folder)))
    return statistics.median(step["step_ms"] for step in records(log, "step")[WARM_UP:])


def main():
    parser = make_parser(__doc__)
    add_program_option(parser)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/bench_offload")
    parser.add_argument("--plugins", type=pathlib.Path, default=ROOT / "build/release/lib/baleen/plugins")
    parser.add_argument("--model", choices=list(MODELS), default="small")
    parser.add_argument("--batch", type=int, default=0, help="another batch than the model's")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--only", default="", help="beside the one inside, the cases whose names have this word")
    parser.add_argument("--compute", default="", help="the device's compute plugin; without it the best that is found")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if not case or options.only in name}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        write_text(folder / "text.txt")
        for case, what in cases.items():
            (folder / f"{case}.toml").write_text(manifest(what, folder, options.compute))
        times = {case: [] for case in cases}
        bounds = {case: [] for case in cases}
        plans = {case: planned(options, folder, case) for case in cases}
        for _ in range(options.rounds):
            rates = {member: bandwidth(options, member, folder) for member in {what[1] for what in cases.values() if what}}
            for case, what in cases.items():
                times[case].append(step_ms(options, folder, case))
                moving = sum(1000 * moved / rate for moved, rate in zip(plans[case][1:], rates[what[1]])) if what else 0
                bounds[case].append(max(times["inside"][-1], moving))
    print(f"{processor()}, {today()}: {options.model}, {options.rounds} rounds of {options.steps} steps")
    for case in cases:
        ratios = [ours / bound for ours, bound in zip(times[case], bounds[case])]
        against = [ours / inside for ours, inside in zip(times[case], times["inside"])]
        planned_bytes, got, put = plans[case]
        print(f"{case:<44} {statistics.median(times[case]):>9.1f} ms, {statistics.median(against):.2f} of inside, "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) of the bound; "
              f"{planned_bytes / MIB:.0f} MiB planned, {got / MIB:.0f} got, {put / MIB:.0f} put a step")
    for case in cases:
        other = case.removesuffix(", updated there")
        if case == other or other not in cases:
            continue
        ratios = [there / device for there, device in zip(times[case], times[other])]
        print(f"{other}: a step with updates there takes {statistics.median(ratios):.2f} ({min(ratios):.2f} to "
              f"{max(ratios):.2f}) of one with updates by the device")


if __name__ == "__main__":
    main()
