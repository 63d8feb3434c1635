#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two CPUs update the same streams at the same time: no count is lost and no tracker is corrupted.
. "$(dirname "$0")/lib.sh"
need jq
(($(nproc) > 1)) || skip "needs two CPUs"
lane 1500 2

# share FLOWS PACKETS TURN: every PSN goes out exactly once, from whichever CPU comes first. So each
# is the next one, jumps ahead, or fills a hole, and in the end nothing is missing. Only what is
# overtaken by the stream's first packet was never expected: that many count as duplicates.
# Repeated if a CPU was interrupted while it added a stream: the other one gives up after a while, and counts that.
share() {
  local flows=$1 packets=$2 turn=$3 all=$(($1 * $2))
  local try
  for try in 1 2 3; do
    ((try == 1)) || xr detach rx0
    xr attach rx0
    replay --stream --cpus 0,1 --flows "$flows" --packets "$packets" --turn "$turn" --payload 256
    assert_eq "$all" "$(sent packets)" "sent"
    await_frames "$all"
    xr --json counters rx0 >"$scratch/counters.json"
    xr --json streams rx0 >"$scratch/streams.json"
    if jq -e ".overflow.streams == 0" "$scratch/streams.json" >/dev/null; then break; fi
  done
  assert_json "$scratch/counters.json" ".frames.rocev2 == $all and .bytes.total == $(sent bytes)"
  assert_json "$scratch/counters.json" ".opcodes[] | .name == \"RC_SEND_MIDDLE\" and .packets == $all"
  assert_json "$scratch/streams.json" ".streams | length == $flows"
  assert_json "$scratch/streams.json" "[.streams[].packets] | all(. == $packets)"
  assert_json "$scratch/streams.json" "[.streams[].bytes] | all(. * $flows == $(sent bytes))"
  assert_json "$scratch/streams.json" "[.streams[].next_psn] | all(. == $packets)"
  assert_json "$scratch/streams.json" '[.streams[] | .missing == .skipped - .filled] | all'
  assert_json "$scratch/streams.json" '[.streams[] | .holes_forgotten > 0 or
    (.missing == 0 and .duplicates == .first_psn)] | all'
  jq -c '[.streams[] | {gaps, filled, jumps, holes_forgotten}] | "first of \(length): \(.[0])"' \
    "$scratch/streams.json"
  xr detach rx0
}

share 1 400000 1
share 1 400000 64
share 8 50000 8
