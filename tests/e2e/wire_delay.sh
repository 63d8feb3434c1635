#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules that hold frames, seen by ping: delay and jitter, only what matches, both directions at once;
# what is not held stays in the kernel. Rules change under traffic and nothing is lost.
. "$(dirname "$0")/wire_lib.sh"
need ping
lane3
begin_wire
ip netns exec "$left" ping -q -n -c 1 192.0.2.2 >/dev/null # ARP
read -r least _ _ < <(rtt 20)
within "RTT without rules, us" "$least" 1 5000

xr impair box0 add non-roce delay 10ms >/dev/null
read -r least _ _ < <(rtt 20)
within "RTT with 10 ms one way, us" "$least" 10000 12000
xr impair box1 add non-roce delay 5ms >/dev/null
read -r least _ _ < <(rtt 20)
within "RTT with 10 and 5 ms, us" "$least" 15000 18000
xr impair box1 clear >/dev/null

# Another rule in the place and with the id of the previous one, before the process has looked.
kill -STOP "$wire_pid"
xr impair box0 clear >/dev/null
xr impair box0 add non-roce delay 20ms >/dev/null
kill -CONT "$wire_pid"
read -r least _ _ < <(rtt 10)
within "RTT with 20 ms instead of 10, us" "$least" 20000 23000

# Jitter: from 0 to 8 ms on top.
xr impair box0 clear >/dev/null
xr impair box0 add non-roce delay 2ms jitter uniform 0s 8ms seed 1 >/dev/null
# Never less; more if the machine is busy: then repeated.
for _ in 1 2 3 4; do
  read -r least average most < <(rtt 100)
  if awk -v average="$average" -v most="$most" 'BEGIN { exit !(average <= 8500 && most <= 30000) }'; then break; fi
done
within "least RTT with jitter, us" "$least" 2000 4500
within "mean RTT with jitter, us" "$average" 4500 8500
within "most RTT with jitter, us" "$most" 8000 30000
grep -q ' 0% packet loss' "$scratch/ping" || fail "pings were lost: $(cat "$scratch/ping")"

# Two rules in a row: frames leave the first for the second.
xr impair box0 clear >/dev/null
xr impair box0 add non-roce delay 3ms next >/dev/null
xr impair box0 add non-roce delay 4ms >/dev/null
read -r least _ _ < <(rtt 20)
within "RTT with 3 and 4 ms in a row, us" "$least" 7000 9500

# 100 changes under traffic.
ip netns exec "$left" ping -q -n -c 300 -i 0.01 192.0.2.2 >"$scratch/changes" &
pinging=$!
for ((i = 0; i < 50; i++)); do
  xr impair box0 add name change non-roce delay 1ms next >/dev/null
  xr impair box0 del change >/dev/null
done
wait "$pinging" || fail "$(cat "$scratch/changes")"
grep -q ' 0% packet loss' "$scratch/changes" || fail "changes lost frames: $(cat "$scratch/changes")"
xr impair box0 clear >/dev/null

# No frame leaves early: 10,000 stamped ones (so few a second that the rings hold those of 0.8 s), of which the quickest takes the delay and little more.
xr impair box0 add roce delay 5ms >/dev/null
"$XDP_ROCE" --netns "$right" --json respond right0 --sink >"$scratch/sink" 2>"$scratch/sink.err" &
sink=$!
background+=("$sink")
wait_for 10 grep -qs 'receives for' "$scratch/sink.err" || fail "no sink: $(cat "$scratch/sink.err")"
"$XDP_ROCE" --netns "$left" send left0 dst 192.0.2.2 dst-mac "$right_mac" qp 5 send size 64 rate 5kpps stamp \
  --for 2s >/dev/null 2>"$scratch/last.err" || fail "$(cat "$scratch/last.err")"
sleep 0.3
kill -INT "$sink"
wait "$sink" || fail "the sink failed"
jq -e '.stamps | .frames > 5000 and .lost == 0 and .reordered == 0 and .min_us >= 5000 and .min_us < 6000' \
  "$scratch/sink" >/dev/null || fail "latencies: $(jq -c '.stamps | del(.streams)' "$scratch/sink")"
xr impair box0 clear >/dev/null

# What nothing holds does not reach the process.
xr --json counters box0 >"$scratch/before"
read -r least _ _ < <(rtt 20)
within "RTT after the rules, us" "$least" 1 5000
xr --json counters box0 >"$scratch/after"
jq -es '.[0].impaired.held > 0 and .[0].impaired.held == .[1].impaired.held and .[1].impaired.not_held == 0' \
  "$scratch/before" "$scratch/after" >/dev/null || fail "held: $(jq -c .impaired "$scratch/after")"
end_wire
wire_said '.ports[0].in.taken == .ports[0].in.left and .ports[0].in.taken > 300 and .ports[0].in.holding == 0'
refused "not attached" xr counters box0
