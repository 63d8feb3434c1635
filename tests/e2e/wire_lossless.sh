#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several flows of one port oversubscribe a slow link. With PFC their sender waits, of the paused priority
# only, and every frame arrives; without it, frames are dropped. Counted by the kernel at both ends; XOFF
# and XON as tshark reads them.
. "$(dirname "$0")/wire_lib.sh"
need tshark
lane3
begin_wire

# load: 8 Mbit/s of priority 3 in three flows, and 0.4 Mbit/s of priority 5, for 3 s.
load() {
  local to=(dst 192.0.2.2 dst-mac "$right_mac")
  "$XDP_ROCE" --netns "$left" --json send left0 --listen --pfc-line 10gbit --for 3s \
    --flow "${to[*]} qp 5 send size 1024 dscp 24 rate 4mbit" --flow "${to[*]} qp 6 send size 1024 dscp 25 rate 2mbit" \
    --flow "${to[*]} qp 7 send size 512 dscp 26 rate 2mbit" --flow "${to[*]} qp 8 send size 256 dscp 40 rate 400kbit" \
    >"$scratch/sent" 2>"$scratch/sent.err" || fail "send: $(cat "$scratch/sent.err")"
}
link() { xr --json link box1 show >"$scratch/link" && jq -e "$1" "$scratch/link" >/dev/null; }
drops='([.drops // {} | .[]] | add // 0)'
drained='.queue.backlog_bytes == 0 and .queue.frames_in == .queue.frames_out + '$drops

# Without PFC: 100 kB of buffer are full after some 0.2 s.
xr link box1 rate 4mbit buffer 100k class 3 weight 1 class 5 weight 1 >/dev/null
sent=$(sent_by_left) got=$(got_by_right)
load
wait_for 20 link "$drained" || fail "the queue does not drain: $(jq -c .queue "$scratch/link")"
jq -e "$drops > 100" "$scratch/link" >/dev/null || fail "nothing was dropped: $(jq -c .queue "$scratch/link")"
all_accounted() { (($(sent_by_left) - sent == $(got_by_right) - got + $(jq "$drops" "$scratch/link"))); }
wait_for 10 all_accounted ||
  fail "$(($(sent_by_left) - sent)) sent, $(($(got_by_right) - got)) arrived, $(jq "$drops" "$scratch/link") dropped"
assert_json "$scratch/sent" '(.pauses.pfc_received // 0) == 0'

# With PFC; the headroom takes what was on its way.
xr link box1 off >/dev/null
xr link box1 rate 4mbit buffer 100k class 3 weight 1 class 5 weight 1 pfc xoff 30k xon 15k headroom 2M priorities 3,5 >/dev/null
dropped=$(xr --json link box1 show | jq "$drops")
sent=$(sent_by_left) got=$(got_by_right)
load
wait_for 20 link "$drained" || fail "the queue does not drain: $(jq -c .queue "$scratch/link")"
assert_eq "$dropped" "$(jq "$drops" "$scratch/link")" "frames dropped with PFC, and before it: $(jq -c .drops "$scratch/link")"
all_arrived() { (($(sent_by_left) - sent == $(got_by_right) - got)); }
wait_for 10 all_arrived || fail "$(($(sent_by_left) - sent)) sent, $(($(got_by_right) - got)) arrived"
assert_json "$scratch/sent" '.pauses.pfc_received > 10'
assert_json "$scratch/sent" '.paused | map({(.priority | tostring): .us}) | add | .["3"] > 300000 and (.["5"] // 0) < .["3"] / 2'
assert_json "$scratch/link" '.classes[] | select(.class == 3) | .xoff_sent > 1 and .xon_sent > 0'

# A burst, and nobody at the other end who takes the PFC frames before tcpdump: 0.5 s of queue.
pfc_sent() { jq -c '[.classes[] | select(.class == 3) | .xoff_sent, .xon_sent]' "$scratch/link"; }
before=$(pfc_sent)
observe_left "$scratch/left.pcap" --immediate-mode ether proto 0x8808
"$XDP_ROCE" --netns "$left" send left0 dst 192.0.2.2 dst-mac "$right_mac" send size 1024 qp 5 dscp 24 messages 250 rate top \
  >"$scratch/last.out" 2>"$scratch/last.err" || fail "send"
xon_sent() { link "$drained and (.classes[] | select(.class == 3) | .xon_sent) > $(jq '.[1]' <<<"$before")"; }
wait_for 20 xon_sent || fail "no XON: $(pfc_sent), before $before"
xoffs=$(jq "[.classes[] | select(.class == 3) | .xoff_sent][0] - ${before}[0]" "$scratch/link")
xons=$(jq "[.classes[] | select(.class == 3) | .xon_sent][0] - ${before}[1]" "$scratch/link")
observed $((xoffs + xons))
tshark -r "$scratch/left.pcap" -T fields -E separator=, -e macc.opcode -e macc.cbfc.enbv -e macc.cbfc.pause_time.c3 \
  2>/dev/null >"$scratch/pfc"
assert_eq "$xons 0x0101,0x0008,0
$xoffs 0x0101,0x0008,65535" "$(sort "$scratch/pfc" | uniq -c | sed 's/^ *//')" "PFC frames: counted by the link, and read by tshark"
assert_eq 0x0101,0x0008,65535 "$(sed -n 1p "$scratch/pfc")" "the first one"
assert_eq 0x0101,0x0008,0 "$(tail -n 1 "$scratch/pfc")" "the last one"
end_wire
