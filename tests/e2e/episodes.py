#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""episodes.py XDP_ROCE FILE...: `analyze --episodes` against a second account of the same captures.

That account is written from the definitions in include/roce/README.md 9 alone. It reads numeric fields that
tshark decodes, has the whole capture in memory, and keeps sets of PSNs where the program has bounded records.
One connection a capture. Prints a line a capture; exit status 1 with the differences, if there are any."""
import json
import subprocess

from second_account import ACK, ATOMIC_ACK, ATOMICS, READ, RESPONSES, main, nanoseconds, rows_of

FIELDS = ("frame.time_epoch", "ip.src", "ipv6.src", "infiniband.bth.opcode", "infiniband.bth.psn",
          "infiniband.aeth.syndrome", "infiniband.reth.dmalen", "frame.number", "infiniband.bth.destqp")


class Packet:
    def __init__(self, cells):
        time, v4, v6, opcode, psn, syndrome, length, number, qp = cells
        self.ns = nanoseconds(time)
        self.src, self.number, self.qp = v4 or v6, int(number), qp
        self.op, self.psn = int(opcode), int(psn)
        self.syndrome = int(syndrome) if syndrome else None
        self.length = int(length) if length else 0
        self.n = 1
        self.seen = False


def packets_of(path):
    rows = rows_of(path, FIELDS)
    packets = [Packet(cells) for cells in rows if cells[3] and int(cells[3]) < 0x20 and int(cells[8], 0) > 1]
    first = nanoseconds(rows[0][0])
    for p in packets:
        p.ns -= first
    return packets


def unwrap(packets):
    """PSNs without the wrap at 2^24, all near the first one's."""
    base = next(p.psn for p in packets if p.op not in (ACK, ATOMIC_ACK) and p.op not in RESPONSES)
    for p in packets:
        p.psn = base + ((p.psn - base + 2**23) % 2**24 - 2**23)


def account(packets, pmtu):
    """The episodes, in order of time."""
    unwrap(packets)
    requests = [p for p in packets if p.op != ACK and p.op != ATOMIC_ACK and p.op not in RESPONSES]
    for p in requests:
        if p.op == READ:
            p.n = max(1, -(-p.length // pmtu))
    # Which of the requests begin a round, looking ahead: the next one continues from it.
    back = set()
    high = None
    for i, p in enumerate(requests):
        if high is not None and p.psn < requests[i - 1].psn + requests[i - 1].n:
            back.add(p.number)
        high = max(high or 0, p.psn + p.n)

    episodes, now = [], None  # `now` is the episode that later packets belong to
    ever, this_round = set(), set()  # PSNs that passed: ever, since the requester last went back
    expected = high = last = sent = None
    ahead = {}  # for each PSN that was expected: when the first packet after it came
    answered = set()
    answer_high, answer_last = None, None
    stepped = {}  # PSN without its answer -> when a newer answer came
    again_from = None
    refused = None  # the PSN of an RNR NAK, while nothing is acknowledged

    def begin(cause, kind, psn, **more):
        nonlocal now
        now = dict(cause=cause, kind=kind, psn=psn, seen=None, nak=None, reread=None, resent=None, recovered=None,
                   packets=0, needless=0, missing=0, naks=0, needs=set())
        now.update(more)
        episodes.append(now)

    for p in packets:
        if p.op == ACK and p.syndrome is not None and p.syndrome >> 5 == 0:
            refused = None if refused is not None and p.psn >= refused else refused
            if high is not None and p.psn + 1 > expected:
                expected = p.psn + 1
                recover(now, expected, p.ns)
        elif p.op == ACK and p.syndrome is not None and p.syndrome >> 5 == 1:
            if p.psn > expected:
                expected = p.psn
                recover(now, expected, p.ns)
            elif p.psn < expected:  # it came, and was refused
                expected = p.psn
                ahead.pop(p.psn, None)
            begin("rnr", "request", p.psn, nak=p.ns, needs={p.psn})
            refused = p.psn
        elif p.op == ACK and p.syndrome == 0x60 and now and now["cause"] == "rnr" and now["psn"] == p.psn and \
                now["resent"] is None:
            now["naks"] += 1  # for what was sent after the refused request
        elif p.op == ACK and p.syndrome == 0x60:
            missing = {q for q in range(p.psn, last) if q not in this_round}
            if p.psn < expected:  # lost after this place
                expected, missing = p.psn, {p.psn}
                ahead.pop(p.psn, None)
                seen = None
            else:
                expected = p.psn
                seen = ahead.get(p.psn)
            begin("nak", "request", p.psn, naks=1, nak=p.ns, seen=seen, missing=len(missing) if seen else 0,
                  needs=missing if seen else {p.psn})
        elif p.op == ATOMIC_ACK or p.op in RESPONSES:
            repeated = answer_high is not None and p.psn < answer_high
            if answer_last is not None and p.psn > answer_last:
                for q in range(answer_last, p.psn):
                    stepped[q] = p.ns
            stepped.pop(p.psn, None)
            if now and now["kind"] == "response":
                if now["resent"] is None and (p.psn == now["psn"] or (repeated and p.psn < answer_last)) and \
                        p.psn >= again_from:
                    now["resent"] = p.ns
                if now["resent"] is not None and repeated:
                    now["packets"] += 1
                    now["needless"] += p.psn in answered and p.psn != now["psn"]
                if now["needs"] and p.psn == min(now["needs"]):
                    now["needs"].discard(p.psn)
                    if not now["needs"]:
                        now["recovered"] = p.ns
            answered.add(p.psn)
            answer_last = p.psn + 1
            answer_high = max(answer_high or 0, answer_last)
            if p.psn < high and p.psn + 1 > (expected or 0):
                expected = p.psn + 1
                recover(now, expected, p.ns)
        elif p.op != ACK:
            psns = range(p.psn, p.psn + p.n)
            if high is None:
                high = last = expected = p.psn
            asks = p.op == READ or p.op in ATOMICS
            behind = p.psn < high
            lost_answer = [q for q in psns if q in stepped] if asks else []
            waiting = now and now["cause"] in ("nak", "rnr") and now["resent"] is None
            executed = asks and waiting and p.psn < now["psn"]
            if p.number in back and behind and (lost_answer or executed):
                first = lost_answer[0] if lost_answer else p.psn
                needs = set()
                q = first
                while q in stepped and q in psns:
                    needs.add(q)
                    q += 1
                begin("read", "response", first, reread=p.ns, seen=stepped.get(first), missing=len(needs),
                      needs=needs or {first})
                again_from = p.psn
                this_round, last = set(), p.psn
            elif p.number in back and behind:
                if not waiting and refused == p.psn and now and now["cause"] == "rnr":
                    pass  # once more
                elif not waiting:
                    missing = {q for q in range(p.psn, last) if q not in this_round and q >= expected}
                    begin("timeout", "request", p.psn, seen=ahead.get(p.psn) if missing else None,
                          missing=len(missing), needs=missing or {p.psn})
                now["resent"] = now["resent"] or p.ns
                this_round, last = set(), p.psn
                if p.psn <= expected:
                    ahead.pop(expected, None)
            elif waiting and behind and p.psn == now["psn"]:
                now["resent"] = p.ns
            if not behind and now and now["resent"] is not None and now["recovered"] is not None:
                now = None
            goes_on = p.number not in back  # before the reaction to a NAK: the rest of the go-back before it
            if behind and now and now["kind"] == "request" and (now["resent"] is not None or goes_on):
                now["packets"] += 1
                now["needless"] += all(q in ever for q in psns) and p.psn != now["psn"]
            ever.update(psns)
            this_round.update(psns)
            if p.psn <= expected < p.psn + p.n:
                expected = p.psn + p.n
            elif p.psn > expected:
                ahead.setdefault(expected, p.ns)
            recover(now, expected, p.ns)
            last = p.psn + p.n
            high = max(high, last)
    return episodes


def recover(now, expected, ns):
    if now and now["kind"] == "request" and now["recovered"] is None and expected > max(now["needs"], default=now["psn"]):
        now["recovered"] = ns


def key(e):
    return min(t for t in (e["seen"], e["nak"], e["reread"], e["resent"]) if t is not None)


def theirs(report):
    """The program's episodes in the same form."""
    names = dict(cause="cause", kind="kind", psn="first_missing_psn", seen="seen_ns", nak="nak_ns", reread="reread_ns",
                 resent="resent_ns", recovered="recovered_ns", packets="resent_packets", needless="resent_needlessly",
                 missing="missing", naks="naks")
    return [{ours: e[its] for ours, its in names.items()} for e in report["episodes"] if e["cause"] != "duplicate"]


def compare(path, program):
    report = json.loads(subprocess.run([program, "--json", "analyze", "--episodes", path], capture_output=True,
                                       check=True).stdout)
    pmtu = max((s["pmtu"] or 0 for s in report["streams"]), default=0) or 1024
    ours = account(packets_of(path), pmtu)
    for e in ours:
        e["psn"] %= 2**24
        del e["needs"]
    ours.sort(key=key)
    got = theirs(report)
    wrong = []
    for i in range(max(len(ours), len(got))):
        a = ours[i] if i < len(ours) else {}
        b = got[i] if i < len(got) else {}
        for name in (a or b):
            if a.get(name) != b.get(name):
                wrong.append(f"{path}: episode {i + 1}, {name}: {b.get(name)}, and {a.get(name)} by tshark's fields"
                             f" ({a or b})")
    # Both peers are correct.
    wrong += [f"{path}: a finding: {f}" for f in report["findings"] if f["finding"] != "icrc_bad"]
    if sum(f["finding"] == "icrc_bad" for f in report["findings"]) != report["icrc"]["bad"]:
        wrong.append(f"{path}: not a finding for each wrong iCRC")
    causes = {c: sum(e["cause"] == c for e in ours) for c in ("nak", "rnr", "read", "timeout")}
    print(f"{path.rsplit('/', 1)[-1]}: {causes}, {len(wrong)} differences")
    return wrong


main(compare)
