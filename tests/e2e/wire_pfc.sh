#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# PFC at a wire's port: frames that enter it end there and pause the link of that port, per priority,
# until the quanta have run or an XON comes, and nothing is lost meanwhile. A link with `pfc` sends PFC
# frames to the port that fills it, as tshark reads them on the other end.
. "$(dirname "$0")/wire_lib.sh"
need ping tshark
lane3
begin_wire
ip netns exec "$left" ping -q -n -c 1 192.0.2.2 >/dev/null # ARP
xr link box1 rate 1gbit buffer 1M >/dev/null

# pfc WORDS...: from the end at box1.
pfc() {
  "$XDP_ROCE" --netns "$right" --json send right0 pfc "$@" >"$scratch/sent" 2>"$scratch/last.err" ||
    fail "$(cat "$scratch/last.err")"
}
# 65,535 quanta at 1 Gbit/s are 33.6 ms. A PFC frame every 10 ms for 400 ms, then XON: pings of class 0 wait.
ip netns exec "$left" ping -q -n -c 30 -i 0.02 192.0.2.2 >"$scratch/ping" &
pinging=$!
sleep 0.1
pfc 0 quanta 65535 every 10ms for 400ms
wait "$pinging" || fail "$(cat "$scratch/ping")"
grep -q ' 0% packet loss' "$scratch/ping" || fail "a pause lost frames: $(cat "$scratch/ping")"
most=$(awk -F'[=/ ]+' '/^rtt/ { print $8 * 1000 }' "$scratch/ping")
within "longest RTT while paused, us" "$most" 100000 1000000
xr --json link box1 show >"$scratch/link"
jq -e '.classes[] | select(.class == 0) | .xoff_received >= 20 and .xon_received >= 1 and .paused_us > 150000' \
  "$scratch/link" >/dev/null || fail "$(cat "$scratch/link")"

# Another priority does not stop class 0; nothing of it reaches the other end.
observe_left "$scratch/left.pcap" ether proto 0x8808
for _ in 1 2 3; do # the machine may stop for as long as a pause
  ip netns exec "$left" ping -q -n -c 20 -i 0.02 192.0.2.2 >"$scratch/ping" &
  pinging=$!
  pfc 3 quanta 65535 every 10ms for 300ms
  wait "$pinging" || fail "$(cat "$scratch/ping")"
  most=$(awk -F'[=/ ]+' '/^rtt/ { print $8 * 1000 }' "$scratch/ping")
  ((${most%.*} > 150000)) || break
done
within "longest RTT while another priority is paused, us" "$most" 1 150000
[[ $(tshark -r "$scratch/left.pcap" 2>/dev/null | wc -l) == 0 ]] || fail "PFC frames were forwarded"

# A slow link with `pfc` pauses the sender's port: XOFF and XON leave by box0.
xr link box1 rate 5mbit buffer 100k pfc xoff 20k xon 10k headroom 500k >/dev/null
"$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" send size 1024 qp 5 \
  messages 60 rate top >"$scratch/sent" || fail "send"
sent_pfc() {
  [[ $(tshark -r "$scratch/left.pcap" -T fields -e macc.opcode 2>/dev/null | grep -c .) -ge 2 ]]
}
wait_for 10 sent_pfc || fail "no PFC frame was sent: $(xr --json link box1 show)"
drained() { xr --json link box1 show | jq -e '.queue.backlog_bytes == 0' >/dev/null; }
wait_for 10 drained || fail "the queue does not drain"
last_is_xon() {
  tshark -r "$scratch/left.pcap" -T fields -e macc.opcode -e macc.cbfc.enbv -e macc.cbfc.pause_time.c3 2>/dev/null >"$scratch/pfc"
  tail -n 1 "$scratch/pfc" | grep -qE '(0x0101|257).*[^0-9]0$'
}
wait_for 10 last_is_xon || fail "the last one is no XON: $(cat "$scratch/pfc")"
xr --json link box1 show >"$scratch/link"
jq -e '([.drops // {} | .[]] | add // 0) == 0' "$scratch/link" >/dev/null || fail "$(cat "$scratch/link")"
end_wire
