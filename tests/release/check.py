#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py ROOT: whether this tree may be released: what says of which version it is, is of this one. Each fault has the command
that makes it again; both commands want an idle machine."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
version = re.search(r"^project\(xdp-roce VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(), re.M)[1]
faults = []


def expect(what, found, make):
    """All that was found is this version's."""
    wrong = sorted({word for word in found if word != version}) or ([] if found else ["no version"])
    if wrong:
        faults.append(f"{what}: {', '.join(wrong)}, this is {version}\nhint: {make}")


row = re.search(r"^\| xdp-roce, date \|(.*)\|$", (root / "docs/kernels.md").read_text(), re.M)
expect("docs/kernels.md", [cell.split()[0].rstrip(",") for cell in row[1].split("|")] if row else [], "tools/test kernels --all --write-table")
expect("docs/bench.txt", re.findall(r"^# (\d+\.\d+\.\d+)\b", (root / "docs/bench.txt").read_text(), re.M), "tools/bench --write")
expect("README.md", re.findall(r"xdp-roce-(\d+\.\d+\.\d+)-linux", (root / "README.md").read_text()), "write it")
expect("CHANGELOG.md", re.findall(r"^## \[?(\d+\.\d+\.\d+)", (root / "CHANGELOG.md").read_text(), re.M)[:1], "write its section")
for fault in faults:
    print("release:", fault, file=sys.stderr)
sys.exit(bool(faults))
