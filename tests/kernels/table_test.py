#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What table.py makes of made results: the last result of a check counts, each column has its version and date, and a
table that was edited by hand is refused. docs/kernels.md: its table was not."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "table.py")
PAGE = os.path.join(HERE, "../../docs/kernels.md")


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


def run(*arguments):
    return subprocess.run([sys.executable, TABLE, *arguments], capture_output=True, check=False, text=True)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


with tempfile.TemporaryDirectory() as folder:
    old, new, page = (os.path.join(folder, name) for name in ("old.tsv", "new.tsv", "page.md"))
    write(old, "pass\t6.1\t1.3.1\tport\tattach_skb\t1\t\n" "skip\t6.12\t1.3.1\tport\tattach_skb\t1\tno veth\n")
    write(new, "fail\t6.12\t1.3.1\tport\tattach_skb\t1\tit broke\n")
    write(page, "before\n<!-- kernels: made by tools/test kernels --write-table -->\nby hand\n<!-- kernels: end -->\nafter\n")
    assert run("--check", page).returncode
    assert run(old, page, "--keep").returncode  # nothing of such a table is kept
    assert not run(old, page, "--made", "1.0 abc, 2026-01-02").returncode
    assert not run("--check", page).returncode
    assert "| skb mode | yes | no (1) |" in text_of(page)
    assert not run(new, page, "--keep", "--made", "1.1 def, 2026-03-04").returncode
    assert "| xdp-roce, date | 1.0 abc, 2026-01-02 | 1.1 def, 2026-03-04 |" in text_of(page), text_of(page)
    assert "| skb mode | yes | **fails** (1) |" in text_of(page)
    assert text_of(page).startswith("before\n") and text_of(page).endswith("-->\nafter\n")
    assert not run("--check", page).returncode
    edited = text_of(page).replace("**fails** (1)", "yes")
    write(page, edited)
    assert run("--check", page).returncode
    assert run(new, page, "--keep").returncode and text_of(page) == edited
    lines = edited.splitlines(True)
    write(page, "".join(line for line in lines if "sha256" not in line))
    assert run("--check", page).returncode

checked = run("--check", PAGE)
assert not checked.returncode, checked.stderr
