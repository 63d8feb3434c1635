# SPDX-License-Identifier: Apache-2.0
"""What the second accounts of captures (episodes.py, latency.py) have in common: tshark's fields, and their verdict."""
import subprocess
import sys

READ, ACK, ATOMIC_ACK, ATOMICS = 12, 17, 18, (19, 20)
RESPONSES = range(13, 17)


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def rows_of(path, fields):
    """A list of cells for each frame, the first occurrence of each field."""
    command = ["tshark", "-r", path, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]
    for field in fields:
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("|") for line in lines]


def main(compare):
    """compare(path, program) lists the differences; exit status 1 if there are any."""
    wrong = [line for path in sys.argv[2:] for line in compare(path, sys.argv[1])]
    print("\n".join(wrong[:20]), file=sys.stderr)
    sys.exit(1 if wrong else 0)
