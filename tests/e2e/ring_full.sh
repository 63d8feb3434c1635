#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# More unread events than the ring holds: their loss is counted, and the streams stay exact.
. "$(dirname "$0")/lib.sh"
need jq
lane

# 4000 streams, each new once and with 24 gaps, of which it may report 20 a second.
xr attach rx0
replay --stream --flows 4000 --packets 50 --skip-every 2 --payload 64
await_frames 200000
xr --json counters rx0 >"$scratch/counters.json"
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams | length == 4000'
assert_json "$scratch/streams.json" '[.streams[] | .packets == 50 and .gaps == 24 and
  .skipped == 24 and .missing == 24 and .jumps == 24 and .rewinds == 0] | all'
assert_json "$scratch/counters.json" '.overflow.events > 50000 and .overflow.streams == 0'
xr counters rx0 >"$scratch/last.out"
grep -q 'events lost' "$scratch/last.out" || fail "the loss is not in: $(cat "$scratch/last.out")"

# Each event is in the ring, was lost, or was kept back.
timeout --signal=INT 2 "$XDP_ROCE" --netns "$rx" --json events rx0 --backlog >"$scratch/events" || true
there=$(wc -l <"$scratch/events")
assert_json "$scratch/counters.json" \
  ".overflow.events + .overflow.events_limited + $there == 4000 * 25"
echo "in the ring $there, $(jq -c .overflow "$scratch/counters.json")"

# Read, it has room again.
replay --stream --flows 10 --packets 1 --first-qp 0x8000 --payload 64
await_frames 200010
lost() { xr --json counters rx0 | jq .overflow.events; }
assert_eq "$(jq .overflow.events "$scratch/counters.json")" "$(lost)" "events lost after reading"
