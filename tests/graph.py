#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""graph.py EDGES USERSPACE: prints the graph of userspace's folders, a line each, and of its groups, and fails
- on a circle, of folders or of groups;
- on an edge that differs from the tables in userspace/README.md (folders: what CMake links; groups: what follows from it);
- on an include without an edge of its own, and on an edge that no include uses;
- on a clock or a socket in the group lab, whose time is virtual;
- on a lock or a namespace that is taken and not kept in a variable, and so is left at once.
EDGES is graph.txt of the build: "GROUP/FOLDER USED..." a line, what CMake links; a folder without a group is its own."""
import pathlib
import re
import sys

edges_file, userspace = (pathlib.Path(word) for word in sys.argv[1:3])
faults = []
uses, path_of, group_of = {}, {}, {}
for line in edges_file.read_text().splitlines():
    path, *used = line.split()
    group, _, folder = path.rpartition("/")
    folder = folder or path
    uses[folder], path_of[folder], group_of[folder] = set(used), path, group or folder


def placed(edges, what):
    """From the bottom up: one comes once all that it uses have come."""
    done = []
    while len(done) < len(edges):
        ready = sorted(name for name in edges if name not in done and edges[name] <= set(done))
        if not ready:
            faults.append(f"a circle among the {what} " + ", ".join(sorted(set(edges) - set(done))))
            break
        done += ready
    return done


group_uses = {group: set() for group in group_of.values()}
for folder, used in uses.items():
    group_uses[group_of[folder]] |= {group_of[other] for other in used} - {group_of[folder]}
folders, groups = placed(uses, "folders"), placed(group_uses, "groups")


def compare(made, pattern, what):
    """Rows of the README whose first cell matches, with the last cell: a blank between names, or "-"."""
    shown = {}
    for line in (userspace / "README.md").read_text().splitlines():
        row = re.fullmatch(pattern, line)
        if row:
            shown[row[1]] = set(re.findall(r"[a-z_]+", row[2]))
    for name in sorted(made.keys() | shown.keys()):
        if name not in shown:
            faults.append(f"userspace/README.md has no row for the {what} {name}")
        elif name not in made:
            faults.append(f"userspace/README.md has a row for {name}, which is no {what}")
        else:
            for used in sorted(made[name] - shown[name]):
                faults.append(f"userspace/README.md does not show that {name} uses {used}")
            for used in sorted(shown[name] - made[name]):
                faults.append(f"userspace/README.md shows that {name} uses {used}, which CMake does not link")


compare(uses, r"\| `([a-z_]+)/` \| .* \| (.*) \|", "folder")
compare(group_uses, r"\| \*\*([a-z_]+)\*\* \| .* \| (.*) \|", "group")

for folder in sorted(uses):
    included = {}
    for source in sorted((userspace / path_of[folder]).glob("*.[hc]*")):
        if source.name == "main.cpp":  # the program, not the library
            continue
        for used in re.findall(r'^#include "([a-z_]+)/', source.read_text(), re.M):
            if used in uses and used != folder:
                included.setdefault(used, source.name)
    for used in sorted(included.keys() - uses[folder]):
        faults.append(f"{path_of[folder]}/{included[used]} includes {used}/, which {folder} does not link")
    for used in sorted(uses[folder] - included.keys()):
        faults.append(f"{folder} links {used}, and includes nothing of it")

CLOCKS = r"<chrono>|<ctime>|<time\.h>|<thread>|<sys/(?:socket|epoll|timerfd|time)\.h>|<poll\.h>|<unistd\.h>|\"base/(?:clock|stopwatch|fd)\.h\""
for folder in sorted(name for name in uses if group_of[name] == "lab"):
    for source in sorted((userspace / path_of[folder]).glob("*.[hc]*")):
        for header in re.findall(rf"^#include ({CLOCKS})", source.read_text(), re.M):
            faults.append(f"{path_of[folder]}/{source.name} includes {header}: the lab's time is virtual")

GUARDS = r"(?<=[;{})]\n) *XR_TRY\([^;]*(?:enter\(\)|enter_netns\([^;]*\)|Lock::take\([^;]*\)|Claims::take\([^;]*\))\);"
for folder in sorted(uses):
    for source in sorted((userspace / path_of[folder]).glob("*.[hc]*")):
        for guard in re.findall(GUARDS, source.read_text(), re.M):
            faults.append(f"{path_of[folder]}/{source.name}: {guard.strip()} is not kept")

for name in groups:
    print(f"{name:14} {' '.join(sorted(group_uses[name])) or '-'}")
print()
for folder in folders:
    print(f"{path_of[folder]:26} {' '.join(sorted(uses[folder])) or '-'}")
for fault in faults:
    print("graph:", fault, file=sys.stderr)
sys.exit(bool(faults))
