#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RAW [PAGE]: the ratios of the output of tools/bench as a Markdown table on standard output; with PAGE, between its
two marker comments. table.py --check RAW PAGE: fails if the table of PAGE is not that of RAW. What RAW does not have is named
below the table. A second table has the part about processors.
In RAW a line `# WORDS` is the version and the machine of the parts after it; `== PART` begins a part; `# not idle: WORDS` is of
the part before it; a line without a space in front begins a group; the other lines are results. A verdict is by the clock; the
first line "by processor time" after it is the same piece's."""
import re
import sys

PROGRAM, BRIDGE, WIRE, LATE = "the XDP program", "the bridge", "the wire (", "the wire: delay given and asked"
SEND, LIVE, SIMULATOR, ANALYZE = "send and respond", "send with live frames", "the simulator", "xdp-roce analyze"
OF_A_ROUND, OF_PROCESS = "ratio, of the pieces of a round", "ratio of rates, of the process alone"
SCALING = "how it grows with processors"
ONE_FLOW, MANY = "1,024 B of payload, one RC flow", "the same, 10,000 QPs ("
# What the table says, part, group, its line.
RATIOS = [
    ("`attach --no-track`, to a bare parser with a counter", PROGRAM, "", "--no-track / bare"),
    ("counting and tracking, to a hash lookup with a counter", PROGRAM, "", "tracking IPv4 / hash"),
    ("IPv6, to IPv4", PROGRAM, "", "tracking IPv6 / tracking IPv4"),
    ("100,000 streams, to a hash lookup of 100,000 flows", PROGRAM, "", "tracking / hash, both at 100,000"),
    ("ns more: a frame inside ERSPAN, with `--decap`", PROGRAM, "", "--decap, inside ERSPAN type II"),
    ("ns more: `--decap`, a frame without a tunnel", PROGRAM, "", "--decap, a frame without a tunnel"),
    ("ns more: `--follow`, one stream", PROGRAM, "", "--follow, one stream"),
    ("ns more: `--follow`, 100,000 streams", PROGRAM, "", "--follow, 100,000 random streams"),
    ("ns more: `--follow`, messages of one packet", PROGRAM, "", "--follow, messages of one packet"),
    ("ns more: `--latency`, one stream", PROGRAM, "", "--latency, one stream"),
    ("ns more: `--latency`, messages of one packet", PROGRAM, "", "--latency, messages of one packet"),
    ("ns more: a rule with `probability`", PROGRAM, "", "one probabilistic drop rule"),
    ("ns more: 32 rules that do not match", PROGRAM, "", "32 rules that do not match"),
    ("ns more: a rule with `next`", PROGRAM, "", "a rule passed with next"),
    ("ns more: RED that does not mark", PROGRAM, "", "RED that does not mark"),
    ("ns more: RED that marks every packet", PROGRAM, "", "RED that marks every packet"),
    ("ms: loading the program that counts", PROGRAM, "loading the program", "count and track"),
    ("`bridge`, rate to a bare redirect's", BRIDGE, "1 KB frames", OF_A_ROUND),
    ("`wire`, a rule with `delay`, rate to a bare forwarder's", WIRE, "rule: delay 100us", OF_PROCESS),
    ("`wire`, a link with `delay`", WIRE, "link: delay 100us", OF_PROCESS),
    ("`wire`, shaping and RED, 1,000 streams", WIRE, "rule: shape", OF_PROCESS),
    ("`wire`, a rule with `delay 10ms`", WIRE, "rule: delay 10ms", OF_PROCESS),
    ("`wire`, a rule with `delay 100ms`", WIRE, "rule: delay 100ms", OF_PROCESS),
    ("us late at p99: `delay 100us`, more than the forwarder", LATE, "delay 100us", "p99: wire, less the delay, less that"),
    ("`send`, rate to one constant frame's", SEND, f"frames a second, {ONE_FLOW}", OF_A_ROUND),
    ("`send`, 10,000 QPs", SEND, MANY, OF_A_ROUND),
    ("`send --engine live`, rate to a bare redirect's", LIVE, f"live frames a second, {ONE_FLOW}", OF_A_ROUND),
    ("`send --engine live`, 10,000 QPs", LIVE, MANY, OF_A_ROUND),
    ("`send --engine live`, to `send` over AF_XDP in copy mode", LIVE, f"live frames a second, {ONE_FLOW}", "ratio of live to it"),
    ("the simulator: time of a bare event queue to its own", SIMULATOR, "16 to 1, open loop", "bare event queue's time / the simulator's"),
    ("the simulator, reliable flows", SIMULATOR, "16 to 1, reliable", "bare event queue's time / the simulator's"),
    ("the simulator: M packet-hops a second, 16 flows at once", SIMULATOR, "16 flows send", "packet-hops a second"),
    ("the simulator: the same, 1,024 flows", SIMULATOR, "1,024 flows send", "packet-hops a second"),
    ("the simulator: the same, 10,000 flows", SIMULATOR, "10,000 flows send", "packet-hops a second"),
    ("the simulator: the same, 65,536 flows", SIMULATOR, "65,536 flows send", "packet-hops a second"),
    ("the simulator: KiB of a flow that waits, of 65,536", SIMULATOR, "65,536 flows send", "memory of a flow that waits"),
    ("the simulator: KiB of a flow that sends, of 65,536", SIMULATOR, "65,536 flows send", "memory of a flow that sends"),
    ("the simulator: two threads, to one, a permutation of 1,024 hosts", SIMULATOR, "a permutation of 1,024 hosts, 2 threads", "one thread's time / theirs"),
    ("`analyze --jobs 2` of one file, to one thread", ANALYZE, "analyze --jobs 2 on 1 file", "by the clock"),
    ("`analyze --jobs 2` of two files, to one thread", ANALYZE, "analyze --jobs 2 on 2 files", "by the clock"),
    ("`analyze`, rate to `tshark -T fields`", ANALYZE, "packets/s, start to end", OF_A_ROUND),
]
RESULT = re.compile(
    r"\s+(.+?)\s{2,}(-?[\d.]+)(?: \w+/?\w*)?  +(-?[\d.]+) to (-?[\d.]+)(?:\s+\(must be (<=|>=) ([\d.]+)\)\s*(MISSED|not clear)?)?$")
BEGIN, END = "<!-- bench: made by tools/bench --write -->", "<!-- bench: end -->"


class Line:
    """A result, and what is known about its part."""

    def __init__(self, found, machine, part):
        self.name, self.median, self.low, self.high, self.sign, self.target, self.verdict = found.groups()
        self.machine, self.part, self.processor = machine, part, None


def read(path):
    """(part, group, line) -> Line, the first of each; and the parts that were measured beside other work."""
    results, busy, machine, part, group, prefix, last = {}, set(), "", "", "", "", None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# not idle"):
                busy.add((machine, part))
            elif line.startswith("# "):
                machine, part = line[2:].strip(), ""
            elif line.startswith("== ") and "(t" in line:  # the other headings are groups: "== frames of 64 bytes"
                part, group = line[3:].strip(), ""
            elif line.strip() and not line[0].isspace():
                group, last = line.strip(), None
            elif sub := re.match(r"  (p[\d.]+): ", line):
                prefix = sub[1] + ": "
            elif found := RESULT.match(line.rstrip()):
                got = Line(found, machine, part)
                if "by processor time" in got.name:
                    if last and not last.processor:
                        last.processor = got
                    continue
                last = got
                name = (prefix if line.startswith("    ") else "") + got.name
                results.setdefault((part, group, name), got)
    return results, busy


def row(name, note, got, busy):
    target = f"{'≤' if got.sign == '<=' else '≥'} {got.target}" if got.target else ""
    processor = f"{got.processor.median}, {got.processor.low} to {got.processor.high}" if got.processor else ""
    words = [(got.verdict or "").lower(), "not idle" if (got.machine, got.part) in busy else ""]
    return f"| {name} [{note}] | {got.median} | {got.low} to {got.high} | {target} | {processor} | {', '.join(filter(None, words))} |"


def scaling(results, busy, machines):
    """A row a group of the part: one, and the ratios of N to it, which are `2 to one` and so on."""
    groups = {}
    for (part, group, name), got in results.items():
        if part.startswith(SCALING):
            groups.setdefault(group.split(" (median")[0], {})[name] = got
    numbers = sorted({int(name.split()[0]) for lines in groups.values() for name in lines if name.endswith(" to one")})
    if not numbers:
        return []
    rows = ["", f"| | one | {' | '.join(f'{n} to one' for n in numbers)} | |", f"| --- | ---: |{' ---: |' * len(numbers)} --- |"]
    for group, lines in groups.items():
        one = next((name for name in lines if name.startswith("one, ")), None)
        got = lines.get(one) or next(iter(lines.values()))
        if got.machine not in machines:
            machines.append(got.machine)
        ratios = [lines.get(f"{n} to one") for n in numbers]
        words = [f"{each.median} {each.verdict.lower()}, {each.sign} {each.target}" for each in ratios if each and each.verdict]
        words += ["not idle"] if (got.machine, got.part) in busy else []
        first = f"{got.median} {one.removeprefix('one, ')}" if one else ""
        cells = " | ".join(each.median if each else "" for each in ratios)
        rows.append(f"| {group} [{machines.index(got.machine) + 1}] | {first} | {cells} | {'; '.join(words)} |")
    return rows


def table(results, busy):
    rows = ["| | median | quartiles | target | by processor time | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    machines, missing = [], []
    for name, part, group, line in RATIOS:
        got = [value for (p, g, l), value in results.items() if p.startswith(part) and g.startswith(group) and l == line]
        if not got:
            missing.append(name)
            continue
        if got[0].machine not in machines:
            machines.append(got[0].machine)
        rows.append(row(name, machines.index(got[0].machine) + 1, got[0], busy))
    rows += scaling(results, busy, machines)
    rows += [""] + [f"[{i + 1}] {machine}.  " for i, machine in enumerate(machines)]
    if missing:
        rows += ["", f"Not measured: {'; '.join(missing)}."]
    return "\n".join(rows)


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    made = table(*read(words[0]))
    if len(words) == 1:
        print(made)
        return
    text = open(words[1], encoding="utf-8").read()
    before, rest = text.split(BEGIN)
    between, after = rest.split(END)
    if "--check" not in sys.argv:
        open(words[1], "w", encoding="utf-8").write(f"{before}{BEGIN}\n{made}\n{END}{after}")
    elif between.strip() != made.strip():
        sys.exit(f"table.py: the table of {words[1]} is not that of {words[0]}; run tests/bench/table.py {words[0]} {words[1]}")


main()
