#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Frames to which the driver lets the program add no metadata: `wire` matches the rules that hold them again. Here the
# frames come to the veth from an XDP program that left no room in front of them. Each is held by the rules that the
# program in the kernel selected for it, as the kernel's counts and a capture at the other end show.
. "$(dirname "$0")/wire_lib.sh"
need python3 tshark clang
lane3
begin_wire

# gen0 - in0 in $left; a program on in0 redirects to left0.
length=118 # of the frames below
ip -n "$left" link add gen0 type veth peer name in0
ip -n "$left" link set gen0 up
ip -n "$left" link set in0 up
ifindex=$(ip -n "$left" -j link show left0 | jq '.[0].ifindex')
clang -O2 -target bpf -idirafter "/usr/include/$(uname -m)-linux-gnu" -DLENGTH=$length "-DIFINDEX=$ifindex" \
  -c "$(dirname "$0")/no_headroom.bpf.c" -o "$scratch/no_headroom.o" || fail "clang"
ip -n "$left" link set dev in0 xdpdrv obj "$scratch/no_headroom.o" sec xdp || fail "no program on in0"

cat >"$scratch/frames.py" <<'P'
# frames.py COUNT FILE: SENDs with PSNs from 0 on, 1 ms apart; FILE gets the time of each.
import socket, struct, sys, time
from ipaddress import ip_address
payload = bytes(60)
bth = lambda psn: struct.pack("!BBHII", 4, 0, 0xFFFF, 5, psn)
def frame(psn):
    udp = struct.pack("!HHHH", 50000, 4791, 8 + 12 + 60 + 4, 0) + bth(psn) + payload + bytes(4)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0,
                     ip_address("192.0.2.1").packed, ip_address("192.0.2.2").packed)
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    return bytes.fromhex("020000000002" "020000000001" "0800") + ip + udp
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
port.bind(("gen0", 0))
with open(sys.argv[2], "w") as times:
    for psn in range(int(sys.argv[1])):
        times.write(f"{psn} {time.time():.6f}\n")
        port.send(frame(psn))
        time.sleep(0.001)
P

# try COUNT: sends that many, and waits until they are at the other end; its delays are in $scratch/delays.
try() {
  local count=$1 file=$scratch/seen.pcap
  rm -f "$file"
  observe_right "$file" udp port 4791
  ip netns exec "$left" python3 "$scratch/frames.py" "$count" "$scratch/times" || fail "frames.py"
  all_there() { [[ $(tshark -r "$file" 2>/dev/null | wc -l) == "$count" ]]; }
  wait_for 10 all_there || fail "$(tshark -r "$file" 2>/dev/null | wc -l) of $count arrived: $(xr --json counters box0 | jq -c .impaired)"
  tshark -r "$file" -T fields -e infiniband.bth.psn -e frame.time_epoch 2>/dev/null | sort -n >"$scratch/arrived"
  join <(sort "$scratch/times") <(sort "$scratch/arrived") | awk '{ print $1, ($3 - $2) * 1000 }' | sort -n >"$scratch/delays"
  assert_eq "$count" "$(wc -l <"$scratch/delays")" "frames at the other end"
  observed
}
# Frames that took from LEAST to MOST ms.
between() { awk -v least="$1" -v most="$2" '$2 >= least && $2 < most' "$scratch/delays" | wc -l; }
kernel() { xr --json counters box0 | jq ".impaired.$1"; }

# Delays are exact from below. On a machine that is busy they may be longer: then once more.
patiently() {
  local tries
  for tries in 1 2 3 4 5; do
    xr impair box0 clear >/dev/null
    ! "$@" || return 0
  done
  fail "$1, $tries times: $(cat "$scratch/why")"
}

# 1. One rule for all: each frame is held.
xr impair box0 add roce delay 50ms >/dev/null
try 100
assert_eq 100 "$(kernel held_without_rules)" "frames without metadata"
assert_eq 100 "$(between 50 1000000)" "frames delayed by 50 ms"

# 2. Every 4th: only these are handed over, and each of them is held.
every_4th() {
  xr impair box0 add roce every 4 delay 50ms >/dev/null
  try 200
  awk '$1 % 4 == 3 && $2 < 50 { exit 1 }' "$scratch/delays" || fail "not delayed: $(cat "$scratch/delays")"
  between 50 1000000 >"$scratch/why"
  (($(<"$scratch/why") == 50))
}
patiently every_4th

# 3. Two rules with their own selections, each frame by one, both or none of them.
two_rules() {
  xr impair box0 add roce every 3 delay 40ms next >/dev/null
  xr impair box0 add roce every 5 delay 100ms >/dev/null
  try 300
  awk '{ n = $1 + 1; want = (n % 3 ? 0 : 40) + (n % 5 ? 0 : 100)
    if ($2 < want || $2 >= want + 39) { print "PSN", $1, "took", $2, "instead of", want; bad = 1 }
    if ($2 < want) early = 1 } END { if (early) print "EARLY"; exit bad }' "$scratch/delays" >"$scratch/why" && return 0
  ! grep -q EARLY "$scratch/why" || fail "two rules: $(cat "$scratch/why")"
  return 1
}
patiently two_rules

# 4. With a link every frame comes: the draws are the kernel's.
xr link box1 delay 1ms >/dev/null
drawn() {
  xr impair box0 add roce probability 30% seed 7 delay 60ms >/dev/null
  try 300
  selected=$(xr --json impair box0 list | jq '[.. | objects | select(has("acted"))][0].acted')
  ((selected > 50 && selected < 130)) || fail "$selected of 300 were selected"
  (($(between 1 1000000) == 300)) || fail "a frame did not pass the link"
  echo "$selected selected, $(between 60 1000000) delayed" >"$scratch/why"
  (($(between 60 1000000) == selected))
}
patiently drawn
xr link box1 off >/dev/null
xr impair box0 clear >/dev/null

# 5. A duplicate cannot be made, and is counted.
xr impair box0 add roce duplicate next >/dev/null
xr impair box0 add roce delay 5ms >/dev/null
try 20
assert_eq 20 "$(kernel not_cloned)" "duplicates that were not made"
assert_eq 0 "$(kernel duplicated)" "duplicates that are counted"
end_wire
wire_said '.first_in.matched_again == .first_in.taken and .first_in.taken == .first_in.left and .first_in.taken >= 610'
wire_said '(.first_lost.unmatched // 0) == 0'
