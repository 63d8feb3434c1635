#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Frames that are held arrive byte for byte and in order, both directions at once: 9,000 bytes in several
# buffers, one and two VLAN tags, short ones; by a rule's delay, and by the link after it.
. "$(dirname "$0")/wire_lib.sh"
need python3
lane3 9000
begin_wire
# 300 frames of five streams in each file: UDP to port 4791 with random bytes after the UDP header.
python3 - "$scratch" <<'END'
import random, struct, sys
random.seed(1)
def frame(stream, size, tags):
    payload = random.randbytes(size)
    udp = struct.pack(">HHHH", 49152 + stream, 4791, 8 + size, 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
    macs = bytes.fromhex("020000000002020000000001")
    return macs + b"".join(struct.pack(">HH", *tag) for tag in tags) + b"\x08\x00" + ip + udp
for name, size, tags in (("long", 8972, ()), ("tagged", 8972, ((0x8100, 3 << 13 | 7),)),
                         ("twice", 1000, ((0x88a8, 8), (0x8100, 4095))), ("short", 18, ())):
    with open(f"{sys.argv[1]}/{name}.pcap", "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(300):
            data = frame(i % 5, size, tags)
            out.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)
END
assert_eq 9018 "$(($(frames list "$scratch/tagged.pcap" | sed -n 1p | wc -c) / 2))" "bytes of a long frame with a tag"

# all_of SIDE: sends the four files, one after the other.
all_of() {
  local name
  for name in long tagged twice short; do
    ip netns exec "$1" "$XR_REPLAY" --ifname "$2" --rate 1500 "$scratch/$name.pcap" >"$scratch/sent_$2" || return 1
  done
}
frames_in() { for name in long tagged twice short; do frames list "$scratch/$name.pcap"; done; }
watch_right
watch_left
# both_ways WHAT
both_ways() {
  all_of "$left" left0 &
  local one=$!
  all_of "$right" right0 || fail "replay from the right"
  wait "$one" || fail "replay from the left"
  seen_right "$scratch/right.pcap"
  seen_left "$scratch/left.pcap"
  for side in right left; do
    cmp -s <(frames_in) <(frames list "$scratch/$side.pcap") ||
      fail "$1: not the frames that were sent to the $side: $(diff <(frames_in) <(frames list "$scratch/$side.pcap") | cut -c -160 | sed -n 1,6p)"
  done
}
xr impair box0 add delay 3ms >/dev/null
xr impair box1 add delay 2ms >/dev/null
both_ways "held by rules"
xr link box0 rate 10gbit delay 2ms buffer 20M >/dev/null
xr link box1 rate 10gbit delay 1ms buffer 20M >/dev/null
both_ways "held by rules and links"
xr impair box0 clear >/dev/null
xr impair box1 clear >/dev/null
both_ways "held by links"
end_wire
wire_said '.first_in.taken > 3600 and .first_in.taken == .first_in.left and ([.first_lost // {} | .[]] | add // 0) == 0'
wire_said '.second_in.taken > 3600 and .second_in.taken == .second_in.left and ([.second_lost // {} | .[]] | add // 0) == 0'
