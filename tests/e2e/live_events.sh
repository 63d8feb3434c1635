#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Events are shown as they happen, as many as the streams count; SIGINT ends the command cleanly.
. "$(dirname "$0")/lib.sh"
need jq
lane
file=$(capture loss_rc_send_v4)

# The last background command waits for events.
waits() { [[ $(cat "/proc/${background[-1]}/wchan") == *poll* ]]; }
await_reader() { wait_for 15 waits || fail "it does not wait for events: $(cat "/proc/${background[-1]}/wchan")"; }

xr attach rx0
in_background "$XDP_ROCE" --netns "$rx" --json events rx0 >"$scratch/events" 2>"$scratch/last.err"
await_reader
# slow enough for the rate limit of a stream, which is 20 events a second
replay "$file" --rate 900
same_report "$file"
# It reads what is in the ring before it ends.
end_background INT
assert_eq 0 "$ended" "exit status of events: $(cat "$scratch/last.err")"

told() {
  jq -s "[.[] | select(.type == \"$1\")] | length" "$scratch/events"
}
streams() {
  jq "[.streams[].$1] | add" "$scratch/streams.json"
}
jq -c . "$scratch/events" >/dev/null || fail "not one document a line"
jq -sc 'group_by(.type) | map({(.[0].type): length}) | add' "$scratch/events"
assert_json "$scratch/counters.json" '.overflow.events == 0'
assert_eq "$(streams gaps)" "$(told gap)" "gap events"
assert_eq "$(streams rewinds)" "$(told rewind)" "rewind events"
assert_eq "$(jq .aeth.nak_psn_sequence_error "$scratch/counters.json")" "$(told nak)" "NAK events"
assert_eq "$(jq '.streams | length' "$scratch/streams.json")" "$(told stream_new)" "new streams"
assert_eq "$(streams skipped)" \
  "$(jq -s '[.[] | select(.type == "gap") | .skipped] | add' "$scratch/events")" "PSNs skipped"

# --count ends by itself
in_background "$XDP_ROCE" --netns "$rx" events rx0 --count 2 >"$scratch/text" 2>&1
await_reader
replay --stream --flows 3 --packets 4 --first-qp 0x9000
wait "${background[-1]}" || fail "events --count 2: $(cat "$scratch/text")"
unset 'background[-1]'
