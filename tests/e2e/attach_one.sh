#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two ports attached with --one count as one: the directions of a connection, one on each, as in a capture of both.
. "$(dirname "$0")/bridge_lib.sh"
need jq python3
lane3
before=$(kernel_objects)
file=$(capture rc_send_imm_v4)

# What each host sent, from the capture of both: by the source address of IPv4.
python3 - "$file" "$scratch" <<'END'
import gzip
import struct
import sys
data = (gzip.open if sys.argv[1].endswith("gz") else open)(sys.argv[1], "rb").read()
assert data[:4] == b"\xd4\xc3\xb2\xa1"
sides, at = {}, 24
while at < len(data):
    size = struct.unpack_from("<I", data, at + 8)[0]
    frame = data[at + 16:at + 16 + size]
    source = frame[26:30] if frame[12:14] == b"\x08\x00" else b""
    sides.setdefault(source, []).append(data[at:at + 16 + size])
    at += 16 + size
hosts = sorted((source for source in sides if source), key=lambda source: -len(sides[source]))[:2]
for name, picked in (("left", lambda s: s != hosts[1]), ("right", lambda s: s == hosts[1])):
    with open(f"{sys.argv[2]}/{name}.pcap", "wb") as out:
        out.write(data[:24])
        for source, frames in sides.items():
            if picked(source):
                out.write(b"".join(frames))
END
xr attach box0 box1 --one >/dev/null 2>&1 || fail "attach --one"
ip netns exec "$left" "$XR_REPLAY" --ifname left0 "$scratch/left.pcap" >/dev/null
ip netns exec "$right" "$XR_REPLAY" --ifname right0 "$scratch/right.pcap" >/dev/null
await_frames "$("$XDP_ROCE" --json analyze "$file" 2>/dev/null | jq .frames.total)" box0
"$XDP_ROCE" --json analyze "$file" 2>/dev/null | jq -S '[.frames, .bytes, .opcodes]' >"$scratch/file"
for port in box0 box1; do
  xr --json counters "$port" | jq -S '[.frames, .bytes, .opcodes]' >"$scratch/$port"
  jq -S '.[0] |= del(.cut, .aeth_cut)' "$scratch/file" | diff -u - "$scratch/$port" >"$scratch/diff" || fail "$port: $(head -n 30 "$scratch/diff")"
  xr --json streams "$port" | jq -S '.streams' >"$scratch/$port.streams"
done
diff -u "$scratch/box0.streams" "$scratch/box1.streams" >"$scratch/diff" || fail "streams: $(head -n 30 "$scratch/diff")"
"$XDP_ROCE" --json analyze "$file" 2>/dev/null | jq -S '[.streams[] | {src, dst, dest_qp, kind, packets}] | sort' >"$scratch/file"
jq -S '[.[] | {src, dst, dest_qp, kind, packets}] | sort' "$scratch/box0.streams" | diff -u "$scratch/file" - >"$scratch/diff" ||
  fail "streams: $(head -n 30 "$scratch/diff")"
# One can go; the other continues with its counts.
xr detach box0 >/dev/null 2>&1
assert_eq "$(jq '.[0].total' "$scratch/box1")" "$(xr --json counters box1 | jq .frames.total)" "after detach box0"
xr detach box1 >/dev/null 2>&1
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
echo "two ports, one report"
