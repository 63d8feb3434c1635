#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the machine idle beside a benchmark? A verdict by the clock is one of the program only if it is.
idle.py wait [SECONDS]: until others use at most 5 % of a processor, 30 s at most; says `# not idle: ...` if they still use more.
idle.py run TITLE COMMAND...: the part of tools/bench with that title; says so below it if others used more meanwhile.
idle.py head RAW: adds to the first line of RAW what the parts said.
Others: what /proc/stat counts as user, nice, system and steal of all processors, without the time of the command and its children
and without softirqs, which are the benchmark's own frames."""
import functools
import glob
import gzip
import os
import re
import resource
import subprocess
import sys
import time

MOST = 5.0  # % of a processor
SAMPLE, WAIT = 1.0, 30.0  # s
NOT_IDLE = re.compile(r"# not idle: others used ([\d.]+) % of a processor$", re.M)


@functools.cache
def own_time_has_softirqs():
    """A kernel that counts by ticks adds a softirq to the time of the process that it interrupts."""
    path, read = f"/boot/config-{os.uname().release}", open
    if os.path.exists("/proc/config.gz"):
        path, read = "/proc/config.gz", gzip.open
    try:
        with read(path, "rt", encoding="ascii") as file:
            return "CONFIG_IRQ_TIME_ACCOUNTING=y" not in file.read()
    except OSError:
        return False


def ksoftirqd_ticks():
    """Softirqs that no process's time has."""
    ticks = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                name, fields = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it ended meanwhile
            continue
        if name.startswith("ksoftirqd/"):
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks


def machine_seconds():
    """Processor time of all processes, in s, and what other virtual machines took of it."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, _, softirq, steal = map(int, file.readline().split()[1:9])
    ticks = user + nice + system + steal
    if own_time_has_softirqs():
        ticks += softirq - ksoftirqd_ticks()
    return ticks / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """This process's, and of the children that it has waited for, and of theirs."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def others_during(action):
    """What the action returns, and how many % of a processor others used meanwhile."""
    begin, machine, own = time.monotonic(), machine_seconds(), own_seconds()
    result = action()
    others = (machine_seconds() - machine) - (own_seconds() - own)
    return result, max(0.0, 100 * others / (time.monotonic() - begin))


def say(others):
    if others > MOST:
        print(f"# not idle: others used {others:.0f} % of a processor", flush=True)


def wait(most):
    until = time.monotonic() + most
    while True:
        _, others = others_during(lambda: time.sleep(SAMPLE))
        if others <= MOST or time.monotonic() >= until:
            say(others)
            return


def run(title, command):
    print(f"== {title}", flush=True)
    status, others = others_during(lambda: subprocess.run(command, check=False).returncode)
    say(others)
    print(flush=True)
    return status if status >= 0 else 128 - status


def head(path):
    with open(path, encoding="utf-8") as file:
        first, rest = file.read().split("\n", 1)
    said = [float(others) for others in NOT_IDLE.findall(rest)]
    words = f"others used up to {max(said):.0f} % of a processor" if said else "idle"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{first}, {words}\n{rest}")


def main():
    verb, words = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if verb == "wait" and len(words) <= 1:
        wait(float(words[0]) if words else WAIT)
    elif verb == "run" and len(words) >= 2:
        sys.exit(run(words[0], words[1:]))
    elif verb == "head" and len(words) == 1:
        head(words[0])
    else:
        sys.exit(__doc__)


main()
