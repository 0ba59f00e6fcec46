#!/usr/bin/env python3
"""Measures how fast the transport `ucx` is over TCP on the loopback and through shared memory, beside others in turn.

The others: ucx_perftest (the same UCX between two processes that do nothing else), OpenMPI (its own BTLs, no UCX) and
Gloo (PyTorch).
For each size, in each round, one side after the other; what is printed are medians over the rounds of the ratios in a round.

What `ucx_perftest` allows: its tag_bw moves B bytes per second one way, and keeps two cores busy with it: one sends, one
receives. An all_reduce of S bytes on n ranks moves 2 (n-1) S bytes in all. Where these ranks share the same two cores,
it takes at least 2 (n-1) S / B; `of allowed` is this time divided by ours. (With two ranks each sends S and receives S.)
`one way` is the plain quotient of our `send` and tag_bw, with nothing assumed. A reduction is not counted as work.

The bars: over tcp `of allowed` >= 0.85 from 1 MiB up, OpenMPI takes >= 1.2 and Gloo >= 2 times as long; through shared
memory OpenMPI takes >= 1.5 times as long from 64 KiB up; 8 B: <= 2 times ucx_perftest's round trip (2 x tag_lat).
"""
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import transport

ROOT = pathlib.Path(__file__).resolve().parents[3]
SIZES = [8, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26]
# UCX's names, and what OpenMPI is told.
WAYS = {"tcp": {"tls": ["tcp"], "devices": ["lo"], "btl": "self,tcp", "gloo": True},
        "shm": {"tls": ["posix", "cma"], "devices": [], "btl": "self,vader", "gloo": False}}


def manifest(folder, way, ranks):
    path = pathlib.Path(folder) / f"{way}{ranks}.toml"
    path.write_text(f'[cluster]\nhosts = [{{ name = "localhost", ranks = {ranks} }}]\n[mesh]\ndata = {ranks}\n'
                    '[compute]\nplugin = "cpu"\n[transport]\nplugin = "ucx"\n'
                    f'tls = {json.dumps(WAYS[way]["tls"])}\ndevices = {json.dumps(WAYS[way]["devices"])}\n')
    return path


def baleen_side(options, file, size):
    """Microseconds of all_reduce and of send (one way)."""
    command = [options.baleen, "bench", "transport", "--manifest", file, "--json", "--from", size, "--to", size,
               "--seconds", options.seconds, "--collective", "all_reduce", "--collective", "send"]
    done = subprocess.run([str(word) for word in command + options.set], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"error: baleen bench transport: {done.stderr.strip()[-500:]}")
    points = json.loads(done.stdout)["points"]
    return {point["collective"]: point["seconds"] * 1e6 for point in points}


def perftest(way, test, size, iterations):
    """The numbers of a run of two processes, one per core."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))
    environment = dict(os.environ, UCX_TLS=",".join(WAYS[way]["tls"]))
    if WAYS[way]["devices"]:
        environment["UCX_NET_DEVICES"] = ",".join(WAYS[way]["devices"])
    command = ["ucx_perftest", "-f", "-v", "-p", str(port), "-t", test, "-s", str(size), "-n", str(iterations)]
    server = subprocess.Popen(command + ["-c", str(cores[0])], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    try:
        for _ in range(100):  # until the server listens
            client = subprocess.run(command + ["-c", str(cores[-1]), "127.0.0.1"], env=environment, text=True,
                                    capture_output=True, timeout=300)
            lines = [line for line in client.stdout.splitlines() if line.count(",") >= 7]
            if client.returncode == 0 and lines:
                return [float(word) for word in lines[-1].split(",")]
            time.sleep(0.05)
    finally:
        server.kill()
        said = server.communicate()[0]
    sys.exit(f"error: {' '.join(command)}: {(client.stdout + client.stderr + said).strip()[-500:]}")


def perftest_side(options, way, size):
    """tag_bw in bytes per microsecond for long messages; tag_lat in microseconds for short ones."""
    if size <= 1024:
        return {"one_way": perftest(way, "tag_lat", size, int(options.seconds * 1e5))[1]}
    bytes_ = options.seconds * 5e9
    return {"bandwidth": perftest(way, "tag_bw", size, max(30, int(bytes_ / size)))[5] * 2**20 / 1e6}


def other_sides(options, way, folder):
    """Commands that lack their ranks and sizes."""
    found = {}
    if command := transport.mpi_command(folder):
        command[command.index("self,vader")] = WAYS[way]["btl"]
        found["OpenMPI"] = command[:1] + ["--mca", "pml", "ob1"] + command[1:]
    if WAYS[way]["gloo"]:
        if options.python:
            found["Gloo"] = [options.python, transport.HERE / "transport_gloo.py", None]
        else:
            print("skipped: Gloo (no --python with PyTorch)", file=sys.stderr)
    return found


def one_round(options, way, ranks, file, others, has_perftest):
    """What each side takes, by size."""
    found = {}
    for size in options.sizes:
        sides = {}
        if has_perftest:
            sides["perftest"] = perftest_side(options, way, size)
        sides["baleen"] = baleen_side(options, file, size)
        for name, command in others.items():
            taken = transport.times([ranks if word is None else word for word in command] + [size])
            if taken:
                sides[name] = taken[size]
        found[size] = sides
    return found


def quotients(ranks, size, sides):
    """What is compared, by column."""
    ours, reference = sides["baleen"], sides.get("perftest", {})
    found = {"us": ours["all_reduce"], "send us": ours["send"]}
    if "bandwidth" in reference:
        found["tag_bw GB/s"] = reference["bandwidth"] / 1e3
        found["of allowed"] = 2 * (ranks - 1) * size / reference["bandwidth"] / ours["all_reduce"]
        found["one way"] = size / reference["bandwidth"] / ours["send"]
    if "one_way" in reference:
        found["tag_lat us"] = reference["one_way"]
        found["/round trip"] = ours["all_reduce"] / (2 * reference["one_way"])
        found["send/tag_lat"] = ours["send"] / reference["one_way"]
    for name in ("OpenMPI", "Gloo"):
        if name in sides:
            found[name + " x"] = sides[name] / ours["all_reduce"]
    return found


COLUMNS = ["us", "send us", "tag_bw GB/s", "of allowed", "one way", "tag_lat us", "/round trip", "send/tag_lat",
           "OpenMPI x", "Gloo x"]


def show(way, ranks, options, rounds):
    print(f"\nover {way}, {ranks} ranks: all_reduce of fp32 in place, medians of {len(rounds)} rounds")
    print(f"{'bytes':>10}" + "".join(f"{name:>14}" for name in COLUMNS))
    for size in options.sizes:
        all_found = [quotients(ranks, size, one[size]) for one in rounds]
        row = f"{size:>10}"
        for name in COLUMNS:
            values = [found[name] for found in all_found if name in found]
            row += f"{statistics.median(values):>14.2f}" if values else f"{'':>14}"
        print(row, flush=True)


def main():
    parser = transport.make_parser(__doc__)
    parser.add_argument("--baleen", default=ROOT / "build/release/bin/baleen")
    parser.add_argument("--python", help="one that has PyTorch, for Gloo")
    parser.add_argument("--over", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seconds", type=float, default=0.2, help="of measuring, per size and side")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of the manifest, for our side")
    options = parser.parse_args()
    options.set = [word for one in options.set for word in ("--set", one)]
    has_perftest = shutil.which("ucx_perftest") is not None
    if not has_perftest:
        print("skipped: ucx_perftest (not installed; Debian: ucx-utils)", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        for way in options.over:
            others = other_sides(options, way, folder)
            for ranks in options.ranks:
                file = manifest(folder, way, ranks)
                show(way, ranks, options, [one_round(options, way, ranks, file, others, has_perftest)
                                           for _ in range(options.rounds)])


if __name__ == "__main__":
    main()
