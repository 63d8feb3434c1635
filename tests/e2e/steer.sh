#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --steer on a veth, whose driver has no flow rules: each command refuses it with the driver, the kernel's reason and what
# helps, and leaves nothing; rules lead to one queue. Rules themselves: flow_rules_test.
. "$(dirname "$0")/bridge_lib.sh"
need jq ethtool
lane3
before=$(kernel_objects)
to=(--address 192.0.2.2)
flow=(src 192.0.2.2 dst 192.0.2.1 dst-mac 02:00:00:00:00:01 qp 17 messages 1)
cannot='box0 \(driver veth\) cannot bring UDP port 4791 over IPv4 to queue 0 by a rule: Operation not supported'
refused "$cannot" xr respond box0 "${to[@]}" --steer --for 1s
grep -q "^hint: nsenter --net=/run/netns/$box ethtool -X box0 equal 1 brings all to queue 0, .*ethtool -L box0 combined 1" "$scratch/last.err" ||
  fail "the hint: $(cat "$scratch/last.err")"
refused "$cannot" xr peer box0 perftest write_bw "${to[@]}" --steer
refused "$cannot" xr send box0 "${flow[@]}" --reliable --steer
refused "$cannot" xr wire box0 box1 --steer --for 1s
refused 'UDP port 4792 over IPv4' xr respond box0 "${to[@]}" --steer --udp-port 4792
# That is what ethtool gets too.
! ip netns exec "$box" ethtool -N box0 flow-type udp4 dst-port 4791 action 0 2>"$scratch/ethtool" || fail "a veth has flow rules"
grep -q 'Operation not supported' "$scratch/ethtool" || fail "ethtool: $(cat "$scratch/ethtool")"
wait_for 5 nothing_since "$before" || fail "a command that refused left something in the kernel"

one='--steer brings RoCE to one queue, and --queues 2 has more'
misused "$one" xr respond box0 "${to[@]}" --steer --queues 2
misused "$one" xr peer box0 perftest write_bw --steer --queues 2
misused "$one" xr send box0 "${flow[@]}" --reliable --steer --queues 2
misused "$one" xr wire box0 box1 --steer --queues 2
misused '--steer needs --reliable' xr send box0 "${flow[@]}" --steer

xr --json doctor box0 --try >"$scratch/report"
jq -r '.checks[] | select(.check == "steering") | .status + ": " + .text' "$scratch/report" >"$scratch/steering"
assert_eq "info: no flow rules: the driver has none" "$(cat "$scratch/steering")" "doctor --try"
