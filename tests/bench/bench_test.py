#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What table.py, idle.py and compare.py make of made results: a verdict is by the clock, work beside a part is said, a path that
only one build has is printed."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RAW = """# 1.0, a machine
# not idle: others used 20 % of a processor
== the bridge (tests/bench/forward_bench.cpp)
1 KB frames a second from veth to veth, sent by a socket (median of 41, and quartiles)
  a bare redirect                                 0.53 M  0.50 to 0.53
  ratio, of the pieces of a round                 0.96  0.94 to 0.97  (must be >= 0.95)  not clear

== send with live frames (tests/bench/live_bench.cpp)
live frames a second, 1,024 B of payload, one RC flow (median of 31, and quartiles)
  ratio, of the pieces of a round                 0.91  0.87 to 0.95  (must be >= 0.90)  not clear
  the same by processor time                      0.94  0.93 to 0.94
  ratio of live to it                             3.10  3.00 to 3.20  (must be >= 4.00)  MISSED
  the same by processor time                      3.30  3.20 to 3.40
# not idle: others used 37 % of a processor

"""
WHERE = """#!/bin/sh
[ "$1" = --raw ] || exit 1
printf 'both\\t%s\\t-\\t-\\t%s\\n%s\\t-\\t-\\t-\\t5.00\\n'
"""


def run(script, *arguments, status=0):
    ran = subprocess.run([sys.executable, os.path.join(HERE, script), *arguments], capture_output=True, check=False, text=True)
    assert ran.returncode == status, ran
    return ran.stdout


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def build(folder, name, length, ns, own):
    """A build directory whose where_bench prints that."""
    program = os.path.join(folder, name, "tests/bench/where_bench")
    os.makedirs(os.path.dirname(program))
    write(program, WHERE % (length, ns, own))
    os.chmod(program, 0o755)
    return os.path.join(folder, name)


def merge(folder):
    """The parts of one run replace those; the others stay, under their machine; what is no longer a part goes."""
    kept, raw, titles = (os.path.join(folder, name) for name in ("kept", "new", "titles"))
    bridge, live = "the bridge (tests/bench/forward_bench.cpp)", "send with live frames (tests/bench/live_bench.cpp)"
    write(kept, RAW.replace("# not idle: others used 20 % of a processor\n", "") + "== gone (tests/bench/x.cpp)\n  1\n")
    write(raw, f"# 2.0, another\n== {live}\n  new  1.00  1.00 to 1.00\n# not idle: others used 9 % of a processor\n")
    write(titles, f"{bridge}\n{live}\n")
    run("merge.py", raw, kept, titles)
    made = open(kept, encoding="utf-8").read()
    assert made.startswith(f"# 1.0, a machine\n== {bridge}\n"), made
    assert made.endswith(f"# 2.0, another\n== {live}\n  new  1.00  1.00 to 1.00\n# not idle: others used 9 % of a processor\n"), made
    assert "gone" not in made and "3.10" not in made, made


def table(folder):
    raw, page = os.path.join(folder, "raw"), os.path.join(folder, "page.md")
    write(raw, RAW)
    run("idle.py", "head", raw)
    made = run("table.py", raw)
    assert "[1] 1.0, a machine, others used up to 37 % of a processor." in made, made
    assert "| 0.96 | 0.94 to 0.97 | ≥ 0.95 |  | not clear |" in made, made
    assert "| 0.91 | 0.87 to 0.95 | ≥ 0.90 | 0.94, 0.93 to 0.94 | not clear, not idle |" in made, made
    assert "| 3.10 | 3.00 to 3.20 | ≥ 4.00 | 3.30, 3.20 to 3.40 | missed, not idle |" in made, made
    assert "\nNot measured: " in made and "IPv6, to IPv4; " in made, made
    write(page, "before\n<!-- bench: made by tools/bench --write -->\nby hand\n<!-- bench: end -->\nafter\n")
    run("table.py", "--check", raw, page, status=1)
    run("table.py", raw, page)
    run("table.py", "--check", raw, page)
    write(raw, re.sub("# not idle.*\n", "", RAW))
    run("idle.py", "head", raw)
    made = run("table.py", raw)
    assert "[1] 1.0, a machine, idle." in made and "not idle" not in made, made


def scaling(folder):
    raw = os.path.join(folder, "raw")
    write(raw, """# 2.0, 4 processors
== how it grows with processors: scaling (tests/bench/scaling_bench.cpp)
send, N at once (median of 3, and quartiles)
  one, Mpps                                       2.50  2.40 to 2.60
  2 to one                                        1.90  1.80 to 2.00  (must be >= 1.70)
  4 to one                                        2.00  1.90 to 2.10  (must be >= 3.40)  MISSED
# not idle: others used 9 % of a processor
== how it grows with processors: analyze (tests/bench/analyze_bench.sh)
analyze --check --jobs N, frames of 122 bytes, 4,096 QPs (median of 3, and quartiles)
  one, Mpps                                       4.60  4.49 to 4.60
  one, GB/s                                       0.63  0.62 to 0.63
  2, Mpps                                         7.40  7.30 to 7.40
  2, GB/s                                         1.02  1.01 to 1.03
  2 to one                                        1.61  1.60 to 1.62
""")
    made = run("table.py", raw)
    assert "| | one | 2 to one | 4 to one | |\n" in made, made
    assert "| send, N at once [1] | 2.50 Mpps | 1.90 | 2.00 | 2.00 missed, >= 3.40; not idle |" in made, made
    assert "| analyze --check --jobs N, frames of 122 bytes, 4,096 QPs [1] | 4.60 Mpps | 1.61 |  |  |" in made, made


def idle():
    said = run("idle.py", "run", "a part (tests)", "sh", "-c", "echo a result; exit 3", status=3)
    assert re.fullmatch(r"== a part \(tests\)\na result\n(# not idle: others used \d+ % of a processor\n)?\n", said), said
    # Work that is not the command's own is seen, where it gets half a processor.
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        said = run("idle.py", "run", "a part (tests)", "sleep", "2")
        other.kill()
    assert int(re.search(r"# not idle: others used (\d+) % of a processor\n", said)[1]) >= 20, said


def compare(folder):
    here = build(folder, "here", 12, "20.00", "new")
    there = build(folder, "there", 10, "15.00", "old")
    made = run("compare.py", here, there, "3")
    assert re.search(r"^  both +12 from 10 +20\.0 +15\.0  \+5\.0  \+5\.0 to \+5\.0 +slower$", made, re.M), made
    assert re.search(r"^  new +- +5\.0 +-  -$", made, re.M), made
    assert re.search(r"^  old +- +- +5\.0  -$", made, re.M), made
    assert " faster" in run("compare.py", there, here, "1")
    write(os.path.join(there, "tests/bench/where_bench"), "#!/bin/sh\necho a table\n")
    run("compare.py", here, there, status=1)


with tempfile.TemporaryDirectory() as scratch:
    table(scratch)
    scaling(scratch)
    merge(scratch)
    idle()
    compare(scratch)
