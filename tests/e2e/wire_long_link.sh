#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The recipe of docs/long-link.md: 500 km of link and a slower one after it. With headroom for what is on the
# way when PFC pauses the sender nothing is lost, as the far end's own counter says; with less, frames are.
. "$(dirname "$0")/wire_lib.sh"
lane3
begin_wire
xr impair box0 add roce delay 2500us >/dev/null
xr link box0 delay 2500us >/dev/null

arrived() { ip -n "$right" -j -s link show right0 | jq '.[0].stats64.rx.packets'; }
# through HEADROOM: 1 s of 200 Mbit/s into 50 Mbit/s; the link's report is in $scratch/link, the sender's in $scratch/sent.
through() {
  local before
  xr link box1 off >/dev/null
  xr link box1 rate 50mbit buffer 100k pfc xoff 100k xon 50k headroom "$1" priorities 0 >/dev/null
  sleep 0.1 # the process reads it
  before=$(arrived)
  "$XDP_ROCE" --netns "$left" --json send left0 src 192.0.2.1 dst 192.0.2.2 dst-mac "$right_mac" qp 0x11 write size 1k \
    rate 200mbit --listen --for 1s >"$scratch/sent" 2>"$scratch/last.err" || fail "send: $(cat "$scratch/last.err")"
  wait_for 10 drained || fail "the queue does not drain: $(xr --json link box1 show)"
  sleep 0.1
  xr --json link box1 show >"$scratch/link"
  sent=$(jq '.sent.packets - (.overflow | .not_sent + .tx_invalid + .tx_dropped)' "$scratch/sent")
  came=$(($(arrived) - before))
}
drained() { xr --json link box1 show | jq -e '.queue.backlog_bytes == 0' >/dev/null; }

# 200 Mbit/s x 5 ms are 125 kB; the rest is for the sender, a process that may have to wait for its processor, here
# for as long as it runs.
through 30M
assert_json "$scratch/link" '([.drops // {} | .[]] | add // 0) == 0'
assert_json "$scratch/link" '.queue.backlog_max_bytes > 100000' # beyond XOFF: the headroom was needed
assert_json "$scratch/link" '.classes[] | select(.class == 0) | .xoff_sent > 0 and .xon_sent > 0'
assert_json "$scratch/sent" '.pauses.pfc_received > 0 and (.paused[] | select(.priority == 0) | .us > 10000)'
((sent == came && sent > 2000)) || fail "$sent frames sent, $came arrived"

through 20k
assert_json "$scratch/link" '.drops.headroom > 0'
((came < sent)) || fail "$sent frames sent, $came arrived"
end_wire
wire_said '[.ports[].lost | del(.dropped_by_link) | .[]] | add == 0'
