#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Searches in virtual time: thresholds known by arithmetic, and ratios of loss.
. "$(dirname "$0")/traffic_lib.sh"
need jq python3
need_root
experiments=$here/../../tools/experiments

# find_in STATUS WORDS...: a run with JSON, in $scratch/found.json.
find_in() {
  local wanted=$1 status=0
  shift
  "$XDP_ROCE" --json run "$@" >"$scratch/found.json" 2>"$scratch/found.err" || status=$?
  assert_eq "$wanted" "$status" "run $* ($(tail -n 3 "$scratch/found.err"))"
}
found() { assert_json "$scratch/found.json" "$1"; }

# Each size at the line rate of 10 Gbit/s, to 0.1 %: a frame of N bytes with FCS has 20 more on the wire.
find_in 0 "$experiments/rfc2544-throughput.yaml" --set time=100ms --set 'sweep.size=[66,128,512,1518,4170]' --set device=10gbit
found '[.found[] | .verdict == "pass" and .value == 10e9 and (.line_percent >= 99.9) and .lost == 0 and
  ((.frames_per_second * (.settings.size | tonumber + 20) * 8 / 10e9 - 1) | fabs) < 0.001] | length == 5 and all'
# A device of 4 of 10 Gbit/s, to 0.1 %, in few trials.
find_in 0 "$experiments/rfc2544-throughput.yaml" --set time=500ms --set 'sweep.size=[1518]' --set device=4gbit --set buffer=16k
found '.found[0] | (.value / 4e9 - 1 | fabs) < 0.0015 and .trials <= 8 and .fails_at != null'
# Each number of processes finds the same, to the byte, except for the time that trials took.
for jobs in 1 2 5; do
  find_in 0 "$experiments/smallest-buffer.yaml" --jobs "$jobs" --set 'sweep.senders=[4,8]'
  jq 'del(.run) | del(.trials[].wall_s)' "$scratch/found.json" >"$scratch/jobs-$jobs"
done
for jobs in 2 5; do cmp "$scratch/jobs-1" "$scratch/jobs-$jobs" || fail "--jobs $jobs changes what is found"; done
# A buffer, exactly: a burst at twice the rate of the device fills half of its bytes.
find_in 0 "$experiments/rfc2544-back-to-back.yaml" --set 'sweep.size=[1518]'
found '.found[0].found == "339" and .found[0].fails_at == "340"'
find_in 0 "$experiments/rfc2544-back-to-back.yaml" --set 'sweep={}' --set burst=339 --find buffer=10k..1M --least --resolution 1b
found '.found[0].value == (169 * 1514)'
# Headroom of PFC: a round trip and a frame, within one frame.
find_in 0 "$experiments/lossless-length.yaml"
found '[.found[] | (.settings.headroom | rtrimstr("k") | tonumber * 1000) - 2 * .value * 12.5 | . >= 4096 and . < 2 * 4170] | length == 3 and all'
# Every millionth frame is lost: no rate is without loss, all are with at most 10^-5; by the same trials.
cat >"$scratch/millionth.yaml" <<'Y'
experiment: every millionth
vars: {rate: 10gbit}
duration: 120ms
measure: {from: 0s}
topology: {star: {senders: 1, rate: 10gbit l1, delay: 1us}}
queue: {words: "buffer 1M"}
congestion: none
flows: [{from: sender-1, to: receiver, words: "send frame-size 66 frames 1000 repeat 0 rate {rate} l1", reliable: false}]
rules: ["roce every 1000000 drop"]
find: {rate: 8gbit..10gbit, goals: {without loss: "totals.drops == 0", rarely: "totals.drops / totals.packets <= 1e-5"}}
Y
find_in 3 "$scratch/millionth.yaml"
found '.found[0].verdict == "fail" and .found[0].why == "totals.drops == 0: 1" and .found[1].found == "10gbit" and .found[0].trials == 2'
# The files; errors are reported before anything runs.
"$XDP_ROCE" run "$experiments/lossless-length.yaml" --out "$scratch/out" --plots "$scratch/plots" >"$scratch/last.out" 2>"$scratch/last.err"
for file in find.json find.csv trials.csv junit.xml report.html; do [[ -s $scratch/out/$file ]] || fail "there is no $file"; done
[[ -s $scratch/plots/found.svg ]] || fail "there is no plot"
python3 - "$scratch/out" <<'PY'
import csv, sys, xml.etree.ElementTree as tree
rows = list(csv.DictReader(open(sys.argv[1] + "/find.csv")))
assert [row["settings.headroom"] for row in rows] == ["50k", "100k", "200k"], rows
assert all(float(row["value"]) > 0 and row["verdict"] == "pass" for row in rows), rows
assert len(tree.parse(sys.argv[1] + "/junit.xml").getroot().findall("testsuite")) == 3
PY
exits 2 "$XDP_ROCE" run "$experiments/kmin.yaml" --find kmin=10k..1k
exits 2 "$XDP_ROCE" run "$experiments/kmin.yaml" --find kmax=1k..10k
exits 2 "$XDP_ROCE" run "$experiments/kmin.yaml" --share 1/2
