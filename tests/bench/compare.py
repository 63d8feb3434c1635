#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py HERE THERE [ROUNDS]: the paths of where_bench in two build directories, run in turn, 9 times without ROUNDS; every
second round begins with the other one. For each path its length, ns here and there (medians), and what is more here, piece by
piece of a round: the median and the quartiles; `slower` or `faster` where they exclude 0. A path of one build only has "-"."""
import statistics
import subprocess
import sys

ROW = "  {:<46} {:>15} {:>9} {:>9}  {:<24} {}"


def measure(build):
    """path -> (length, ns)"""
    command = [f"{build}/tests/bench/where_bench", "--raw"]
    try:
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"compare.py: {error}")
    rows = [line.split("\t") for line in output.splitlines()]
    if not rows or any(len(row) != 5 for row in rows):
        sys.exit(f"compare.py: {command[0]} does not know --raw: it is of an older release")
    return {name: (length, float(ns)) for name, length, _, _, ns in rows}


def measure_both(builds, rounds):
    """A list of measurements a build."""
    pieces = [[], []]
    for number in range(rounds):
        for side in ((0, 1), (1, 0))[number % 2]:
            pieces[side].append(measure(builds[side]))
    return pieces


def quartiles(values):
    """As spread.h has them."""
    ordered = sorted(values)
    return [ordered[int(part * (len(ordered) - 1) + 0.5)] for part in (0.25, 0.5, 0.75)]


def line_of(name, here, there):
    def ns(pieces):
        return f"{statistics.median(piece[name][1] for piece in pieces):.1f}" if name in pieces[0] else "-"

    lengths = list(dict.fromkeys(pieces[0][name][0] for pieces in (there, here) if name in pieces[0]))
    difference, verdict = "-", ""
    if name in here[0] and name in there[0]:
        low, median, high = quartiles([h[name][1] - t[name][1] for h, t in zip(here, there)])
        difference = f"{median:+.1f}  {low:+.1f} to {high:+.1f}"
        verdict = "slower" if low > 0 else "faster" if high < 0 else ""
    return ROW.format(name, " from ".join(reversed(lengths)), ns(here), ns(there), difference, verdict).rstrip()


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    rounds = int(sys.argv[3]) if len(sys.argv) == 4 else 9
    here, there = measure_both(sys.argv[1:3], rounds)
    print(f"a packet of 1 KB, ns of processor time (medians of {rounds}; feeders' taken off), here and in {sys.argv[2]}")
    print(ROW.format("path", "length", "here", "there", "difference, quartiles", "").rstrip())
    for name in dict.fromkeys([*here[0], *there[0]]):
        print(line_of(name, here, there))


main()
