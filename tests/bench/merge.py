#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""merge.py RAW KEPT TITLES: puts the parts of RAW, an output of tools/bench, into the file KEPT in place of those with the same
titles. The parts are in the order of the file TITLES, a title a line, and each follows the `# VERSION, MACHINE` line of its run; a part
that is not in TITLES is no longer measured, and goes."""
import sys


def parts_of(path):
    """Title -> (the line about the machine, the part's lines)."""
    parts, machine, lines = {}, "", []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# ") and not line.startswith("# not idle"):
                machine, lines = line, []
            elif line.startswith("== ") and "(t" in line:  # the other headings are groups: "== frames of 64 bytes"
                lines = [line]
                parts[line[3:].strip()] = (machine, lines)
            else:
                lines.append(line)
    return parts


def main():
    raw, kept, titles = sys.argv[1:]
    parts = parts_of(kept) | parts_of(raw)
    with open(titles, encoding="utf-8") as file:
        order = [line.strip() for line in file]
    text, machine = [], ""
    for title in order:
        if title not in parts:
            continue
        if parts[title][0] != machine:
            machine = parts[title][0]
            text.append(machine)
        text += parts[title][1]
    with open(kept, "w", encoding="utf-8") as file:
        file.writelines(text)


main()
