#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# capture -j adapter_unsynced: the program asks the driver for the NIC's time of each frame. A veth has none of a frame that no NIC received: such frames
# have the kernel's time and are counted. The program is alone on the hook meanwhile; afterwards the port is as it was. A driver that
# gives XDP no times is refused by name.
. "$(dirname "$0")/traffic_lib.sh"
need jq tshark capinfos
lane
kernel_at_least 6 3 || skip "the kernel gives XDP no times before 6.3"
before=$(kernel_objects)

captures() {
  rm -f "$scratch/capture.json.err"
  in_background endpoint "$scratch/capture.json" --json --netns "$rx" capture rx0 -j adapter_unsynced -w "$scratch/got.pcapng" --class data
  wait_for 15 grep -qs ': begun$' "$scratch/capture.json.err" || fail "capture does not run: $(cat "$scratch/capture.json.err")"
}
ends() {
  end_background INT
  assert_eq 0 "$ended" "exit status of capture ($(cat "$scratch/capture.json.err"))"
}

begun=$(date +%s)
captures
send "${v4[@]}" "${at[@]}" qp 0x11 send size 64 messages 100 rate 1kpps
sleep 0.2
ends
assert_json "$scratch/capture.json" '.frames.written == 100 and .xdp == "native" and
  .nic_times == {"clock": null, "ahead_of_tai_ns": null, "within_ns": null, "without": 100}'
grep -q 'cannot be asked to stamp received frames' "$scratch/capture.json.err" || fail "no note: $(cat "$scratch/capture.json.err")"
capinfos "$scratch/got.pcapng" | grep -q "Description = times of the NIC's clock" || fail "no description of the interface"
tshark -r "$scratch/got.pcapng" -T fields -e frame.time_epoch 2>/dev/null |
  awk -v from="$begun" -v to="$(date +%s)" '$1 < from || $1 > to + 1 { bad = 1 } END { exit bad || NR != 100 }' ||
  fail "times that are not of this run"
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"

# A port that is attached stays so, with its counts; with rules the outcome is a record of its own.
xr attach rx0 >/dev/null 2>&1
xr impair rx0 add roce every 4 drop >/dev/null
captures
xr --json status rx0 >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments[0] | .dispatcher == false and (.features | index("nic_time"))'
send "${v4[@]}" "${at[@]}" qp 0x11 send size 64 messages 100 rate 1kpps
sleep 0.2
ends
assert_json "$scratch/capture.json" '.frames.written == 100 and .nic_times.without == 100'
assert_eq 25 "$(tshark -r "$scratch/got.pcapng" -Y 'frame.comment contains "dropped"' 2>/dev/null | wc -l)" "frames that a rule dropped"
xr --json status rx0 >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments[0] | .state == "attached" and (.features | index("nic_time") | not)'
assert_eq 100 "$(xr --json counters rx0 | jq .frames.rocev2)" "frames counted"
xr detach rx0 >/dev/null

ip -n "$rx" link add other7 type ifb
ip -n "$rx" link set other7 up
refused 'ifb gives XDP no receive times' xr capture other7 -j adapter_unsynced -w "$scratch/none.pcapng"
[[ ! -e $scratch/none.pcapng ]] || fail "a file was made"
misused 'time-stamp-type' xr capture rx0 -j adapter -w "$scratch/none.pcapng"
