#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The program ends without a message when the reader of its output exits.
. "$(dirname "$0")/lib.sh"
need jq
file=$(capture rc_write_q4_v4)

for how in '' --json; do
  # shellcheck disable=SC2086 # nothing or one word
  { timeout 120 "$XDP_ROCE" $how analyze "$file" 2>"$scratch/last.err" || true; } | head -n 1 >/dev/null
  assert_eq "" "$(cat "$scratch/last.err")" "standard error"
done

# unread COMMAND...: its reader takes one line and goes; the command ends soon after, and says nothing.
unread() {
  rm -f "$scratch/ended"
  {
    timeout 120 "$XDP_ROCE" --netns "$rx" "$@" 2>"$scratch/last.err" || true
    echo >"$scratch/ended"
  } | head -n 1 >/dev/null &
  background+=($!)
}
ended_quietly() {
  wait_for 5 test -e "$scratch/ended" || fail "$1 goes on without a reader"
  assert_eq "" "$(cat "$scratch/last.err")" "standard error of $1"
}

lane
xr attach rx0
unread --json counters rx0 --interval 0.1
ended_quietly counters

unread --json events rx0
for round in {1..40}; do
  replay --stream --packets 20 --skip-every 2 --first-qp $((4096 + round))
  sleep 0.05
  [[ ! -e $scratch/ended ]] || break
done
ended_quietly events
