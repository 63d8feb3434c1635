#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Expectations over what the captures of a run answer, in virtual time and in namespaces: they hold; turned round they do not, with
# exit status 3, and the frame that is named is the one that tshark shows; points of a sweep; what is refused before the run.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq tshark python3
before=$(kernel_objects)

# `hurt` loses its 30th packet, then the last one; ten packets of `marked` are marked.
cat >"$scratch/expect.yaml" <<'END'
experiment: expectations over answers
seed: 1
duration: 1200ms
measure: {from: 0s}
topology:
  star: {senders: 2, rate: 20mbit, delay: 200us}
queue: {words: "buffer 1MB"}
reliability: {timeout: 15}
flows:
  - {name: hurt, from: sender-1, to: receiver, words: "write size 100k messages 1 rate 4mbit psn 1000"}
  - {name: marked, from: sender-2, to: receiver, words: "write size 20k messages 5 rate 4mbit psn 5000"}
rules:
  - "qp 1 psn 30 iter 1 drop name middle"
  - "qp 1 psn 98 iter 2 drop name last"
  - "qp 2 psn 40-49 ce force name mark"
expect:
  - "count(episodes) == 2"
  - "count(episodes where cause == 'nak') == 1 and count(episodes where cause == 'timeout') == 1"
  - "all(events('middle'), packet == 30 and again == 0)"
  - "all(events('mark'), packet between 40 and 49)"
  - "min(events.recovered) == 1"
  - "count(events('mark')) == rule('mark').acted"
  - "all(episodes, recovered == 1)"
  - "p99(episodes.recovery) <= 100 ms"
  - "max(episodes.nak_generation) < 50ms and max(episodes.timeout) > 100ms"
  - "count(findings) == 0"
  - "min(go_back_n.naks_once_a_gap) == 1"
  - "sum(cnp_pacing.marked) == 10 and sum(cnp_pacing.qps_without_cnp) == 0"
  - "min(cnp_pacing.interval_qp) > 40us"
  - "min(count_checks.equal) == 1"
END
green() { assert_json "$1/result.json" '.verdict == "pass" and (.expectations | length) == 14 and all(.expectations[]; .holds) and .not_answered == []'; }
exits 0 "$XDP_ROCE" run "$scratch/expect.yaml" --out "$scratch/virtual"
green "$scratch/virtual"
measures 0 "$scratch/expect.yaml" --out "$scratch/out"
green "$scratch/out"
nothing_left "after a run whose captures answer"

# Without --out the captures are for the answers only: the same verdict, and no file stays.
mkdir "$scratch/tmp"
TMPDIR=$scratch/tmp exits 0 "$XDP_ROCE" --json run "$scratch/expect.yaml"
assert_json "$scratch/last.out" '.verdict == "pass" and (.retransmissions | length) == 2'
assert_eq "" "$(ls "$scratch/tmp")" "files of a run without --out"
# Those of a process that was killed go with the next run.
mkdir "$scratch/tmp/xr-run-999999999-1-abcdef"
TMPDIR=$scratch/tmp exits 0 "$XDP_ROCE" run "$scratch/expect.yaml"
assert_eq "" "$(ls "$scratch/tmp")" "files of a run that was killed"

# shown DIR CHECK: PSN, time, AETH syndrome and comment of the frame that the expectation names, by tshark.
shown() {
  local capture frame
  read -r capture frame < <(jq -r ".expectations[$2] | \"\(.capture) \(.frame)\"" "$1/result.json")
  tshark -r "$1/$capture.pcapng" -Y "frame.number == $frame" -T fields -e infiniband.bth.psn -e frame.time_epoch \
    -e infiniband.aeth.syndrome -e frame.comment -e infiniband.bth.destqp 2>/dev/null
}
red=(--set "expect=[\"all(events('middle'), packet == 31)\", \"max(episodes.nak_generation) < 1us\",
  \"count(episodes where cause == 'timeout') == 0\", \"all(episodes, cause == 'nak')\", \"jain > 0\"]")
turned_round() {
  local dir=$1 psns frame
  assert_json "$dir/result.json" '.verdict == "fail" and ([.expectations[].holds] == [false, false, false, false, true])'
  assert_json "$dir/result.json" '.expectations[0] | .value == 30 and .bound == 31 and (.row | test("middle, hurt")) and .capture == "left"'
  assert_json "$dir/result.json" '.expectations[1] | .value > 1000 and .bound == 1000 and .capture == "right" and (.row | test("^episode 1 .hurt"))'
  assert_json "$dir/result.json" '.expectations[2] | .value == 1 and .bound == 0 and (.row | test("^episode 2 .hurt")) and .capture == "left"'
  assert_json "$dir/result.json" '.expectations[3] | .value == "timeout" and .bound == "nak" and .capture == "left"'
  psns=$(for check in 0 1; do shown "$dir" $check | cut -f 1; done | paste -sd ' ')
  assert_eq "1029 1029" "$psns" "PSNs of the packet that was dropped and of the NAK for it"
  shown "$dir" 0 | grep -q 'rule 1: dropped' || fail "the first frame: $(shown "$dir" 0)"
  assert_eq 96 "$(($(shown "$dir" 1 | cut -f 3) & 0x7f))" "AETH syndrome of the second frame: a NAK"
  # The timeout's frame: the first packet of its QP after 100 ms without one, which had been sent before.
  frame=$(jq '.expectations[2].frame' "$dir/result.json")
  assert_eq "$frame" "$(jq '.expectations[3].frame' "$dir/result.json")" "the frame of the third and of the fourth"
  tshark -r "$dir/left.pcapng" -Y "infiniband.bth.destqp == $(shown "$dir" 0 | cut -f 5) && frame.number <= $frame" -T fields -e frame.number -e frame.time_epoch \
    -e infiniband.bth.psn 2>/dev/null | awk -v frame="$frame" '{ before = last; last = $2; n = $1; again = seen[$3]++ }
      END { exit !(n == frame && last - before > 0.1 && again) }' || fail "frame $frame is not where the timer sent again"
  python3 - "$dir" <<'END' || fail "junit.xml"
import json, sys, xml.etree.ElementTree as tree
checks = json.load(open(sys.argv[1] + "/result.json"))["expectations"]
failed = [case.find("failure").get("message") for case in tree.parse(sys.argv[1] + "/junit.xml").getroot().find("testsuite") if case.find("failure") is not None]
assert len(failed) == 4, failed
for check, message in zip(checks, failed):
    assert f"{check['capture']}.pcapng frame {check['frame']}" in message and check["row"] in message, message
assert "value timeout, bound nak" in failed[3], failed[3]
END
  grep -q "right.pcapng frame $(jq '.expectations[1].frame' "$dir/result.json")" "$dir/report.html" || fail "report.html does not name the frame"
}
exits 3 "$XDP_ROCE" run "$scratch/expect.yaml" "${red[@]}" --out "$scratch/red"
grep -q "episode 1 (hurt) at .* ms, right.pcapng frame" "$scratch/last.out" || fail "the summary: $(cat "$scratch/last.out")"
turned_round "$scratch/red"
# In virtual time the capture's clock is the run's: the frame is at the time that the expectation says.
for check in 0 2; do
  assert_eq "$(jq ".expectations[$check].t_ns" "$scratch/red/result.json")" \
    "$(shown "$scratch/red" $check | cut -f 2 | tr -d . | sed 's/^0*//')" "time of the frame of expectation $check"
done
exits 3 "$XDP_ROCE" run "$scratch/expect.yaml" "${red[@]}" --tap
grep -q '^# value 30, bound 31, event 1 (middle, hurt), at [0-9]* ns, left.pcapng frame [0-9]*$' "$scratch/last.out" || fail "TAP: $(cat "$scratch/last.out")"
measures 3 "$scratch/expect.yaml" "${red[@]}" --out "$scratch/red-out"
turned_round "$scratch/red-out"

# What the captures do not answer is void, never green.
exits 1 "$XDP_ROCE" --json run "$scratch/expect.yaml" --set rules=[] --set 'expect=["max(episodes.recovery) < 1s"]'
assert_json "$scratch/last.out" '.verdict == "void" and (.why_void[0] | test("there are no rows"))'

# Each point of a sweep has its own captures and its own verdict.
sweep=(--set 'rules=["qp 1 psn 30 iter 1 drop name middle"]'
  --set 'sweep={reliability.retransmit: [go-back-n, selective], seed: [1, 2]}' --jobs 2)
exits 0 "$XDP_ROCE" run "$scratch/expect.yaml" "${sweep[@]}" --set 'expect=["count(episodes) == 1", "max(episodes.resent) <= 68"]' --out "$scratch/sweep"
assert_json "$scratch/sweep/sweep.json" '.verdict == "pass" and (.points | length) == 4'
assert_eq 4 "$(find "$scratch/sweep" -name left.pcapng | wc -l)" "captures of the points"
exits 3 "$XDP_ROCE" run "$scratch/expect.yaml" "${sweep[@]}" --set 'expect=["max(episodes.resent) <= 1"]' --out "$scratch/unequal"
assert_json "$scratch/unequal/sweep.json" '[.points[] | .verdict] == ["fail", "fail", "pass", "pass"]'

# Refused before anything runs.
for place in virtual namespaces; do
  misused "'recovry' is not a column of episodes" "$XDP_ROCE" run "$scratch/expect.yaml" --on "$place" --set 'expect=["max(episodes.recovry) < 1s"]'
  grep -q '^hint: did you mean recovery?$' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
done
misused 'the captures are not analyzed' "$XDP_ROCE" run "$scratch/expect.yaml" --set analyze=none
grep -q '^hint: analyze: episodes$' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
misused 'this topology has no ports to capture at' "$XDP_ROCE" run hpcc-fig11 --set 'expect=["count(findings) == 0"]'
misused 'a capture needs a directory' "$XDP_ROCE" run "$scratch/expect.yaml" --set capture=[left]
nothing_left "after all"
