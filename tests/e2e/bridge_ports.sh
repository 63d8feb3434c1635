#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Disturbances of a bridge: a link goes down and up, a port is deleted, the command is killed or
# ends, and a peer that cannot receive frames is reported and fixed.
. "$(dirname "$0")/bridge_lib.sh"
need python3 ethtool bpftool
lane3
everything=$(kernel_objects)
file=$(capture rc_send_cm_v4)

arrives() {
  replay_left "$file"
  seen_right "$scratch/right.pcap"
  same_frames "$file" "$scratch/right.pcap" "$1"
}
link_of() { xr --json status | jq -r ".attachments[] | select(.interface == \"$1\") | .link"; }
link_is() { [[ $(link_of "$1") == "$2" ]]; }
attached() { [[ $(xr --json status "$1" | jq -r '.attachments[0].state') == attached ]]; }

bridge
watch_right
arrives "at first"

# Down: status reports it, the other stays, and counts what cannot be forwarded.
ip -n "$box" link set box1 down
wait_for 5 link_is box1 down || fail "status does not tell that box1 is down: $(xr --json status)"
if ! attached box0 || ! attached box1; then fail "a port is no longer attached: $(xr --json status)"; fi
replay_left "$file"
await_frames $((2 * $(sent packets) + 1)) box0
ip -n "$box" link set box1 up
wait_for 5 carrier3 || fail "no carrier"
link_is box1 up || fail "status does not tell that box1 is up: $(xr --json status)"
arrives "up again"

# Deleted.
observed
ip -n "$box" link del box1
keep xr --json status || fail "status: $(cat "$scratch/last.err")"
assert_json "$scratch/last.out" '.attachments | any(.interface == "box0" and .state == "attached" and .bridged_with == "(gone)")'
replay_left "$file"
xr --json counters box0 >"$scratch/counters.json" || fail "counters of the port that is left"
refused box1 xr counters box1
keep xr detach box0 || fail "detach: $(cat "$scratch/last.err")"
wait_for 5 nothing_since "$everything" ||
  fail "left behind: $(since "$everything")"

# --foreground: killed it leaves the bridge, asked to end it takes it away.
wire3 1500 box1 "$right" right0 "$right_mac" 192.0.2.2/24
wait_for 5 carrier3 || fail "no carrier"
watch_right
bridged() { [[ $(xr --json status | jq '[.attachments[] | select(.state == "attached")] | length') == 2 ]]; }
"$XDP_ROCE" --netns "$box" bridge box0 box1 --foreground >"$scratch/last.out" 2>&1 &
pid=$!
wait_for 10 bridged || fail "no bridge: $(cat "$scratch/last.out")"
arrives "in the foreground"
{
  kill -9 "$pid"
  wait "$pid" || true
} 2>/dev/null
arrives "after kill -9"
unbridge
in_background "$XDP_ROCE" --netns "$box" bridge box0 box1 --foreground >"$scratch/last.out" 2>&1
wait_for 10 bridged || fail "no bridge: $(cat "$scratch/last.out")"
arrives "in the foreground again"
# shellcheck disable=SC2154 # end_background's
{ end_background TERM; assert_eq 0 "$ended" "exit status after SIGTERM"; }
keep xr --json status
assert_json "$scratch/last.out" '.attachments | length == 0'
observed

# A peer without GRO takes nothing: the bridge says so, and mends it if asked.
ip netns exec "$right" ethtool -K right0 gro off
bridge
grep -q 'right0.*neither GRO nor' "$scratch/last.err" || fail "not a word of GRO: $(cat "$scratch/last.err")"
observe_right "$scratch/lost.pcap"
replay_left "$file"
await_frames "$(sent packets)" box0
sleep 0.1
observed
assert_eq 0 "$(count_frames "$scratch/lost.pcap")" "frames without GRO"
bridge --fix # the same bridge, with its counts
grep -q 'fixed.*right0' "$scratch/last.err" || fail "nothing was fixed: $(cat "$scratch/last.err")"
watch_right
arrives "fixed"
observed
unbridge
wait_for 5 nothing_since "$everything" ||
  fail "left behind: $(since "$everything")"
