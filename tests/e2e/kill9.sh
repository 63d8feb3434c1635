#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# After kill -9 of attach at any time, detach cleans up; a killed reader loses no counter.
. "$(dirname "$0")/lib.sh"
need jq bpftool
lane
before=$(kernel_objects)

start=$(date +%s%N)
xr attach rx0 >/dev/null
took=$((($(date +%s%N) - start) / 1000))
xr detach rx0 >/dev/null

killed=0
for round in {1..40}; do
  # not the function xr: in the background that is a shell, and the kill would miss its child
  "$XDP_ROCE" --netns "$rx" attach rx0 >/dev/null 2>&1 &
  pid=$!
  # anywhere in the time an attach takes, a little more
  sleep "$(awk -v us="$took" -v r="$round" 'BEGIN { printf "%.6f", us * 1.1 * r / 40 / 1e6 }')"
  if kill -9 "$pid" 2>/dev/null; then killed=$((killed + 1)); fi
  wait "$pid" 2>/dev/null || true
  if ((round % 2)); then
    # what is there can be taken over or cleaned, and then works
    keep xr detach rx0 || true
    keep xr attach rx0 || fail "round $round: attach after kill: $(cat "$scratch/last.err")"
    replay --stream --packets 10
    await_frames 10
  fi
  keep xr detach rx0 || true
  [[ $(ip -n "$rx" link show rx0) != *prog/xdp* ]] || fail "round $round: a program is left on the hook"
done
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"

xr attach rx0
"$XDP_ROCE" --netns "$rx" counters rx0 --interval 0.1 >/dev/null 2>&1 &
reader=$!
replay --stream --packets 5000
{
  kill -9 "$reader"
  wait "$reader" || true
} 2>/dev/null
await_frames 5000
xr detach rx0
echo "killed $killed of 40 attaches, each of about $((took / 1000)) ms"
