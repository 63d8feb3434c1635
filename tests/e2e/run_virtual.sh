#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `run` in virtual time: every installed experiment; verdicts and exit statuses; files that other
# programs read; two runs of one seed are the same.
. "$(dirname "$0")/lib.sh"
need jq python3
PATH=$(dirname "$XDP_ROCE"):$PATH

# Every installed experiment, whole: what it expects holds.
xdp-roce --json run --list >"$scratch/list.json"
mapfile -t names < <(jq -r '.experiments[] | select(.on | index("virtual")) | .name' "$scratch/list.json")
((${#names[@]} >= 15)) || fail "only these experiments: ${names[*]}"
assert_json "$scratch/list.json" 'all(.experiments[]; .about | length > 20)'
for name in "${names[@]}"; do
  exits 0 xdp-roce run "$name" --jobs 2 --out "$scratch/whole-$name"
  if [[ -e $scratch/whole-$name/find.json ]]; then
    assert_json "$scratch/whole-$name/find.json" '.verdict == "pass" and (.found | length > 0) and
      all(.found[]; .found != null and (.limited | not) and .not_in_order == "" and .trials <= 24)'
    continue
  fi
  mapfile -t results < <(find "$scratch/whole-$name" -name result.json)
  ((${#results[@]})) || fail "$name: no result"
  for result in "${results[@]}"; do
    assert_json "$result" '.verdict == "pass" and .place == "virtual" and (.packets > 30 or .fidelity == "flow") and
      (.flows | length > 0) and (.queues | length > 0) and (.expectations | length > 0)'
  done
done
assert_json "$scratch/whole-presets/sweep.json" '[.points[].point | test("^congestion=dcqcn preset ")] == [range(7) | true]'
assert_eq 7 "$(find "$scratch/whole-presets" -name result.json | wc -l)" "points of the sweep"

# The points of sweeps differ as they say.
assert_json "$scratch/whole-cnp-pacing/sweep.json" '.points[0].cnps > 1.1 * .points[1].cnps and .points[0].jain > .points[2].jain'
cnps() { jq .totals.cnps "$scratch/whole-cnp-pacing"/*"scope=$1/result.json"; } # of the whole run
(($(cnps stream) > $(cnps pair) && $(cnps pair) > $(cnps port))) || fail "CNPs: $(cnps stream), $(cnps pair), $(cnps port)"
assert_json "$scratch/whole-lossless-incast/sweep.json" '[.points[].drops] | .[0] == 0 and .[1] > 1000'
mapfile -t results < <(find "$scratch/whole-lossless-incast" -name result.json | sort)
jq -es '[.[] | [.flows[] | select(.failed == 0)] | length] | sort | .[0] < 16 and .[1] == 16' "${results[@]}" >/dev/null ||
  fail "flows that were complete: $(jq -c '[.flows[] | select(.failed == 0)] | length' "${results[@]}")"

# An incast, whole: its expectations hold, and the queue is what python makes of series.csv.
short=(--set duration=100ms --set measure.from=50ms --set sample=100us)
exits 0 xdp-roce run incast "${short[@]}" --out "$scratch/one"
python3 - "$scratch/one" <<'END' || fail "the files do not agree"
import csv, json, sys, xml.etree.ElementTree as tree
out = sys.argv[1]
result = json.load(open(out + "/result.json"))
rows = list(csv.DictReader(open(out + "/series.csv")))
assert rows[0].keys() == {"t_ns", "kind", "name", "column", "value"}, rows[0]
def series(kind, name, column):
    return [float(r["value"]) for r in rows if (r["kind"], r["name"], r["column"]) == (kind, name, column)
            and int(r["t_ns"]) > 50_000_000]
flow = result["flows"][0]
rates = series("flow", flow["name"], "goodput_bps")
assert not series("flow", flow["name"], "rate_bps") and "rate_bps" not in flow
assert len(rates) == 500, len(rates)
assert abs(sum(rates) / len(rates) / flow["goodput_bps"] - 1) < 0.01, (sum(rates) / len(rates), flow)
queue = next(q for q in result["queues"] if q["alias"] == "bottleneck")
marked = sum(series("queue", queue["name"], "marked"))
assert abs(marked - queue["marked"]) <= 0.01 * queue["marked"], (marked, queue)
total = sum(f["wire_bps"] for f in result["flows"])
assert 0.9 * 40e9 < total <= 40e9, total
suite = tree.parse(out + "/junit.xml").getroot().find("testsuite")
assert int(suite.get("tests")) == len(result["expectations"]) + 1 == len(suite.findall("testcase"))
assert suite.get("failures") == suite.get("errors") == "0", suite.attrib
END

# With 2 % lost, go-back-N sends many packets again, selective repeat those that were lost.
again() { jq '.flows[0].retransmitted' "$scratch/whole-retransmit"/*"probability-$1-"*"retransmit=$2/result.json"; }
(($(again 2 go-back-n) > 10 * $(again 2 selective) && $(again 2 selective) > 0)) ||
  fail "sent again: go-back-N $(again 2 go-back-n), selective repeat $(again 2 selective)"
# Rules of every kind, and their random choices: the same bytes again.
for run in first second; do exits 0 xdp-roce run jitter --out "$scratch/jitter-$run"; done
cmp "$scratch/jitter-first/series.csv" "$scratch/jitter-second/series.csv" || fail "two runs with rules differ"

# One seed always gives the same bytes; another one does not.
exits 0 xdp-roce run incast "${short[@]}" --out "$scratch/two"
cmp "$scratch/one/series.csv" "$scratch/two/series.csv" || fail "two runs of one seed differ"
without='del(.wall_s, .cpu_s, .version, .run)'
diff <(jq "$without" "$scratch/one/result.json") <(jq "$without" "$scratch/two/result.json") >"$scratch/diff" ||
  fail "two results of one seed differ: $(cat "$scratch/diff")"
exits 0 xdp-roce run incast "${short[@]}" --seed 2 --out "$scratch/three" --set expect=[]
! cmp -s "$scratch/one/series.csv" "$scratch/three/series.csv" || fail "two seeds give the same series"

# One that does not hold: exit status 3, in all files.
quick=(--set duration=2ms --set measure.from=1ms --set sample=100us)
exits 3 xdp-roce run incast "${quick[@]}" --set 'expect=["totals.cnps == 0", "jain > 0"]' --junit "$scratch/j.xml" --tap
grep -q '^not ok 2 - totals.cnps == 0$' "$scratch/last.out" || fail "TAP: $(cat "$scratch/last.out")"
python3 -c 'import sys, xml.etree.ElementTree as t
suite = t.parse(sys.argv[1]).getroot().find("testsuite")
assert suite.get("failures") == "1", suite.attrib
assert [c.get("name") for c in suite if c.find("failure") is not None] == ["totals.cnps == 0"]' "$scratch/j.xml" ||
  fail "JUnit: $(cat "$scratch/j.xml")"
exits 3 xdp-roce run incast "${quick[@]}" --set 'expect=["totals.cnps == 0"]' --set 'sweep={seed: [1, 2]}'
# What could not be measured is void, never green.
exits 1 xdp-roce --json run incast "${quick[@]}" --set 'expect=["max(flows.fct_ns) < 1s"]'
assert_json "$scratch/last.out" '.verdict == "void" and (.why_void[0] | test("fct_ns"))'

# A link that follows a trace beside the file: 1500 bytes each ms are 12 Mbit/s of IP packets of 1068 bytes, which are
# frames of 1082 without FCS.
echo 1 >"$scratch/opportunities"
cat >"$scratch/trace.yaml" <<'END'
experiment: trace
duration: 1s
measure: {from: 100ms}
topology: {star: {senders: 1, rate: 100mbit, delay: 1ms}}
queue: {bottleneck: trace opportunities buffer 1MB}
flows: [{from: all, to: receiver, words: "write size 64k pmtu 1024"}]
expect: ["flow('flow-1').wire_bps within 1% of 12157303", "queue('bottleneck').utilisation > 0.99"]
END
exits 0 xdp-roce run "$scratch/trace.yaml"
refused 'the port of a host cannot follow a trace' xdp-roce run "$scratch/trace.yaml" --set 'queue.sender-1:switch=trace opportunities'
refused "$scratch/nothing" xdp-roce run "$scratch/trace.yaml" --set queue.bottleneck="trace $scratch/nothing"

# Refused before it runs.
misused "'drosp' is not a column" xdp-roce run incast --set 'expect=["sum(flows.drosp) == 0"]'
grep -q '^hint: did you mean drops?$' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
misused "no installed experiment 'incats'" xdp-roce run incats
refused 'this topology has no ports to capture at' xdp-roce run hpcc-fig11 --set capture=[left] --out "$scratch/capture"
exits 2 xdp-roce run incast --on ports
assert_sentence 'no port is named' <"$scratch/last.err"

# Ended by a signal: what was measured so far, and void.
in_background xdp-roce run incast --set duration=100s --set sample=1ms --out "$scratch/long" >"$scratch/ended" 2>&1
wait_for 20 grep -qs '^1000000,' "$scratch/long/series.csv" || fail "nothing is written while it runs"
end_background INT
assert_eq 1 "$ended" "exit status after SIGINT"
assert_json "$scratch/long/result.json" '.verdict == "void" and .packets > 0'
