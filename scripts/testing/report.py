"""The table at the end of a run: where the minutes went. Printed, and kept as text and as JSON."""
import collections
import json
import pathlib
import platform
import re


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    return found.group(1) if found else platform.processor() or platform.machine()


def compiled(build, since):
    """Objects, links and their processor-minutes in a build's log of ninja, from `since` on (nanoseconds since 1970)."""
    log = pathlib.Path(build) / ".ninja_log"
    commands = collections.defaultdict(list)  # a command has a line for each of its outputs
    for line in log.read_text().splitlines()[1:] if log.exists() else []:
        begin, end, written, output, command = line.split("\t")
        if int(written) >= since:
            commands[begin, end, command].append(output)
    busy = sum(int(end) - int(begin) for begin, end, _ in commands)
    objects = sum(any(output.endswith((".o", ".gch", ".fatbin")) for output in outputs) for outputs in commands.values())
    return objects, len(commands) - objects, busy / 60000


def cache(path):
    """Hits and all calls, of a statistics log of ccache."""
    words = collections.Counter()
    if pathlib.Path(path).exists():
        for line in pathlib.Path(path).read_text().splitlines():
            words[line.strip()] += not line.startswith("#")
    hits = words["direct_cache_hit"] + words["preprocessed_cache_hit"]
    return hits, hits + words["cache_miss"]


def table(facts, cases):
    """`facts`: what run.py gathered; `cases`: results.Case of all stages. Returns lines."""
    lines = ["", f"Where the time went: level {facts['level']}, seed {facts['seed']}, {facts['date']}, "
             f"{facts['processors']} processors, {facts['processor']}"]
    lines.append(f"  {'minutes':>8}  step")
    for step in facts["steps"]:
        lines.append(f"  {step['seconds'] / 60:8.1f}  {step['name']}{': ' + step['note'] if step['note'] else ''}")
    lines.append(f"  {sum(s['seconds'] for s in facts['steps']) / 60:8.1f}  in all")
    suites = collections.defaultdict(lambda: [0.0, 0, 0])
    for case in cases:
        entry = suites[(case.stage, case.suite)]
        entry[0] += case.seconds
        entry[1] += case.status != "not_run"
        entry[2] += case.status == "skipped"
    if suites:
        lines.append(f"  {'minutes':>8}  {'cases':>5}  suite (minutes of its cases, several at a time)")
    small = [0.0, 0]
    for (stage, suite), (seconds, count, skipped) in sorted(suites.items(), key=lambda item: -item[1][0]):
        if seconds < 3:
            small[0] += seconds
            small[1] += count
            continue
        lines.append(f"  {seconds / 60:8.2f}  {count:5d}  {stage} {suite}" + (f", {skipped} skipped" if skipped else ""))
    if small[1]:
        lines.append(f"  {small[0] / 60:8.2f}  {small[1]:5d}  all other suites")
    if cases:
        lines.append(f"  {'seconds':>8}  the 20 slowest cases")
    for case in sorted(cases, key=lambda c: -c.seconds)[:20]:
        lines.append(f"  {case.seconds:8.1f}  {case.stage} {case.name}")
    for line in facts["late"]:
        lines.append(f"  late: {line}")
    return lines


def keep(folder, facts, cases, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "times.txt").write_text("\n".join(lines).lstrip("\n") + "\n")
    everything = dict(facts, cases=[vars(case) for case in cases])
    (folder / "times.json").write_text(json.dumps(everything, indent=1) + "\n")
