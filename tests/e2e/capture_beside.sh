#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A capture and a responder share a port that was not attached before: in any order of start and
# end, each sees its frames, and the port is detached with the last of them, unless rules were
# added.
. "$(dirname "$0")/traffic_lib.sh"
need jq tshark
lane

capture_begins() {
  rm -f "$scratch/capture.json.err"
  in_background endpoint "$scratch/capture.json" --json --netns "$rx" capture rx0 -w "$scratch/got.pcapng" --class data
  capturing=${background[-1]}
  wait_for 15 has_feature capture || fail "capture does not run: $(cat "$scratch/capture.json.err")"
  wait_for 15 grep -qs begun "$scratch/capture.json.err" || fail "capture has not begun"
}
has_feature() { xr --json status rx0 2>/dev/null | jq -e --arg f "$1" '.attachments[0].features | index($f)' >/dev/null; }
capture_ends() {
  local status=0
  kill -INT "$capturing"
  wait "$capturing" || status=$?
  assert_eq 0 "$status" "exit status of capture ($(cat "$scratch/capture.json.err"))"
}
is_attached() { [[ $(xr --json status rx0 | jq -r '.attachments[0].state') == attached ]]; }
some_traffic() {
  send --reliable src "$from" dst "$to" write size 3000 messages 20
  assert_sent '.sent.messages == 20'
}
captured() { assert_eq "$1" "$(tshark -r "$scratch/got.pcapng" 2>/dev/null | wc -l)" "frames captured $2"; }

# The capture is there first, and goes first.
capture_begins
respond --address "$to"
some_traffic
capture_ends
captured 60 "while the responder answered"
some_traffic
end_respond
assert_respond '.received.messages == 40'
! is_attached || fail "capture, respond: it stays attached: $(xr status rx0)"

# The responder is there first, and goes first.
respond --address "$to"
capture_begins
some_traffic
end_respond
is_attached || fail "the responder took the port off under the capture"
capture_ends
captured 60 "beside a responder"
! is_attached || fail "respond, capture: it stays attached: $(xr status rx0)"

# One that was killed has no say.
capture_begins
respond --address "$to"
kill -KILL "$capturing"
wait "$capturing" 2>/dev/null || true
end_respond
! is_attached || fail "a killed capture keeps the port attached: $(xr status rx0)"

# Rules make it stay, and that is said.
capture_begins
xr impair rx0 add opcode ack drop >/dev/null
refused 'as long as it runs' xr attach rx0
capture_ends
grep -q 'stays attached' "$scratch/capture.json.err" || fail "it is not said that it stays: $(cat "$scratch/capture.json.err")"
is_attached || fail "the rules are gone"
assert_eq 1 "$(xr --json impair rx0 list | jq '.rules | length')" "rules"
refused 'already attached with another --udp-port' xr capture rx0 -w "$scratch/x" --udp-port 9999
refused 'already attached with another --no-track' xr respond rx0 --address "$to" --no-track
refused 'already attached with another --mode' xr capture rx0 -w "$scratch/x" --mode skb
xr detach rx0 >/dev/null

# What a deleted port left is cleaned.
capture_begins
ip -n "$rx" link del rx0
wait "$capturing" 2>/dev/null || true
assert_eq 0 "$(xr --json status | jq '.attachments | length')" "what is left of a deleted port"
