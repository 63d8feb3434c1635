#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What table.py makes of made results: the last result of a check counts."""
import os
import subprocess
import sys
import tempfile

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "table.py")


def row_of(feature, *results):
    lines = ["\t".join((kind, "6.12.1", "1.3.1", "port", check, "1", reason)) for kind, check, reason in results]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        text = subprocess.run([sys.executable, TABLE, file.name], capture_output=True, check=True, text=True).stdout
    rows = [line for line in text.splitlines() if line.startswith(f"| {feature} |")]
    assert len(rows) == 1, text
    return rows[0].split(" | ")[1].rstrip(" |")


FEATURE, CHECK = "skb mode", "attach_skb"
assert row_of(FEATURE, ("pass", CHECK, "")) == "yes"
assert row_of(FEATURE, ("pass", CHECK, ""), ("fail", CHECK, "it broke")) == "**fails** (1)"
assert row_of(FEATURE, ("fail", CHECK, "it broke"), ("pass", CHECK, "")) == "yes"
assert row_of(FEATURE, ("pass", "capture_alone", "")) == "not run"
assert row_of("other checks that passed", ("pass", "x", ""), ("fail", "x", "y"), ("pass", "z", "")) == "1 of 2"
