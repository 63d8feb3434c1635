#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""graph.py EDGES USERSPACE: prints the graph of userspace's folders, a line each, and fails on a circle, on an
edge that differs from the table in userspace/README.md, on an include without an edge of its own, and on an
edge that no include uses. EDGES is graph.txt of the build: what CMake links, "FOLDER" or "FOLDER USES" a line."""
import pathlib
import re
import sys

edges_file, userspace = (pathlib.Path(word) for word in sys.argv[1:3])
faults = []
uses = {}
for line in edges_file.read_text().splitlines():
    folder, *used = line.split()
    uses.setdefault(folder, set()).update(used)

# From the bottom up: a folder comes once all that it uses have come.
placed = []
while len(placed) < len(uses):
    ready = sorted(f for f in uses if f not in placed and uses[f] <= set(placed))
    if not ready:
        faults.append("a circle among " + ", ".join(sorted(set(uses) - set(placed))))
        break
    placed += ready

readme = {}
for line in (userspace / "README.md").read_text().splitlines():
    row = re.fullmatch(r"\| `([a-z_]+)/` \| .* \| (.*) \|", line)
    if row:
        readme[row[1]] = set(re.findall(r"[a-z_]+", row[2]))
for folder in sorted(uses.keys() | readme.keys()):
    linked, shown = uses.get(folder, set()), readme.get(folder, set())
    if folder not in readme:
        faults.append(f"userspace/README.md has no row for {folder}/")
    elif folder not in uses:
        faults.append(f"userspace/README.md has a row for {folder}/, which is no library")
    for used in sorted(linked - shown):
        faults.append(f"userspace/README.md does not show that {folder} uses {used}")
    for used in sorted(shown - linked):
        faults.append(f"userspace/README.md shows that {folder} uses {used}, which CMake does not link")

for folder in sorted(uses):
    included = {}
    for source in sorted((userspace / folder).glob("*.[hc]*")):
        if source.name == "main.cpp":  # the program, not the library
            continue
        for used in re.findall(r'^#include "([a-z_]+)/', source.read_text(), re.M):
            if used in uses and used != folder:
                included.setdefault(used, source.name)
    for used in sorted(included.keys() - uses[folder]):
        faults.append(f"{folder}/{included[used]} includes {used}/, which {folder} does not link")
    for used in sorted(uses[folder] - included.keys()):
        faults.append(f"{folder} links {used}, and includes nothing of it")

for folder in placed:
    print(f"{folder:14} {' '.join(sorted(uses[folder])) or '-'}")
for fault in faults:
    print("graph:", fault, file=sys.stderr)
sys.exit(bool(faults))
