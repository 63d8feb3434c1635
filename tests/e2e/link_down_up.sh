#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A port that goes down and up again keeps its counters and continues to count.
. "$(dirname "$0")/lib.sh"
need jq
lane

xr attach rx0
replay --stream --packets 1000
await_frames 1000
ip -n "$rx" link set rx0 down
frames_counted 1000 || fail "going down changed the counters"
ip -n "$rx" link set rx0 up
wait_for 5 grep -qs 1 <(ip netns exec "$tx" cat /sys/class/net/tx0/carrier) || true
replay --stream --packets 1000 --first-qp 0x200
await_frames 2000
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams | length == 2 and all(.packets == 1000 and .gaps == 0)'
xr detach rx0
