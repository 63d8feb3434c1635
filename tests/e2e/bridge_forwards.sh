#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bridge forwards every frame unchanged and counts it like attach: both directions, RoCE and
# others, MTU 1500 and 4200, native and skb mode.
. "$(dirname "$0")/bridge_lib.sh"
need python3
lane3 1500
everything=$(kernel_objects)

# forwards CAPTURE...: through a new bridge, there and back.
forwards() {
  local name file
  for name; do
    file=$(capture "$name")
    replay_left "$file"
    same_counters "$file" box0
    seen_right "$scratch/right.pcap"
    same_frames "$file" "$scratch/right.pcap" "$name to the right"
    replay_right "$file"
    await_frames "$(sent packets)" box1
    seen_left "$scratch/left.pcap"
    same_frames "$file" "$scratch/left.pcap" "$name to the left"
    unbridge
    bridge "${options[@]}"
  done
}

options=()
bridge
xr --json status >"$scratch/status.json"
assert_json "$scratch/status.json" '[.attachments[] | [.interface, .bridged_with, .mode, .link]] | sort ==
  [["box0", "box1", "native", "up"], ["box1", "box0", "native", "up"]]'
watch_right
watch_left
forwards rc_send_cm_v4 rc_send_4096_v6 synthetic_every_opcode mckey_v4

# Both ways in turn, as it was: the same streams, with what one direction shows of the other.
converses() {
  local file
  file=$(capture "$1")
  frames split "$file" "$2" "$scratch/one.pcap" "$scratch/two.pcap"
  converse "$file" "$2"
  same_counters "$scratch/one.pcap" box0
  same_counters "$scratch/two.pcap" box1
  "$XDP_ROCE" --json analyze "$file" >"$scratch/capture.json" 2>/dev/null
  both_streams >"$scratch/streams.json"
  same_comparable "$scratch/capture.json" "$scratch/streams.json" "$1 and streams"
  seen_right "$scratch/right.pcap"
  seen_left "$scratch/left.pcap"
  same_frames "$scratch/one.pcap" "$scratch/right.pcap" "$1, one way"
  same_frames "$scratch/two.pcap" "$scratch/left.pcap" "$1, the other way"
  unbridge
  bridge
}
converses rc_send_cm_v4 10.77.0.1
converses rc_atomic_faa_v6 fd77::1
unbridge
options=(--mode skb)
bridge --mode skb
forwards rc_send_cm_v4
unbridge
observed
wait_for 5 nothing_since "$everything" ||
  fail "left behind: $(since "$everything")"

# all_mtu BYTES: of all four ends.
all_mtu() {
  for port in box0 box1; do ip -n "$box" link set "$port" mtu "$1"; done
  ip -n "$left" link set left0 mtu "$1"
  ip -n "$right" link set right0 mtu "$1"
}
all_mtu 4200
watch_right
watch_left
options=()
bridge
if kernel_at_least 6 3; then
  [[ ! -s $scratch/last.err ]] || fail "the bridge complains: $(cat "$scratch/last.err")"
  forwards m4200_rc_read_65536_v4 m4200_rc_pmtu2048_v6
else
  grep -q 'kernels before 6.3 cannot forward those' "$scratch/last.err" || fail "the bridge does not say what is lost: $(cat "$scratch/last.err")"
  unbridge
  all_mtu 1500
  bridge
fi

# Tags, which the kernel likes to keep beside a frame.
"$XR_REPLAY" "$(capture rc_send_4096_v6)" --vlan 7 --write "$scratch/tagged.pcap" >/dev/null
replay_left "$scratch/tagged.pcap"
seen_right "$scratch/right.pcap"
same_frames "$scratch/tagged.pcap" "$scratch/right.pcap" "tagged frames"

# Two hosts that know nothing of each other: ARP and TCP.
in_background ip netns exec "$right" python3 -c 'import socket
s = socket.create_server(("192.0.2.2", 7))
c = s.accept()[0]
c.sendall(c.recv(100, socket.MSG_WAITALL) * 1000)'
answer() {
  ip netns exec "$left" python3 -c 'import socket
c = socket.create_connection(("192.0.2.2", 7), 2)
c.sendall(b"x" * 100)
print(sum(len(part) for part in iter(lambda: c.recv(65536), b"")))' 2>"$scratch/last.err"
}
kept_answer() { answer >"$scratch/answer"; }
wait_for 10 kept_answer || fail "no answer over TCP: $(cat "$scratch/last.err")" # it may not listen yet
assert_eq 100000 "$(cat "$scratch/answer")" "bytes over TCP"
unbridge
observed
