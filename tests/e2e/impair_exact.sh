#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exact rules: only the given packet, of the n-th QP or of a QPN, in the given transmission, is
# lost. The first matching rule applies.
. "$(dirname "$0")/bridge_lib.sh"
need python3
lane3
bridge
watch_right

# The frames that the capture $1 has and $2 has not, by their places in $1, from 1.
places_lost() {
  { diff --speed-large-files --new-line-format='+%dn ' --old-line-format='%dn ' --unchanged-line-format='' \
    <(frames roce "$1") <(frames roce "$2") || true; } | sed 's/ $//'
}
# loses FILE PLACES RULE...: that one rule, the capture FILE sent to fresh streams.
loses() {
  local file=$1 want=$2 words="${*:3}"
  unbridge
  bridge
  keep xr impair box0 add "${@:3}" || fail "add $words: $(cat "$scratch/last.err")"
  replay_left "$file"
  seen_right "$scratch/seen.pcap"
  assert_eq "$want" "$(places_lost "$file" "$scratch/seen.pcap")" "packets lost by $words"
  xr --json impair box0 list >"$scratch/list.json"
  assert_eq "$(wc -w <<<"$want")" "$(jq '.rules[0].acted' "$scratch/list.json")" "acted by $words"
}

# Go-back-N by hand: PSNs first..9, of which 5th to 9th are sent three times; two QPs in turn.
python3 - "$scratch/once.pcap" "$scratch/goback.pcap" "$scratch/place" "$scratch/then.pcap" <<'EOP'
import struct
import sys
import zlib

FIRST = 0xfffffb  # the PSN wraps


def icrc(frame):
    masked = bytearray(b"\xff" * 8 + frame[14:])
    for at in (9, 16, 18, 19, 34, 35, 40):  # TOS, TTL, checksums, FECN/BECN
        masked[at] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(masked)))


def send_middle(qp, psn):
    ip = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 2, 20 + 8 + 12 + 256 + 4, psn & 0xffff, 0x4000, 64, 17,
                               0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])))
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xffff) + (total >> 16)
    struct.pack_into(">H", ip, 10, ~((total & 0xffff) + (total >> 16)) & 0xffff)
    frame = (bytes.fromhex("020000000002020000000001" "0800") + ip +
             struct.pack(">HHHH", 0xc000 + qp, 4791, 8 + 12 + 256 + 4, 0) +
             struct.pack(">BBHII", 1, 0, 0xffff, qp, psn & 0xffffff) + bytes(256))
    return frame + icrc(frame)


def capture(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for place, (qp, psn) in enumerate(packets, 1):
            frame = send_middle(qp, FIRST + psn)
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
            places.setdefault((path, qp, psn + 1), []).append(str(place))


places = {}
once, goback, out, then = sys.argv[1:]
capture(once, [(qp, psn) for psn in range(20) for qp in (0x22, 0x11)])
capture(then, [(qp, psn) for psn in range(20, 40) for qp in (0x22, 0x11)])
order = [*range(9), *range(4, 9), *range(4, 12)]
capture(goback, [(qp, psn) for psn in order for qp in (0x22, 0x11)])
with open(out, "w") as f:
    for (path, qp, nth), where in places.items():
        print(path, hex(qp), nth, *where, file=f)
EOP
once=$scratch/once.pcap goback=$scratch/goback.pcap
# place FILE QPN NTH [TRANSMISSION]: all of them, if no transmission is named.
place() {
  local line
  line=$(grep "^$1 $2 $3 " "$scratch/place" | cut -d ' ' -f 4-)
  if [[ -n ${4:-} ]]; then cut -d ' ' -f "$4" <<<"$line"; else echo "$line"; fi
}
bad=$("$XDP_ROCE" --json analyze "$goback" | jq .icrc.bad)
assert_eq 0 "$bad" "bad iCRCs in the capture made here"

loses "$once" "$(place "$once" 0x22 5)" qp 1 psn 5 drop
loses "$once" "$(place "$once" 0x11 5)" qp 2 psn 5 drop
loses "$once" "$(place "$once" 0x11 3)" qp 0x11 psn 3 drop
loses "$once" "" qp 3 psn 5 drop
loses "$goback" "$(place "$goback" 0x22 5 1)" qp 1 psn 5 iter 1 drop
loses "$goback" "$(place "$goback" 0x11 7 2)" qp 2 psn 7 iter 2 drop
loses "$goback" "$(place "$goback" 0x11 9 3)" qp 0x11 psn 9 iter 3 drop
loses "$goback" "$(place "$goback" 0x22 6)" qp 1 psn 6 drop
loses "$goback" "$(for n in 5 6 7; do place "$goback" 0x11 $n 2; done | sort -n | paste -sd ' ')" qp 2 psn 5-7 iter 2 drop
all=$(grep "^$goback 0x11 [5-9] " "$scratch/place" | cut -d ' ' -f 5 | sort -n | paste -sd ' ')
loses "$goback" "$all" qp 0x11 psn all iter 2 drop
# By the PSN itself, across the wrap.
loses "$once" "$(for n in 5 6 7; do place "$once" 0x22 $n; done | paste -sd ' ')" dest-qp 0x22 psn 0xffffff-1 drop
loses "$once" "$(for n in 5 6 7; do place "$once" 0x22 $n; done | paste -sd ' ')" dest-qp 34 psn 16777215-1 drop

# A stream that rewound for real: the first of all data packets once, and none of those again.
file=$(capture loss_rc_send_v4)
loses "$file" 1 qp 1 psn 1 iter 1 drop

# Streams that have passed continue, unless they begin again with the rule.
unbridge
bridge
then=$scratch/then.pcap
notes() { grep -c "$1" "$scratch/last.err" || true; }
keep xr impair box0 add qp 0x22 psn 5 drop
assert_eq "1 0" "$(notes 'with .iter 1., only the first time') $(notes 'zero --streams')" "notes of a rule on a new port"
replay_left "$once"
seen_right "$scratch/seen.pcap"
assert_eq "$(place "$once" 0x22 5)" "$(places_lost "$once" "$scratch/seen.pcap")" "packets lost at first"
keep xr impair box0 zero
assert_eq 1 "$(notes "xdp-roce --netns $box impair box0 zero --streams")" "note of zero"
replay_left "$then"
seen_right "$scratch/seen.pcap"
assert_eq "" "$(places_lost "$then" "$scratch/seen.pcap")" "packets lost after zero: P continues"
keep xr impair box0 zero --streams
assert_eq 0 "$(notes 'zero --streams')" "note of zero --streams"
assert_eq 0 "$(xr --json streams box0 | jq '[.streams[].packets] | add // 0')" "packets after zero --streams"
replay_left "$then"
seen_right "$scratch/seen.pcap"
assert_eq "$(place "$then" 0x22 25)" "$(places_lost "$then" "$scratch/seen.pcap")" "packets lost after zero --streams"
assert_eq 40 "$(xr --json streams box0 | jq '[.streams[].packets] | add')" "packets of the streams since"

# First match wins, whether it selects or not.
unbridge
bridge
xr impair box0 add dest-qp 0x22 every 4 drop name some
xr impair box0 add opcode SEND_MIDDLE drop name others
xr impair box0 add roce drop name none
replay_left "$once"
seen_right "$scratch/seen.pcap"
assert_eq 15 "$(count_frames "$scratch/seen.pcap")" "frames that came through"
"$XDP_ROCE" --json analyze "$scratch/seen.pcap" >"$scratch/seen.json"
assert_json "$scratch/seen.json" '.streams | length == 1 and .[0].dest_qp == 34'
xr --json impair box0 list >"$scratch/list.json"
assert_json "$scratch/list.json" '[.rules[] | [.name, .matched, .acted]] ==
  [["some", 20, 5], ["others", 20, 20], ["none", 0, 0]]'
observed
unbridge
