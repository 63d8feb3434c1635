#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# send and respond obey PFC frames that the peer's end of the link sends: what has a paused priority
# waits and continues. The frames are written by Python, not by ours.
. "$(dirname "$0")/traffic_lib.sh"
need jq python3
lane

# pausing NETNS PORT PRIORITY: frames of 65,535 quanta for the priority, one every 2 ms, for 40 ms
# of each 80 ms. It says "sent" with the first.
pausing() {
  exec ip netns exec "$1" python3 -c '
import socket, struct, sys, time
port, priority = sys.argv[1], int(sys.argv[2])
frame = bytes.fromhex("0180c2000001020000000009") + struct.pack(">HHH", 0x8808, 0x0101, 1 << priority)
frame += struct.pack(">8H", *(65535 if n == priority else 0 for n in range(8)))
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind((port, 0))
while True:
    if time.monotonic() % 0.08 < 0.04:
        link.send(frame.ljust(60, b"\0"))
        print("sent", flush=True)
    time.sleep(0.002)
' "$2" "$3"
}
paused_us() { jq "[.paused[]? | select(.priority == $2) | .us] | add // 0 | floor" "$scratch/$1.json"; }

# 4,000 packets of priority 3 at 8,000 a second: 0.5 s, and the time of the pauses.
flow=("${v4[@]}" qp 0x11 write pmtu 1024 size 1024 messages 4000 dscp 24 rate 8kpps)
psn=0
talk() {
  psn=$((psn + 0x300000))
  respond --address "$to" --pfc-line 10gbit
  in_background pausing "$@" >"$scratch/pausing"
  wait_for 15 grep -q sent "$scratch/pausing"
  pauser=${background[-1]}
  send --reliable "${extra[@]}" psn "$psn" "${flow[@]}"
  end_respond
  kill "$pauser"
  wait "$pauser" || true
  unset 'background[-1]'
  assert_sent '.finished and .sent.messages == 4000 and .recovery.failed_qps == 0'
}
extra=(--pfc-line 10gbit)
talk "$rx" rx0 3
us=$(paused_us send 3)
((us > 100000)) || fail "paused for $us us: $(jq -c '.pauses, .paused' "$scratch/send.json")"
assert_sent ".pauses.pfc_received > 20 and .pauses.refused == 0 and .seconds > 0.49 + $us / 1000000"
talk "$rx" rx0 5 # another priority
assert_sent '.pauses.pfc_received > 20'
assert_eq 0 "$(paused_us send 3)" 'priority 3 with frames for 5'
extra=(--ignore-pfc)
talk "$rx" rx0 3
assert_sent '.pauses.pfc_received == null or .pauses.pfc_received == 0'

# The responder: its ACKs have priority 0.
extra=(--pfc-line 10gbit)
talk "$tx" tx0 0
assert_respond '.pauses.pfc_received > 20 and .answered.acks > 0'
(($(paused_us respond 0) > 50000)) || fail "respond: $(jq -c '.pauses, .paused' "$scratch/respond.json")"
assert_sent '.times[] | select(.what == "completion") | .max_us > 3000'
