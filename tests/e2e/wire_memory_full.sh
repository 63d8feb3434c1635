#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Little memory and much delay: the frames that find no buffer are lost and counted, all others arrive, and
# the sums agree with the kernel's counters of the ends. What rules need more memory for is refused.
. "$(dirname "$0")/wire_lib.sh"
lane3
begin_wire --memory 40M # 9,765 buffers of 2,048 bytes each way, of which 4,096 and more are in rings
xr impair box0 add roce delay 4s >/dev/null

sent=$(sent_by_left) got=$(got_by_right)
ip netns exec "$left" "$XR_REPLAY" --ifname left0 --stream --flows 4 --packets 4000 --payload 64 --rate 6000 >"$scratch/sent" &
background+=($!)
has() { xr --json link box0 show >"$scratch/link" && jq -e "$1" "$scratch/link" >/dev/null; }
wait_for 20 has '.in.memory_free == 0 and .in.holding > 3000 and .in.taken == .in.left + .in.holding' ||
  fail "memory is not full: $(jq -c '.in, .lost' "$scratch/link")"
wait "${background[-1]}" || fail "replay"
wait_for 30 has '.in.holding == 0 and .in.left > 3000' || fail "frames stay: $(jq -c .in "$scratch/link")"
sent=$(($(sent_by_left) - sent))
assert_eq 16000 "$sent" "frames that left"
lost() { jq ".lost | [$1] | map(. // 0) | add" "$scratch/link"; }
((sent == $(lost .no_buffer,.ring_full,.refused) + $(jq .in.taken "$scratch/link"))) ||
  fail "$sent frames were sent: $(jq -c '.in, .lost' "$scratch/link")"
(($(lost .no_buffer) > 1000)) || fail "no frame was without a buffer: $(jq -c .lost "$scratch/link")"
all_arrived() { (($(got_by_right) - got == sent - $(lost .no_buffer,.ring_full,.refused))); }
wait_for 10 all_arrived ||
  fail "$(($(got_by_right) - got)) of $sent frames arrived: $(jq -c '.in, .lost' "$scratch/link")"
assert_eq "$(lost .no_buffer,.ring_full,.refused)" "$(jq '[.lost[]] | add' "$scratch/link")" "all losses"

# It goes on when there is room again.
got=$(got_by_right)
xr impair box0 clear >/dev/null
xr impair box0 add roce delay 1ms >/dev/null
replay_left --stream --packets 500 --payload 64 --rate 6000
more_arrived() { (($(got_by_right) - got == 500)); }
wait_for 10 more_arrived || fail "$(($(got_by_right) - got)) of 500 frames arrived: $(xr --json link box0 show)"
end_wire
wire_said ".first_lost.no_buffer == $(lost .no_buffer) and .first_in.holding == 0"

xr bridge box0 box1 >/dev/null 2>&1 || fail "bridge"
xr impair box0 add roce delay 4s >/dev/null
refused 'hold up to' xr wire box0 box1 --memory 40M
