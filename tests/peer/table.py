#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py RESULTS TOOLS PAGE: the table of stock tools that were tried, between two lines of PAGE."""
import re
import sys

results, tools, page = sys.argv[1:]
state = {}
for line in open(results, encoding="utf-8"):
    name, what, seconds, reason = (line.rstrip("\n").split("\t") + ["", "", ""])[:4]
    name = re.sub(r" \d+$", "", name)
    state[name] = what if state.get(name, "ok") == "ok" else state[name]
rows = {}
for line in open(tools, encoding="utf-8"):
    if line.startswith("#") or " | " not in line:
        continue
    name, role, command, words = [part.strip() for part in line.split(" | ")[:4]]
    if name not in state:
        continue
    # The tool without what names its device and its server.
    shown = re.sub(r" (-d rxe0|-F|10\.77\.0\.2|-a 10\.77\.0\.2|-s 10\.77\.0\.2)(?= |$)", "", command)
    shown = re.sub(r" (-x 1|-g 1)(?= |$)", "", shown)
    key = re.sub(r", (client|server)$", "", name)
    row = rows.setdefault(key, {"client": None, "server": None})
    row[role] = (shown, words.removesuffix(" once").replace("10.77.0.1", "HOST").replace("fd77::1", "HOST"), state[name])
said = {"ok": "yes", "FAILED": "no", "skipped": "not tried"}
text = "\n| stock tool in a guest | `peer` is its server | `peer` is its client |\n| --- | --- | --- |\n"
for key, row in rows.items():
    shown = (row["client"] or row["server"])[0]
    cells = []
    for role in ("client", "server"):
        one = row[role]
        cells.append("" if not one else f"{said[one[2]]}: `{one[1]}`")
    text += f"| `{shown}` | {cells[0]} | {cells[1]} |\n"
whole = open(page, encoding="utf-8").read()
begin, end = "<!-- tools -->\n", "<!-- end of tools -->\n"
start = whole.index(begin) + len(begin)
stop = whole.index(end, start)
open(page, "w", encoding="utf-8").write(whole[:start] + text + "\n" + whole[stop:])
