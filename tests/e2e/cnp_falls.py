#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cnp_falls.py DIR XDP_ROCE [LEAST]: times from CNPs to the fall of rates in the captures of a run in virtual time.

Each is found again from tshark's fields, by the definition in include/roce/README.md 11 with real numbers, and is compared
with the rates in series.csv: the rate fell when the CNP reached the sender, and packets take the link's delay from there.
Exit status 1 with the differences, or if fewer than LEAST (default 1) were timed; LEAST 0: if any was."""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

BEFORE, AFTER, LEAST, HORIZON = 16, 32, 8, 200_000
LINK = 1217  # ns: 1 us, and a frame of 1062 bytes with preamble, FCS and gap at 40 Gbit/s
SAMPLE = 1000  # of series.csv
FIRST, MIDDLE, LAST, ACK, CNP = 6, 7, 8, 17, 0x81


def packets_of(folder):
    packets = []
    for path in sorted(folder.glob("*.pcapng")):
        command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|"]
        for field in ("frame.time_epoch", "ip.src", "ip.dst", "infiniband.bth.opcode", "infiniband.bth.psn"):
            command += ["-e", field]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
            time, src, dst, opcode, psn = line.split("|")
            seconds, fraction = time.split(".")
            packets.append((int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9]), src, dst, int(opcode), int(psn)))
    return sorted(packets, key=lambda packet: packet[0])


def split(before, after):
    """How many of `after` are like `before`, if the rest is clearly longer."""
    best = None
    for i in range(len(after) - LEAST + 1):
        one, two = before + [gap for _, gap in after[:i]], [gap for _, gap in after[i:]]
        mean1, mean2 = statistics.fmean(one), statistics.fmean(two)
        if mean2 * 32 < mean1 * 33:
            continue
        between = (mean2 - mean1)**2 * len(one) * len(two) / (len(one) + len(two))
        within = sum((gap - mean1)**2 for gap in one) + sum((gap - mean2)**2 for gap in two)
        if best is None or between > best[0]:
            best = (between, i, mean1, between * (len(one) + len(two) - 2) >= 36 * within, mean2)
    return best if best and best[3] else None


def falls_of(packets, src, dst):
    """[(time of the CNP, time from it, another CNP in between, mean gap before, after)] and CNPs by why they have none."""
    requests = [p for p in packets if p[1] == src and p[3] in (FIRST, MIDDLE, LAST)]
    cnps = [p[0] for p in packets if p[2] == src and p[3] == CNP]
    gaps = []  # (begin, end)
    for p, q in zip(requests, requests[1:]):
        if q[3] != FIRST and (q[4] - p[4]) % 2**24 == 1 and q[0] - p[0] <= HORIZON:
            gaps.append((p[0], q[0]))
    answered = next((p[0] for p in packets if p[2] == src and p[3] == ACK), None)
    found, why = [], {"steady": 0, "unmeasured": 0, "close": 0}
    used = 0  # gaps up to here are of an earlier measurement
    for n, cnp in enumerate(cnps):
        if answered is None or cnp < answered:
            continue  # not yet known whose it is
        if n and cnps[n - 1] > answered and cnp < cnps[n - 1] + HORIZON:
            why["close"] += 1
            continue
        past = [g for g in gaps[used:] if g[1] <= cnp]
        if len(past) < BEFORE or cnp > past[-1][1] + HORIZON:
            why["unmeasured"] += 1
            continue
        before = [end - begin for begin, end in past[-BEFORE:]]
        at = used + len(past)
        after = [(begin, end - begin) for begin, end in gaps[at:at + AFTER] if end <= cnp + HORIZON]
        used = at + (len(after) if len(after) < AFTER else AFTER - BEFORE)
        if len(after) < LEAST:
            why["unmeasured"] += 1
            continue
        best = split(before, after)
        if not best:
            why["steady"] += 1
            continue
        late = after[best[1]][0] + best[2]
        if late < cnp:
            why["unmeasured"] += 1
            continue
        other = n + 1 < len(cnps) and cnps[n + 1] < late
        found.append((cnp, late - cnp, other, best[2], best[4]))
    return found, why


def main():
    folder, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    least = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    command = [program, "--json", "analyze", "--latency"] + [str(p) for p in sorted(folder.glob("*.pcapng"))]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    packets = packets_of(folder)
    rates = {}
    if least:
        with open(folder / "series.csv", encoding="ascii", newline="") as file:
            for row in csv.DictReader(file):
                if row["column"] == "control_bps":
                    rates.setdefault(row["name"], {})[int(row["t_ns"])] = float(row["value"])
    wrong, timed, reasons, worst = [], 0, {"steady": 0, "unmeasured": 0, "close": 0}, 0
    for number, src in enumerate(sorted({p[1] for p in packets if p[3] == MIDDLE}), 1):
        found, why = falls_of(packets, src, None)
        for key, count in why.items():
            reasons[key] += count
        timed += len(found)
        for bound in ("exact", "upper"):
            mine = [t for _, t, other, _, _ in found if other == (bound == "upper")]
            row = next((r for r in report["latency"] if (r["src"], r["kind"], r["bound"]) == (src, "fall", bound)), None)
            theirs = (row["count"], row["min_ns"], row["max_ns"], row["mean_ns"]) if row else (0, 0, 0, 0)
            ours = (len(mine), min(mine), max(mine), statistics.fmean(mine)) if mine else (0, 0, 0, 0)
            if theirs[0] != ours[0] or any(abs(a - b) > 1 for a, b in zip(theirs, ours)):
                wrong.append(f"{src} {bound}: {theirs}, and {ours} by tshark's fields")
        # The truth: when the flow's rate in series.csv is less than it was with the CNP.
        for cnp, time, other, before, after in found:
            rate = rates[f"flow-{number}"]
            at = (cnp // SAMPLE) * SAMPLE
            fell = next((t for t in range(at + SAMPLE, at + HORIZON, SAMPLE) if rate[t] < rate[at] * 0.99), None)
            if fell is None:
                wrong.append(f"{src}: CNP at {cnp} ns: the rate did not fall, and {time:.0f} ns were found")
                continue
            early, late = max(cnp, fell - SAMPLE) + LINK - 3, fell + LINK + before + after + 3
            worst = max(worst, cnp + time - (fell - SAMPLE) - LINK)
            if not early <= cnp + time <= late:
                wrong.append(f"{src}: CNP at {cnp} ns: {time:.0f} ns, which is not within {early - cnp} to {late - cnp:.0f} ns")
    untimed = report["latency_untimed"]
    theirs = {key: untimed[f"cnps_{key}"] for key in reasons}
    if theirs != reasons:
        wrong.append(f"CNPs without a time: {theirs}, and {reasons} by tshark's fields")
    if (timed < least) if least else timed:
        wrong.append(f"{timed} CNPs timed")
    print(f"{timed} CNPs to the fall of the rate, at most {worst:.0f} ns after it; others: {reasons}; {len(wrong)} differences")
    print("\n".join(wrong[:20]), file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
