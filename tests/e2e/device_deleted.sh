#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The interface is deleted while attached: each command reports it, detach cleans up, and a new
# interface of that name starts from zero.
. "$(dirname "$0")/lib.sh"
need jq bpftool
lane
before=$(kernel_objects)

xr attach rx0
replay --stream --packets 100
await_frames 100
ip -n "$rx" link del rx0
refused 'rx0' xr counters rx0
refused 'rx0' xr streams rx0
refused 'rx0' timeout 120 "$XDP_ROCE" --netns "$rx" events rx0 --count 1
keep xr status || fail "status: $(cat "$scratch/last.err")"
keep xr detach rx0 || fail "detach: $(cat "$scratch/last.err")"
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"

wire 1500 1
xr attach rx0
replay --stream --packets 10
await_frames 10

# Deleted and made again without a detach between: the stale attachment gives way.
ip -n "$rx" link del rx0
wire 1500 1
keep xr counters rx0 && fail "counters of an attachment that is gone: $(cat "$scratch/last.out")"
assert_sentence 'rx0' <"$scratch/last.err"
keep xr attach rx0 || fail "attach over a stale pin: $(cat "$scratch/last.err")"
replay --stream --packets 20
await_frames 20
xr detach rx0
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"
