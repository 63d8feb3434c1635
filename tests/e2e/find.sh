#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Searches: thresholds known by arithmetic in virtual time, a link's rate in namespaces, a policer's on ports; ratios of loss; and
# this machine's limit is not reported as the device's.
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
# measured VERDICT WORDS...: a run with frames, repeated if the machine was too busy to measure.
measured() {
  local tries
  for tries in 1 2 3; do
    "$XDP_ROCE" --json run "${@:2}" >"$scratch/found.json" 2>"$scratch/found.err" || true
    if [[ $(jq -r .verdict "$scratch/found.json") != void ]]; then found ".verdict == \"$1\"" && return; fi
  done
  skip "the machine was $tries times too busy: $(jq -c .summary.text "$scratch/found.json")"
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

# In namespaces: a link of 100 Mbit/s, within 1 %. Where the machine is the limit, that is reported.
cat >"$scratch/link.yaml" <<'Y'
experiment: a link's rate
vars: {rate: 100mbit, size: 1200}
duration: 3s
measure: {from: 300ms}
topology: {dumbbell: {senders: 1, rate: 1gbit, delay: 100us, core-rate: 100mbit}}
queue: {words: "buffer 180k"}
congestion: none
flows: [{from: sender-1, to: receiver-1, words: "send frame-size {size} frames 1000 repeat 0 rate {rate} l2", reliable: false}]
find: {rate: 50mbit..200mbit, resolution: 0.5%, goals: {without loss: "totals.drops == 0"}}
Y
measured pass "$scratch/link.yaml" --on namespaces
found '.found[0] | (.value / 100e6 - 1 | fabs) < 0.011 or .limited'
measured pass "$scratch/link.yaml" --on namespaces --set size=66 --set 'topology.dumbbell.core-rate=1gbit' --set topology.dumbbell.delay=30ms --find rate=5mbit..1gbit --resolution 30%
found '.found[0].limited and (.summary.text | test("this machine is the limit"))'

# On ports: a bridge that polices, between two ports of one namespace.
ip netns add "$tx" && ip netns add "$rx"
for end in a b; do
  ip -n "$tx" link add "${end}0" type veth peer name "${end}1" netns "$rx"
  ip -n "$rx" link set "${end}1" up
  ip -n "$tx" link set "${end}0" up
done
for ns in "$tx" "$rx"; do
  ip netns exec "$ns" sh -c 'for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done' || true
done
refused 'none0: no such interface' "$XDP_ROCE" --netns "$tx" find a0 none0
exits 0 "$XDP_ROCE" --netns "$rx" bridge a1 b1 --fix
exits 0 "$XDP_ROCE" --netns "$rx" impair a1 add roce police 50mbit burst 128k
for tries in 1 2 3; do
  "$XDP_ROCE" --json --netns "$tx" find a0 b0 --size 1518 --speed 200mbit --loss 0,5% --resolution 1% --out "$scratch/ports" \
    >"$scratch/found.json" 2>"$scratch/found.err" || true
  # A late sender catches up with a burst, which a policer may drop.
  if jq -e '.verdict == "pass" and all(.found[]; (.limited | not) and .value > 48.5e6)' "$scratch/found.json" >/dev/null; then break; fi
done
jq -e '.found | length == 2' "$scratch/found.json" >/dev/null || fail "find: $(tail -n 3 "$scratch/found.err")"
jq -e '.verdict == "pass" and all(.found[]; .limited | not)' "$scratch/found.json" >/dev/null ||
  skip "the machine was $tries times too busy: $(jq -c .summary.text "$scratch/found.json")"
found '.found[0].goal == "without loss" and (.found[0].value / 50e6 | . > 0.97 and . < 1.06) and
  .found[1].value > .found[0].value and .found[1].value < 60e6'
exits 0 "$XDP_ROCE" --netns "$rx" detach --all
