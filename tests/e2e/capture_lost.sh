#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Frames that a capture loses are counted exactly; a full disk is an error and leaves a readable
# file; a killed capture leaves nothing that blocks the next; and the host receives its frames in
# all cases.
. "$(dirname "$0")/capture_lib.sh"
need jq python3 tshark editcap capinfos unshare
lane
before=$(kernel_objects)

# A reader that sleeps: the ring is full soon, and then frames are lost.
xr attach rx0 >/dev/null
begin_capture rx0 -w "$scratch/slow.pcapng" --buffer 1MiB
kill -STOP "$capturing"
replay --stream --packets 20000 --flows 2 --payload 1024
await_frames 40000
kill -CONT "$capturing"
has_room() { (($(stat -c %s "$scratch/slow.pcapng") > 524288)); }
wait_for 30 has_room || fail "the reader does not wake up"
replay --stream --packets 500 --first-qp 0x300 --payload 64
await_frames 40500
end_capture INT
ended_well
assert_capture '.overflow.frames > 30000 and .frames.seen == 40500 and .frames.taken == 40500 and .overflow.outcomes == 0
  and .frames.written + .overflow.frames == 40500'
assert_eq "$(jq .frames.written "$scratch/capture.json")" "$(comments "$scratch/slow.pcapng" | wc -l)" "frames in the file"
# Awake again it loses none; each comment is of its own frame.
assert_eq 500 "$(tshark -r "$scratch/slow.pcapng" -Y 'infiniband.bth.destqp == 0x300' 2>/dev/null | wc -l)" "frames after it woke up"
capinfos "$scratch/slow.pcapng" | grep -q "Number of stat entries = 1" || fail "no statistics in the file"
echo "lost $(jq .overflow.frames "$scratch/capture.json") of 40500"

# No room on the disk.
mkdir "$scratch/full"
status=0
unshare -m bash -c 'mount -t tmpfs -o size=256k none "$1/full" && { "$2" --netns "$3" --json capture rx0 -w "$1/full/x.pcapng" \
    >"$1/full.json" 2>"$1/full.err"; status=$?; cp "$1/full/x.pcapng" "$1/cut.pcapng"; exit $status; }' \
  - "$scratch" "$XDP_ROCE" "$rx" &
capturing=$!
background+=("$capturing")
await_capture rx0 "$scratch/full.err"
replay --stream --packets 1000 --payload 1024 --first-qp 0x400
wait "$capturing" || status=$?
unset 'background[-1]'
assert_eq 1 "$status" "exit status with a full disk"
grep -q '^xdp-roce: capture rx0: cannot write .*No space left' "$scratch/full.err" || fail "$(cat "$scratch/full.err")"
"$XDP_ROCE" --json analyze "$scratch/cut.pcapng" >"$scratch/analyzed.json"
assert_json "$scratch/analyzed.json" '.source.truncated == false and .frames.total > 100 and .frames.total < 1000'
# The report counts the frames in the file, and those that are not.
assert_json "$scratch/full.json" ".frames.written == $(capinfos -T -r -M -c "$scratch/cut.pcapng" | cut -f 2) and .frames.unwritten > 0
  and .frames.written + .frames.unwritten + .overflow.frames + .overflow.unread == .frames.taken"
tshark -r "$scratch/cut.pcapng" >/dev/null 2>"$scratch/tshark.err"
! grep -qi 'cut short' "$scratch/tshark.err" || fail "$(cat "$scratch/tshark.err")"
status_of() { xr --json status rx0 | jq -c '.attachments[0].features'; }
assert_eq '[]' "$(status_of)" "features after the capture"

# One at a time; killed, it is in nobody's way.
begin_capture rx0 -w "$scratch/killed.pcapng"
refused 'another xdp-roce captures there' xr capture rx0 -w "$scratch/second.pcapng"
kill -9 "$capturing"
wait "$capturing" 2>/dev/null || true
xr impair rx0 add dest-qp 0x500 every 10 drop >/dev/null
count=$(xr --json counters rx0 | jq .frames.total)
begin_capture rx0 -w "$scratch/again.pcapng"
replay --stream --packets 1000 --payload 256 --first-qp 0x500
await_frames $((count + 1000))
end_capture INT
ended_well
assert_capture '.frames.written == 1000 and .frames.seen == 1000 and .overflow.frames == 0'
assert_eq 100 "$(count_comments "$scratch/again.pcapng" 'rule 1: dropped; gone')" "frames dropped"
assert_eq 900 "$(count_comments "$scratch/again.pcapng" 'rule 1: no action; to the host')" "frames let go"
xr impair rx0 clear >/dev/null
assert_eq '[]' "$(status_of)" "features in the end"

# The host's own counter: what is captured is received.
ip -n "$tx" address add 192.0.2.1/24 dev tx0
ip -n "$rx" address add 192.0.2.2/24 dev rx0
received() { ip netns exec "$rx" awk '/^Ip: [0-9]/ { print $4 }' /proc/net/snmp; }
talk() {
  ip netns exec "$tx" python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(500): s.sendto(b"x" * 100, ("192.0.2.2", 4791))'
}
begin_capture rx0 -w "$scratch/host.pcapng"
start=$(received)
talk
got_all() { (($(received) - start == 500)); }
wait_for 5 got_all || fail "the host received $(($(received) - start)) of 500"

# Taken off meanwhile, it ends and says so.
xr detach rx0 >/dev/null
end_capture
assert_eq 1 "$ended" "exit status when the port was detached"
assert_sentence 'it was detached' < <(grep -v '^note' "$scratch/capture.err")
captured "$scratch/host.pcapng" >"$scratch/got"
assert_eq 500 "$(count_comments "$scratch/host.pcapng" 'malformed; to the host')" "datagrams in the file"
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"
