#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RESULTS PAGE: writes what run.sh found into the page, between its two marks."""
import sys

BEGIN, END = "<!-- tests/release/run.sh -->\n", "<!-- end -->\n"
WORDS = {"pass": "yes", "skip": "not tried", "fail": "**no**"}

rows, checks = {}, []
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        kind, root, check, _, _ = line.rstrip("\n").split("\t")
        if root in ("all", "image"):
            continue
        rows.setdefault(root, {})[check] = WORDS[kind]
        if check not in checks:
            checks.append(check)
if not rows:
    sys.exit("table.py: no results")
table = ["| on | " + " | ".join(checks) + " |", "| --- |" + " --- |" * len(checks)]
table += [f"| {root} | " + " | ".join(found.get(check, WORDS["skip"]) for check in checks) + " |" for root, found in rows.items()]

with open(sys.argv[2], encoding="utf-8") as file:
    page = file.read()
before, begin, rest = page.partition(BEGIN)
_, end, after = rest.partition(END)
if not begin or not end:
    sys.exit(f"table.py: {sys.argv[2]} has no marks {BEGIN.strip()} and {END.strip()}")
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(before + begin + "\n".join(table) + "\n" + end + after)
