#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The live page in a browser, on the loopback of $rx: after traffic its numbers are those of `counters` and `streams`, in narrow and wide windows, dark
# and light. It reports a port that is gone, and shows it again; it ends at once with pages open, and refuses more than 16.
. "$(dirname "$0")/lib.sh"
need jq curl python3 chromium nsenter
lane
ip -n "$rx" link set lo up
address=127.0.0.1:9480

# In $rx, but with the caller's bpffs, which `ip netns exec` would hide.
inside() { nsenter --net="/run/netns/$rx" "$@"; }
serve_page() {
  nsenter --net="/run/netns/$rx" "$XDP_ROCE" watch rx0 --web 2>"$scratch/said" &
  background+=($!)
  wait_for 15 grep -q "note: watch --web: http://$address/" "$scratch/said" || fail "it does not listen: $(cat "$scratch/said")"
}
# event SECONDS: the last event that came in this time, without what the stream has around it.
event() {
  inside curl -sN --max-time "$1" "http://$address/events" >"$scratch/events" || true
  grep '^data: ' "$scratch/events" | tail -n 1 | cut -c 7-
}

misused '--once and --web exclude each other' "$XDP_ROCE" watch rx0 --web --once
misused '--listen needs --web' "$XDP_ROCE" watch rx0 --listen 127.0.0.1:9480
misused 'open to others' "$XDP_ROCE" watch rx0 --web --listen 0.0.0.0:9480
refused 'not attached' inside "$XDP_ROCE" watch rx0 --web

xr attach rx0 --follow >/dev/null
serve_page
replay "$(capture loss2_rc_psnwrap_v4)"
await_frames "$(sent packets)"
xr --json counters rx0 >"$scratch/counters.json"
xr --json streams rx0 >"$scratch/streams.json"

inside curl -s "http://$address/" >"$scratch/page"
! grep -qE '(src|href)="(https?:)?//' "$scratch/page" || fail "the page loads something"
assert_eq 404 "$(inside curl -s -o /dev/null -w '%{http_code}' "http://$address/none")" "another path"
event 4 >"$scratch/event.json"
assert_json "$scratch/event.json" '.ports | length == 1 and .[0].job == null'
jq -S --slurpfile other "$scratch/counters.json" '.ports[0] | with_entries(select(.key as $k | $other[0] | has($k))) | del(.time)' "$scratch/event.json" >"$scratch/live"
jq -S 'del(.time, .run)' "$scratch/counters.json" >"$scratch/counted"
diff -u "$scratch/counted" "$scratch/live" >&2 || fail "the event is not what counters says"
keep inside python3 "$here/watch_web.py" "http://$address/" "$scratch/counters.json" "$scratch/streams.json" ${XR_PICTURES:+"$XR_PICTURES"} ||
  fail "$(cat "$scratch"/last.*)"

# A port that is detached, and attached again.
xr detach rx0 >/dev/null
event 4 >"$scratch/event.json"
assert_json "$scratch/event.json" '.ports[0].lost | test("detached|attached")'
xr attach rx0 --follow --job >/dev/null
event 4 >"$scratch/event.json"
assert_json "$scratch/event.json" '.ports[0] | .lost == null and .frames.total == 0 and .job.ranks == 0 and (.job.sentence | test("no training job"))'

# Sixteen pages and no more; it ends with all of them open.
for _ in {1..16}; do
  in_background nsenter --net="/run/netns/$rx" curl -sN -o /dev/null "http://$address/events"
done
sleep 1 # so that the first to ask is not among the sixteen
full() { inside curl -s --max-time 1 "http://$address/events" | grep -q '16 streams'; }
wait_for 10 full || fail "a 17th stream is served, or refused without a sentence"
server=${background[0]}
began=$SECONDS
kill -INT "$server"
wait "$server" || fail "it ended with $?"
((SECONDS - began <= 8)) || fail "it took $((SECONDS - began)) s to end"
background=("${background[@]:1}")
