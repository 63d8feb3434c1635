#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Both directions at once, with MTU 9000 and VLAN tags, with a thread a direction and with one for both;
# rules change all the while. Every frame is accounted for, and none is lost that the counts do not show.
# Then frames are held for longer than the memory lasts.
. "$(dirname "$0")/wire_lib.sh"
need taskset
lane3 9000

# load SECONDS: 2,000 frames a second each way; from the left in several chunks, from the right with a tag.
load() {
  "$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" qp 5 send size 4096 pmtu 4096 \
    rate 2kpps --for "$1" >"$scratch/from_left" 2>"$scratch/left.err" &
  sending_left=$!
  "$XDP_ROCE" --netns "$right" --json send right0 dst 192.0.2.1 dst-mac "$left_mac" qp 6 send size 512 vlan 7/3 \
    rate 2kpps --for "$1" >"$scratch/from_right" 2>"$scratch/right.err" &
  sending_right=$!
}
end_load() {
  wait "$sending_left" || fail "send: $(cat "$scratch/left.err")"
  wait "$sending_right" || fail "send: $(cat "$scratch/right.err")"
}

# all_accounted PORT REPORT: what `send` handed to its port was taken over, or is counted as lost before.
all_accounted() {
  local sent
  sent=$(jq '.sent.packets - (.overflow | .not_sent + .tx_invalid + .tx_dropped)' "$2")
  wire_said ".ports[$1] | .in.taken + .lost.no_buffer + .lost.ring_full + .lost.refused == $sent"
  wire_said ".ports[$1].lost | [.dropped_by_link, .dropped_by_rules, .no_memory, .tx_dropped, .dropped_at_end] | add == 0"
}

in_its_class() { xr --json link box0 show | jq -e '.classes[] | select(.class == 3) | .frames_in > 5000' >/dev/null; }

# both_ways THREADS [PREFIX...]: wire runs with that number of threads.
both_ways() {
  local threads=$1 changes
  begin_wire
  ((threads > 1)) || {
    end_wire
    "${@:2}" "$XDP_ROCE" --netns "$box" --json wire box0 box1 >"$scratch/wire.out" 2>"$scratch/wire.err" &
    wire_pid=$!
    background+=("$wire_pid")
    wait_for 10 wire_runs || fail "wire does not run: $(cat "$scratch/wire.err")"
  }
  xr impair box0 add delay 2ms >/dev/null
  xr impair box1 add delay 3ms >/dev/null
  xr link box0 rate 1gbit delay 1ms buffer 4M >/dev/null
  load 6s
  changes=0
  while kill -0 "$sending_left" 2>/dev/null; do
    xr impair box1 add name change roce delay 1ms next >/dev/null
    xr impair box1 del change >/dev/null
    changes=$((changes + 2))
  done
  end_load
  ((changes >= 20)) || fail "only $changes changes"
  wait_for 10 in_its_class || fail "the tag's class: $(xr --json link box0 show)"
  end_wire
  wire_said ".wire.threads == $threads"
  wire_said '.ports[0].in.taken > 5000 and .ports[0].in.taken == .ports[0].in.left and .ports[0].in.holding == 0'
  wire_said '.ports[1].in.taken > 5000 and .ports[1].in.taken == .ports[1].in.left and .ports[1].in.holding == 0'
  # On a busy machine the process may be kept from its rings for a while: lost, and counted.
  all_accounted 0 "$scratch/from_left"
  all_accounted 1 "$scratch/from_right"
  wire_said '.ports[0].in.taken_bytes / .ports[0].in.taken > 4000' # 4,096 bytes of payload
}
if (($(nproc) > 1)); then
  both_ways 2
fi
both_ways 1 taskset -c 0

# Frames that are held for longer than the memory lasts: what it has no room for is counted; what it holds is
# lost, and counted, when the process ends.
begin_wire
before=$(xr --json counters box0 | jq '.impaired.held // 0')
xr impair box0 add delay 60s >/dev/null
"$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" qp 5 send size 4096 pmtu 4096 \
  messages 20000 rate 8kpps >"$scratch/from_left" 2>"$scratch/left.err" || fail "send: $(cat "$scratch/left.err")"
all_handed_over() { [[ $(xr --json counters box0 | jq .impaired.held) == "$((before + 20000))" ]]; }
wait_for 10 all_handed_over || fail "handed over: $(xr --json counters box0 | jq -c .impaired)"
end_wire
wire_said '.ports[0].in.memory_free == 0 and .ports[0].in.left == 0'
wire_said '.ports[0].lost | .no_buffer + .refused > 0'
wire_said '.ports[0].in.taken == .ports[0].lost.dropped_at_end'
wire_said '(.ports[0].lost | .dropped_at_end + .no_buffer + .refused) == 20000'
