#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The link of a port: its rate as a TCP stream sees it, CE marks in tshark, drops counted where the
# buffer is too small, PFC frames that pause it, MTU 9000 and VLAN tags, and a link that is taken away.
. "$(dirname "$0")/wire_lib.sh"
need ping iperf3 tshark
lane3
begin_wire
ip netns exec "$left" ping -q -n -c 1 192.0.2.2 >/dev/null # ARP
ip netns exec "$right" iperf3 -s -D -I "$scratch/iperf.pid" >/dev/null
wait_for 5 test -s "$scratch/iperf.pid"
background+=("$(tr -d '\0' <"$scratch/iperf.pid")")

# tcp_rate SECONDS: of payload, bit/s, by the kernel's count of received bytes: iperf3's own is too high where its
# server gets no processor for a while and then reads what has waited. The first second is left out.
tcp_rate() {
  local began=() ended=()
  ip netns exec "$left" iperf3 -c 192.0.2.2 -t $(($1 + 2)) >"$scratch/iperf" 2>&1 &
  sleep 1
  began=("$EPOCHREALTIME" "$(received)")
  sleep "$1"
  ended=("$(received)" "$EPOCHREALTIME")
  wait $! || fail "$(cat "$scratch/iperf")"
  awk -v bytes=$((ended[0] - began[1])) -v seconds="$(echo "${ended[1]} ${began[0]}" | awk '{ print $1 - $2 }')" \
    'BEGIN { printf "%.0f\n", bytes * 8 / seconds * 1448 / 1514 }'
}
# tcp_through WHAT: 20 Mbit/s of frames, of which 1,448 of 1,514 bytes are payload. Never more; less where the machine is busy and TCP
# waits for a processor: then again.
tcp_through() {
  local i rate
  for ((i = 0; i < 5; i++)); do
    rate=$(tcp_rate 4)
    ((rate < 17000000)) || break
  done
  within "TCP through $1" "$rate" 17e6 19.4e6
}
received() { ip -s -j -n "$right" link show right0 | jq '.[0].stats64.rx.bytes'; }
xr link box1 rate 20mbit buffer 200k >/dev/null
tcp_through "20 Mbit/s"
xr --json link box1 show >"$scratch/link"
jq -e '.queue.frames_out > 5000 and .queue.backlog_max_bytes <= 200000' "$scratch/link" >/dev/null ||
  fail "$(cat "$scratch/link")"

# A rule's shaper in the kernel's path of the same direction.
xr link box1 off >/dev/null
xr impair box0 add non-roce shape 20mbit burst 5k queue 200k >/dev/null
tcp_through "a shaper of 20 Mbit/s"
xr impair box0 clear >/dev/null

# step 3k: ECT frames that leave a longer queue are marked, and none is lost.
observe_right "$scratch/marked.pcap" udp port 4791
seen_all() { [[ $(tshark -r "$scratch/marked.pcap" 2>/dev/null | wc -l) == 200 ]]; }
xr link box1 rate 10mbit buffer 500k step 3k >/dev/null
"$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" send size 1024 qp 5 \
  messages 200 ecn ect0 rate top >"$scratch/sent" || fail "send"
wait_for 10 seen_all || fail "200 frames did not arrive"
xr --json link box1 show >"$scratch/link"
marked=$(jq .queue.marked "$scratch/link")
got=$(tshark -r "$scratch/marked.pcap" -Y 'ip.dsfield.ecn == 3' 2>/dev/null | wc -l)
((marked == got && marked > 150 && marked < 200)) || fail "$marked marked, $got seen: $(cat "$scratch/link")"
jq -e '[.drops // {} | .[]] | add // 0 == 0' "$scratch/link" >/dev/null || fail "$(cat "$scratch/link")"
end_wire
