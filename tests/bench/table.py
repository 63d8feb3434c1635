#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RAW [PAGE]: the ratios of the output of tools/bench as a Markdown table on standard output; with PAGE, between its
two marker comments. table.py --check RAW PAGE: fails if the table of PAGE is not that of RAW, or a ratio is not in RAW.
In RAW a line `# WORDS` is the version and the machine of the parts after it; `== PART` begins a part; a line without a space
in front begins a group; the other lines are results."""
import re
import sys

PROGRAM, BRIDGE, WIRE, LATE = "the XDP program", "the bridge", "the wire (", "the wire: delay given and asked"
SEND, LIVE, SIMULATOR, ANALYZE, JOBS = "send and respond", "send with live frames", "the simulator", "xdp-roce analyze (", "xdp-roce analyze --jobs 2"
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
    ("ns more: `--latency`, one stream", PROGRAM, "", "--latency, one stream"),
    ("ns more: a rule with `probability`", PROGRAM, "", "one probabilistic drop rule"),
    ("ns more: 32 rules that do not match", PROGRAM, "", "32 rules that do not match"),
    ("ns more: a rule with `next`", PROGRAM, "", "a rule passed with next"),
    ("ns more: RED that does not mark", PROGRAM, "", "RED that does not mark"),
    ("ns more: RED that marks every packet", PROGRAM, "", "RED that marks every packet"),
    ("`bridge`, rate to a bare redirect's", BRIDGE, "1 KB frames", "ratio, of the pieces of a round"),
    ("`wire`, a rule with `delay`, rate to a bare forwarder's", WIRE, "rule: delay 100us", "ratio of rates, of the process alone"),
    ("`wire`, a link with `delay`", WIRE, "link: delay 100us", "ratio of rates, of the process alone"),
    ("`wire`, shaping and RED, 1,000 streams", WIRE, "rule: shape", "ratio of rates, of the process alone"),
    ("us late at p99: `delay 100us`, more than the forwarder", LATE, "delay 100us", "p99: wire, less the delay, less that"),
    ("`send`, rate to one constant frame's", SEND, "frames a second", "the same by processor time"),
    ("`send`, 10,000 QPs", SEND, "the same, 10,000 QPs (", "the same by processor time"),
    ("`send --engine live`, rate to a bare redirect's", LIVE, "live frames a second", "the same by processor time"),
    ("`send --engine live`, to `send` over AF_XDP in copy mode", LIVE, "live frames a second", "ratio of live to it, by processor time"),
    ("the simulator: time of a bare event queue to its own", SIMULATOR, "16 to 1, open loop", "bare event queue's time / the simulator's"),
    ("`analyze --jobs 2` of one file, to one thread", JOBS, "analyze --jobs 2 on 1 file", "by processor time, half of both threads'"),
]
RESULT = re.compile(r"\s+(.+?)\s{2,}(-?[\d.]+)(?: \w+/?\w*)?  +(-?[\d.]+) to (-?[\d.]+)\s+\(must be (<=|>=) ([\d.]+)\)\s*(MISSED|not clear)?$")
BEGIN, END = "<!-- bench: made by tools/bench --write -->", "<!-- bench: end -->"


def read(path):
    """(part, group, line) -> match of RESULT and the words about the machine; the first of each counts."""
    results, machine, part, group, prefix = {}, "", "", "", ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# "):
                machine = line[2:].strip()
            elif line.startswith("== ") and "(t" in line:  # the other headings are groups: "== frames of 64 bytes"
                part, group = line[3:].strip(), ""
            elif line.strip() and not line[0].isspace():
                group = line.strip()
            elif sub := re.match(r"  (p[\d.]+): ", line):
                prefix = sub[1] + ": "
            elif found := RESULT.match(line.rstrip()):
                name = (prefix if line.startswith("    ") else "") + found[1]
                results.setdefault((part, group, name), (found, machine))
    return results


def table(results):
    rows = ["| | median | quartiles | target | |", "| --- | ---: | ---: | ---: | --- |"]
    machines, missing = [], []
    for name, part, group, line in RATIOS:
        got = [value for (p, g, l), value in results.items() if p.startswith(part) and g.startswith(group) and l == line]
        if not got:
            missing.append(f"{part}, {group}, {line}")
            continue
        found, machine = got[0]
        if machine not in machines:
            machines.append(machine)
        note = machines.index(machine) + 1
        sign = {"<=": "≤", ">=": "≥"}[found[5]]
        rows.append(f"| {name} [{note}] | {found[2]} | {found[3]} to {found[4]} | {sign} {found[6]} | {(found[7] or '').lower()} |")
    if missing:
        sys.exit("table.py: not in the output of tools/bench: " + "; ".join(missing))
    return "\n".join(rows + [""] + [f"[{i + 1}] {machine}.  " for i, machine in enumerate(machines)])


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    made = table(read(words[0]))
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
