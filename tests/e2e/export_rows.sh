#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `export --rows`: the rows are those of `--json streams`, with time, host, port and netns in front; every interval, for
# ports that come and go, until the reader is gone. It listens nowhere.
. "$(dirname "$0")/lib.sh"
need jq ss
lane
before=$(kernel_objects)
ip -n "$rx" link add second type veth peer name second1

# Without a port: a sentence.
refused 'no port is attached' xr export --rows --once
refused 'rx0: not attached' xr export rx0 --rows --once
xr attach rx0 >/dev/null 2>&1
xr attach second >/dev/null 2>&1
replay "$(capture loss_rc_send_v4)"
await_frames "$(sent packets)"
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams | length > 1 and any(.gaps > 0)'

# Once, of all ports: the second has no stream.
xr export --rows --once >"$scratch/rows"
jq -s 'map(del(.time, .host, .port, .netns))' "$scratch/rows" >"$scratch/got"
jq .streams "$scratch/streams.json" >"$scratch/wanted"
diff "$scratch/wanted" "$scratch/got" >"$scratch/diff" || fail "rows and streams: $(head "$scratch/diff")"
jq -s --arg host "$(hostname)" --arg netns "$rx" 'all(.host == $host and .netns == $netns and .port == "rx0")' "$scratch/rows" |
  grep -qx true || fail "origin: $(head -n 1 "$scratch/rows")"
jq -s 'all((.time[0:19] + "Z" | fromdate) as $t | now - $t < 60 and now - $t > -2)' "$scratch/rows" | grep -qx true ||
  fail "time: $(jq .time "$scratch/rows")"
assert_eq "$(xr export rx0 rx0 --rows --once | wc -l)" "$(wc -l <"$scratch/rows")" "a port that is named twice"

# One round each interval, until the reader is gone.
streams=$(wc -l <"$scratch/rows")
{ timeout 20 "$XDP_ROCE" --netns "$rx" export rx0 --rows --interval 200ms 2>"$scratch/err" || echo $? >"$scratch/status"; } |
  head -n $((3 * streams)) >"$scratch/rounds"
[[ ! -e $scratch/status ]] || fail "exit status when the reader goes: $(cat "$scratch/status" "$scratch/err")"
assert_eq "" "$(cat "$scratch/err")" "what it says when the reader goes"
jq -rs 'map(.time) | group_by(.) | length' "$scratch/rounds" | grep -qx 3 || fail "times: $(jq -r .time "$scratch/rounds")"

# A port that goes and comes again, and one that is there the whole time; nothing listens; an interrupt ends it.
ip -n "$rx" link set second up
in_background "$XDP_ROCE" --netns "$rx" export rx0 second --rows --interval 100ms >"$scratch/long" 2>"$scratch/err"
rounds() { (($(wc -l <"$scratch/long") >= $1)); }
wait_for 10 rounds "$streams" || fail "no rows: $(cat "$scratch/err")"
pid=${background[-1]}
ss -Hltnp >"$scratch/listeners"
! grep -q "pid=$pid," "$scratch/listeners" || fail "it listens"
xr detach second >/dev/null
wait_for 10 grep -q 'second: not attached' "$scratch/err" || fail "it does not say that second is gone: $(cat "$scratch/err")"
xr attach second >/dev/null 2>&1
wait_for 10 grep -q 'export second: can be read again' "$scratch/err" || fail "second: $(cat "$scratch/err")"
assert_eq 1 "$(grep -c 'not attached' "$scratch/err")" "how often it says that"
end_background INT
assert_eq 0 "$ended" "exit status after an interrupt"
xr detach rx0 second >/dev/null
wait_for 5 nothing_since "$before" || fail "it left: $(since "$before")"
