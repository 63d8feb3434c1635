#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""latency.py XDP_ROCE FILE...: `analyze --latency --microbursts` against a second account of the same captures.

That account is written from the definitions in include/roce/README.md 11 alone. It reads numeric fields that tshark
decodes, and looks ahead from each request for its answer, where the program keeps a bounded record of what waits.
One connection a capture. Prints a line a capture; exit status 1 with the differences, if there are any."""
import json
import math
import subprocess

from second_account import ACK, ATOMIC_ACK, ATOMICS, READ, RESPONSES, main, nanoseconds, rows_of

FIELDS = ("frame.time_epoch", "frame.len", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "infiniband.bth.opcode",
          "infiniband.bth.psn", "infiniband.bth.a", "infiniband.bth.destqp", "infiniband.aeth.syndrome",
          "infiniband.reth.dmalen")
FIRST, LAST = (0, 6), (2, 3, 8, 9, 22)
RESPONSE_ENDS = (15, 16)


class Packet:
    def __init__(self, cells):
        self.ns, self.length = nanoseconds(cells[0]), int(cells[1])
        self.src, self.dst = cells[2] or cells[3], cells[4] or cells[5]
        self.op = int(cells[6]) if cells[6] else None
        if self.op is None:
            return
        self.psn, self.qp = int(cells[7]), int(cells[9], 0)
        self.asks = cells[8] in ("1", "True")
        self.syndrome = int(cells[10]) if cells[10] else None
        self.dma = int(cells[11]) if cells[11] else 0
        self.answer = self.op in (ACK, ATOMIC_ACK) or self.op in RESPONSES


def packets_of(path):
    return [Packet(cells) for cells in rows_of(path, FIELDS)]


def times_of(packets, pmtu):
    """{(kind, bound): [ns]} of one stream of requests and the answers to it, and what was ambiguous."""
    base = next(p.psn for p in packets if not p.answer)
    for p in packets:
        p.at = base + ((p.psn - base + 2**23) % 2**24 - 2**23)
        p.n = max(1, -(-p.dma // pmtu)) if p.op == READ else 1
    times, ambiguous = {}, 0

    def add(kind, bound, ns):
        times.setdefault((kind, bound), []).append(ns)

    def answer_of(i, last):
        """The first answer to all up to PSN `last`, and whether it is to that PSN."""
        for j in range(i + 1, len(packets)):
            p = packets[j]
            if not p.answer:
                continue
            nak = p.op == ACK and p.syndrome >> 5
            if p.at - (1 if nak else 0) >= last:
                return j, not nak and p.at == last
        return None, False

    def again(i, j, first, end):
        return any(not p.answer and p.at < end and p.at + p.n > first for p in packets[i + 1:j])

    high, began = None, None
    for i, p in enumerate(packets):
        if p.answer or (high is not None and p.at < high):
            continue
        if high is not None and p.at > high:
            began = None
        high = p.at + p.n
        if p.op == READ:
            following, responses = p.at, []
            for j in range(i + 1, len(packets)):
                q = packets[j]
                if q.op in RESPONSES and q.at == following:
                    responses.append(j)
                    following += 1
                    if q.op in RESPONSE_ENDS:
                        break
            if responses:
                first = responses[0]
                if again(i, first, p.at, p.at + p.n):
                    ambiguous += 1
                else:
                    add("read_first", False, packets[first].ns - p.ns)
                if packets[responses[-1]].op in RESPONSE_ENDS:
                    add("read", False, packets[responses[-1]].ns - p.ns)
            continue
        if p.op in ATOMICS:
            j = next((j for j in range(i + 1, len(packets)) if packets[j].op == ATOMIC_ACK and packets[j].at == p.at), None)
            if again(i, j if j is not None else len(packets), p.at, p.at + 1):
                ambiguous += 1
            elif j is not None:
                add("atomic", False, packets[j].ns - p.ns)
            continue
        if p.op in FIRST:
            began = p.ns
            message = None
        elif p.op in LAST:
            message, began = began, None
        elif p.op in (1, 7):
            message = None
        else:
            message, began = p.ns, None
        if not p.asks and message is None:
            continue
        j, exact = answer_of(i, p.at)
        repeated = again(i, j if j is not None else len(packets), p.at, p.at + 1)
        if p.asks and repeated:
            ambiguous += 1
        if j is None:
            continue
        if p.asks and not repeated:
            add("ack", not exact, packets[j].ns - p.ns)
        if message is not None:
            add("message", not exact, packets[j].ns - message)
    return times, ambiguous


def bursts_of(packets):
    """For each window, the most bytes of all windows that begin with a frame."""
    found = {}
    for window in (10_000, 100_000, 1_000_000):
        best, end, total = 0, 0, 0
        for i, p in enumerate(packets):
            while end < len(packets) and packets[end].ns < p.ns + window:
                total += packets[end].length
                end += 1
            best = max(best, total)
            total -= p.length
        found[window // 1000] = best
    return found


def rank(values, fraction):
    return sorted(values)[max(1, math.ceil(fraction * len(values))) - 1]


def compare(path, program):
    report = json.loads(subprocess.run([program, "--json", "analyze", "--latency", "--microbursts", path], capture_output=True,
                                       check=True).stdout)
    pmtu = max((s["pmtu"] or 0 for s in report["streams"]), default=0) or 1024
    packets = packets_of(path)
    wrong, samples, ambiguous = [], 0, 0
    bursts = {row["window_us"]: row["bytes"] for row in report["microbursts"]}
    if bursts != bursts_of(packets):
        wrong.append(f"{path}: bursts {bursts}, and {bursts_of(packets)} by tshark's fields")
    roce = [p for p in packets if p.op is not None and p.op < 0x20 and p.qp > 1]
    ours = {}
    for src, dst, qp in sorted({(p.src, p.dst, p.qp) for p in roce if not p.answer}):
        pair = [p for p in roce if (p.src, p.dst, p.answer) in ((src, dst, False), (dst, src, True))]
        assert {p.qp for p in pair if not p.answer} == {qp}, f"{path} has several connections"
        times, more = times_of(pair, pmtu)
        ambiguous += more
        for (kind, bound), values in times.items():
            ours[(src, dst, qp, kind, "upper" if bound else "exact")] = values
    theirs = {(r["src"], r["dst"], r["dest_qp"], r["kind"], r["bound"]): r for r in report["latency"]}
    for key in sorted(ours.keys() | theirs.keys()):
        values, row = ours.get(key), theirs.get(key)
        if not values or not row:
            wrong.append(f"{path}: {key}: {row}, and {values and len(values)} times by tshark's fields")
            continue
        samples += len(values)
        expected = {"count": len(values), "min_ns": min(values), "max_ns": max(values)}
        for name, value in expected.items():
            if row[name] != value:
                wrong.append(f"{path}: {key}: {name} {row[name]}, and {value} by tshark's fields")
        if abs(row["mean_ns"] - sum(values) / len(values)) > 0.002:
            wrong.append(f"{path}: {key}: mean {row['mean_ns']}, and {sum(values) / len(values)}")
        for name, fraction in (("p50_ns", 0.5), ("p99_ns", 0.99)):
            value = rank(values, fraction)
            if not value <= row[name] <= value * (1 + 1 / 128):
                wrong.append(f"{path}: {key}: {name} {row[name]}, and {value} by tshark's fields")
    untimed = report["latency_untimed"]
    if untimed["ambiguous"] != ambiguous:
        wrong.append(f"{path}: ambiguous {untimed['ambiguous']}, and {ambiguous} by tshark's fields")
    if untimed["full"] or untimed["unpaired"]:
        wrong.append(f"{path}: not timed: {untimed}")
    total = {}
    for row in report["latency"]:
        total[row["kind"], row["bound"]] = total.get((row["kind"], row["bound"]), 0) + row["count"]
    for table in ("latency_port", "latency_histogram"):
        sums = {}
        for row in report[table]:
            sums[row["kind"], row["bound"]] = sums.get((row["kind"], row["bound"]), 0) + row["count"]
        if sums != total:
            wrong.append(f"{path}: {table} has {sums}, the streams have {total}")
    kinds = {f"{kind} {bound}": n for (kind, bound), n in sorted(total.items())}
    print(f"{path.rsplit('/', 1)[-1]}: {kinds}, {ambiguous} ambiguous, {len(wrong)} differences")
    if not samples:
        wrong.append(f"{path}: no times")
    return wrong


main(compare)
