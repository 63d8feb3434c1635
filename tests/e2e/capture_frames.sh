#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The file has every frame unchanged, of any size, with a comment that agrees with the port's
# streams; the filter, snap length and count limit apply; with --around, it has the frames around
# each gap.
. "$(dirname "$0")/capture_lib.sh"
need jq python3 tshark editcap capinfos
lane 9000

# whole CAPTURE: frame for frame, and the port's host gets them all the same.
whole() {
  local file got=$scratch/$1.pcapng
  file=$(capture "$1")
  begin_capture rx0 -w "$got"
  replay "$file"
  await_frames "$(sent packets)"
  xr --json streams rx0 >"$scratch/streams.json"
  end_capture INT
  ended_well
  captured "$got" >"$scratch/got"
  frames list <(gzip -dcf "$file") >"$scratch/want"
  cmp -s "$scratch/want" "$scratch/got" ||
    fail "$1: not the frames that were sent: $(diff "$scratch/want" "$scratch/got" | head -n 5 | cut -c -200)"
  assert_capture ".frames.written == $(sent packets) and .frames.seen == $(sent packets) and .overflow.frames == 0"
  assert_eq "$(sent packets) $(sent bytes)" "$(capinfos -T -r -M -c -d "$got" | cut -f 2,3 --output-delimiter=' ')" "capinfos"
  # As the tracker has it, packet by packet.
  for what in gaps:gap: rewinds:rewind: duplicates:duplicate:; do
    assert_eq "$(jq "[.streams[].${what%%:*}] | add // 0" "$scratch/streams.json")" \
      "$(count_comments "$got" "${what#*:}")" "$1: comments of ${what%%:*}"
  done
  assert_eq "$(jq '.streams | length' "$scratch/streams.json")" "$(count_comments "$got" 'first of its stream')" "$1: streams"
  assert_eq "$(sent packets)" "$(count_comments "$got" 'to the host')" "$1: frames that went to the host"
  # In the order of time, and read by our own reader.
  tshark -r "$got" -T fields -e frame.time_epoch 2>/dev/null | sort -c -n || fail "$1: times go back"
  "$XDP_ROCE" --json analyze "$got" >"$scratch/analyzed.json"
  assert_json "$scratch/analyzed.json" ".frames.total == $(sent packets)"
  [[ $(ip -n "$rx" link show rx0) != *xdp* ]] || fail "it was not attached before, and is now"
}
before=$(kernel_objects)
for name in loss_rc_send_v4 rc_send_4096_v6 m4200_rc_read_65536_v4 synthetic_every_opcode mckey_v4; do whole "$name"; done
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"

# Around gaps: tshark's fields alone decide which those are.
file=$(capture loss_rc_send_v4)
gzip -dcf "$file" >"$scratch/source.pcap"
tshark -r "$scratch/source.pcap" -T fields -e frame.number -e ip.src -e ip.dst -e infiniband.bth.destqp \
  -e infiniband.bth.opcode -e infiniband.bth.psn -Y 'infiniband.bth.opcode < 12' 2>/dev/null >"$scratch/packets"
python3 - "$scratch/packets" 5 3 <<'EOP' >"$scratch/numbers"
import sys

path, before, after = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
expected, keep = {}, set()
for line in open(path):
    number, src, dst, qp, _, psn = line.split()
    key, psn = (src, dst, qp), int(psn, 0)
    ahead = (psn - expected.get(key, psn)) % (1 << 24)
    if 0 < ahead < 1 << 23:
        keep.update(range(int(number) - before, int(number) + after + 1))
    if ahead < 1 << 23:
        expected[key] = psn + 1
for number in sorted(n for n in keep if n > 0):
    print(number)
EOP
begin_capture rx0 -w "$scratch/around.pcapng" --around gap --before 5 --after 3
replay "$file"
await_frames "$(sent packets)"
end_capture INT
ended_well
frames list "$scratch/source.pcap" | awk 'NR == FNR { keep[$1]; next } FNR in keep' "$scratch/numbers" - >"$scratch/want"
captured "$scratch/around.pcapng" >"$scratch/got"
[[ -s $scratch/want ]] || fail "no gaps in the capture"
cmp -s "$scratch/want" "$scratch/got" || fail "not the frames around gaps: $(wc -l "$scratch/want" "$scratch/got")"
assert_capture ".frames.written == $(wc -l <"$scratch/want") and .frames.not_around == $(sent packets) - .frames.written
  and .frames.events == $(count_comments "$scratch/around.pcapng" gap:)"
echo "around $(jq .frames.events "$scratch/capture.json") gaps: $(wc -l <"$scratch/want") of $(sent packets) frames"

# Around NAKs and CNPs: tshark decides which frames those are.
around() {
  local event=$1 before=$2 after=$3 marks=$4
  tshark -r "$scratch/source.pcap" -T fields -e frame.number -Y "udp.dstport == 4791 && $marks" 2>/dev/null >"$scratch/marks"
  [[ -s $scratch/marks ]] || fail "there is no $marks"
  begin_capture rx0 -w "$scratch/around.pcapng" --around "$event" --before "$before" --after "$after"
  replay "$file"
  await_frames "$(sent packets)"
  end_capture INT
  ended_well
  frames list "$scratch/source.pcap" | awk -v before="$before" -v after="$after" '
    NR == FNR { for (i = $1 - before; i <= $1 + after; i++) keep[i]; next } FNR in keep' "$scratch/marks" - >"$scratch/want"
  captured "$scratch/around.pcapng" >"$scratch/got"
  cmp -s "$scratch/want" "$scratch/got" || fail "not the frames around $event: $(wc -l "$scratch/want" "$scratch/got")"
  assert_capture ".frames.events == $(wc -l <"$scratch/marks") and .frames.not_around == $(sent packets) - .frames.written"
}
around nak 2 1 'infiniband.aeth.syndrome.opcode == 3'
gapped=$file
file=$(capture synthetic_every_opcode)
gzip -dcf "$file" >"$scratch/source.pcap"
around cnp 3 0 'infiniband.bth.opcode == 129'
file=$gapped
gzip -dcf "$file" >"$scratch/source.pcap"

# NAKs alone, by class; acknowledgements; what is no RoCE.
chosen() {
  local want=$1
  shift
  begin_capture rx0 -w "$scratch/some.pcapng" "$@"
  replay "$file"
  await_frames "$(sent packets)"
  end_capture INT
  ended_well
  captured "$scratch/some.pcapng" >"$scratch/got"
  tshark -r "$scratch/source.pcap" -Y "$want" -F pcap -w "$scratch/want.pcap" 2>/dev/null
  frames list "$scratch/want.pcap" >"$scratch/want"
  [[ -s $scratch/want ]] || fail "there is no $want"
  cmp -s "$scratch/want" "$scratch/got" || fail "$*: not those of $want: $(wc -l "$scratch/want" "$scratch/got")"
}
roce='udp.dstport == 4791'
chosen "$roce && infiniband.aeth.syndrome.opcode == 3" --class nak
assert_eq "$(wc -l <"$scratch/want")" "$(count_comments "$scratch/some.pcapng" 'NAK: PSN sequence error')" "NAKs"
chosen "$roce && infiniband.aeth.syndrome.opcode == 0" --class ack
chosen "!($roce)" --class other
read -r src qp < <(awk 'NR == 1 { print $2, $4 }' "$scratch/packets")
chosen "$roce && ip.src == $src && infiniband.bth.destqp == $qp" --src "$src" --dest-qp "$((qp))"
chosen "$roce && ip.src == $src" --src "$src/32" --class roce
capinfos "$scratch/some.pcapng" >"$scratch/info"
grep -qF "Filter string = class roce src $src/32" "$scratch/info" || fail "the filter: $(cat "$scratch/info")"

# Cut, and a count; through a pipe.
rm "$scratch/capture.err"
xr --json capture rx0 -w - --snap 60 -c 100 --class roce 2>"$scratch/capture.err" >"$scratch/pipe.pcapng" &
capturing=$!
background+=("$capturing")
await_capture rx0 "$scratch/capture.err"
replay "$file"
end_capture
ended_well
assert_eq "100 60" "$(tshark -r "$scratch/pipe.pcapng" -T fields -e frame.cap_len 2>/dev/null | awk '$1 > m { m = $1 } END { print NR, m }')" \
  "frames of a pipe, and the longest"
tshark -r "$scratch/source.pcap" -Y "$roce" -T fields -e frame.len 2>/dev/null | awk 'NR <= 100' |
  diff - <(tshark -r "$scratch/pipe.pcapng" -T fields -e frame.len 2>/dev/null) >/dev/null || fail "lengths on the wire"
sed -n '/^{/,/^}/p' "$scratch/capture.err" >"$scratch/capture.json" # after the notes
assert_capture '.frames.written == 100 and .frames.cut > 0'

# A reader that goes away is no error, and is noticed though nothing comes.
for reader in 'head -c 10' true; do
  start=$SECONDS
  { xr capture rx0 -w - --for 60s 2>"$scratch/capture.err"; echo $? >"$scratch/status"; } | $reader >/dev/null
  assert_eq 0 "$(cat "$scratch/status")" "exit status when the reader goes away: $(cat "$scratch/capture.err")"
  ((SECONDS - start < 30)) || fail "it took $((SECONDS - start)) s to notice that $reader had ended"
  ! grep -q '^xdp-roce:' "$scratch/capture.err" || fail "$(cat "$scratch/capture.err")"
done

# One that stalls keeps nobody from ending; what it did not take is counted.
mkfifo "$scratch/fifo"
over() { ! kill -0 "$capturing" 2>/dev/null; }
for limit in '' '--for 3s'; do
  # shellcheck disable=SC2094 # a reader alone cannot be opened without waiting
  exec 8<>"$scratch/fifo" 9<"$scratch/fifo"
  rm "$scratch/capture.err"
  # shellcheck disable=SC2086 # no word, or two
  "$XDP_ROCE" --netns "$rx" --json capture rx0 -w - $limit 2>"$scratch/capture.err" >"$scratch/fifo" 8>&- &
  exec 8>&-
  capturing=$!
  background+=("$capturing")
  await_capture rx0 "$scratch/capture.err"
  replay --stream --packets 3000 --payload 1024
  await_frames 3000
  [[ $limit ]] || kill -TERM "$capturing"
  wait_for 15 over || fail "${limit:-TERM} does not end it when its reader stalls"
  end_capture
  if [[ $limit ]]; then # all frames up to the limit were requested
    assert_eq 1 "$ended" "exit status when the reader stalls at the end of $limit"
    assert_sentence 'the reader of standard output does not read any more' < <(sed '/^note/d; /^{/,/^}/d' "$scratch/capture.err")
  else
    ended_well
  fi
  cat <&9 >"$scratch/stalled.pcapng"
  exec 9<&-
  sed -n '/^{/,/^}/p' "$scratch/capture.err" >"$scratch/capture.json"
  assert_capture '.frames.taken == 3000 and .frames.unwritten > 1000
    and .frames.written + .frames.unwritten + .overflow.frames + .overflow.unread == .frames.taken'
  assert_eq "$(jq .frames.written "$scratch/capture.json")" "$(comments "$scratch/stalled.pcapng" | wc -l)" "frames in the pipe"
done
[[ $(ip -n "$rx" link show rx0) != *xdp* ]] || fail "it was not attached before, and is now"

# A named pipe that nobody reads is waited for, and a signal ends that.
mkfifo "$scratch/unread"
rm -f "$scratch/capture.err"
"$XDP_ROCE" --netns "$rx" capture rx0 -w "$scratch/unread" --for 60s >/dev/null 2>"$scratch/capture.err" &
capturing=$!
background+=("$capturing")
is_attached() { [[ $(ip -n "$rx" link show rx0) == *xdp* ]]; }
wait_for 10 is_attached || fail "not attached while it waits for a reader"
kill -TERM "$capturing"
wait_for 5 over || fail "TERM does not end it while it waits for a reader"
end_capture
! is_attached || fail "it was not attached before, and is now"
# So does the end of the terminal it was begun on.
begin_capture rx0 -w "$scratch/some.pcapng"
end_capture HUP
ended_well
! is_attached || fail "HUP leaves the port attached"

# A ring of files.
mkdir "$scratch/ring"
begin_capture rx0 -w "$scratch/ring/x.pcapng" --file-size 100k --files 3
replay "$file"
await_frames "$(sent packets)"
end_capture INT
ended_well
assert_eq 3 "$(find "$scratch/ring" -name 'x_0*_20*.pcapng' -size -101k | wc -l)" "files of the ring"
number=$(for one in "$scratch"/ring/x_*; do captured "$one"; done | tee "$scratch/got" | wc -l)
frames list "$scratch/source.pcap" | tail -n "$number" | cmp -s - "$scratch/got" || fail "not the last $number frames"
assert_capture ".files_removed > 3 and (.files | length) == 3 and .frames.written == $(sent packets)"

misused 'needs a limit for one file' xr capture rx0 -w "$scratch/x" --files 3
misused 'class of frames' xr capture rx0 -w "$scratch/x" --class bogus
refused 'cannot write' xr capture rx0 -w /nowhere/x
misused 'needs the name of a file' xr capture rx0 -w ''
misused 'a class of frames is missing' xr capture rx0 -w "$scratch/x" --class ''
misused 'an event is missing' xr capture rx0 -w "$scratch/x" --around ''
misused 'needs streams, but --no-track' xr capture rx0 -w "$scratch/x" --no-track --around gap
misused 'class other selects none' xr capture rx0 -w "$scratch/x" --class other --src 192.0.2.0/24
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"
