#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Experiments about losses and marks, whole, in virtual time: their expectations hold, random losses are as many as the
# probability says, tshark reads in the captures what was lost and sent again, and series.csv has each CNP.
. "$(dirname "$0")/lib.sh"
need jq python3 tshark
PATH=$(dirname "$XDP_ROCE"):$PATH

for name in mark-response drop-nth-reads retransmit; do
  exits 0 xdp-roce run "$name" --jobs 2 --out "$scratch/$name"
done

# packets CAPTURE FILTER
packets() { tshark -r "$scratch/drop-nth-reads/$1.pcapng" -Y "$2" 2>/dev/null | wc -l; }
read_request=12 # opcodes of RC
assert_eq 1 "$(packets left "infiniband.bth.destqp == 0x11 and infiniband.bth.opcode == $read_request")" "READs of flow 1"
for qp in 0x13 0x14; do # the request is lost, or a response
  assert_eq 2 "$(packets left "infiniband.bth.destqp == $qp and infiniband.bth.opcode == $read_request")" "READs to $qp"
done
for qp in 0x11 0x12 0x13 0x14 0x15 0x16; do
  expected=0
  [[ $qp != 0x15 ]] || expected=1 # an atomic was lost
  assert_eq "$expected" "$(packets right "infiniband.bth.destqp == $qp and infiniband.aeth.syndrome.opcode == 3")" "NAKs to $qp"
done
grep -q '"id":"episodes"' "$scratch/drop-nth-reads/report.html" || fail "no time line of episodes"
for id in cnps rtt-cdf; do
  grep -q "\"id\":\"$id\"" "$scratch/mark-response/report.html" || fail "no figure $id"
done

python3 - "$scratch" <<'END' || fail "the files do not agree"
import csv, glob, json, math, sys
scratch = sys.argv[1]
flow = json.load(open(scratch + "/mark-response/result.json"))["flows"][0]
rows = list(csv.DictReader(open(scratch + "/mark-response/series.csv")))
def series(column):
    return [(int(r["t_ns"]) / 1e9, float(r["value"])) for r in rows if r["kind"] == "flow" and r["column"] == column]
cnps = [(t, n) for t, n in series("cnps") if n]
assert sum(n for _, n in cnps) == flow["cnps"] >= 5, cnps
assert [t for t, _ in cnps if t < 3] == [1.01, 2.01], cnps
# The first cut is to a half, as alpha is 1; 20 ms later half of what is missing is there again.
least = min(rate for t, rate in series("control_bps") if 1 < t < 1.1)
assert 0.5 * 200e6 <= least <= 0.75 * 200e6, least

goodput = {"go-back-n": [], "selective": []}
points = sorted(glob.glob(scratch + "/retransmit/*/result.json"))
assert len(points) == 12, points
for path in points:
    result = json.load(open(path))
    rule = result["rules"][0]
    words = rule["words"].split()
    probability = float(words[words.index("probability") + 1].rstrip("%")) / 100
    expected = rule["matched"] * probability
    assert abs(rule["acted"] - expected) < 4 * math.sqrt(expected), (path, rule)
    goodput["selective" if "selective" in path else "go-back-n"].append((probability, result["flows"][0]["goodput_bps"]))
for way, rates in goodput.items():
    assert [p for p, _ in rates] == [0.0001, 0.0005, 0.002, 0.01, 0.02, 0.05], rates
    assert all(later <= before * 1.001 for (_, before), (_, later) in zip(rates, rates[1:])), rates
assert all(kept > again for (_, again), (_, kept) in zip(goodput["go-back-n"], goodput["selective"])), goodput
END
