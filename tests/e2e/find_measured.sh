#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Searches with frames: a link's rate in namespaces, a policer's on ports; this machine's limit is not reported as the device's.
. "$(dirname "$0")/traffic_lib.sh"
need jq
need_root

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
