#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# More streams than the table can hold: their packets are counted as untracked, and all else is
# correct.
. "$(dirname "$0")/lib.sh"
need jq
lane

xr attach rx0 --streams 16
replay --stream --flows 100 --packets 50
await_frames 5000
xr --json counters rx0 >"$scratch/counters.json"
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/counters.json" ".frames.rocev2 == 5000 and .bytes.total == $(sent bytes)"
assert_json "$scratch/counters.json" '.opcodes[0].packets == 5000'
assert_json "$scratch/streams.json" '.streams | length == 16 and all(.packets == 50 and .gaps == 0)'
# 84 streams of 50 packets each found no room
assert_json "$scratch/counters.json" '.overflow.streams == 84 * 50'
xr counters rx0 >"$scratch/last.out"
grep -qi '4200\|4,200' "$scratch/last.out" || fail "the overflow is not in: $(cat "$scratch/last.out")"
