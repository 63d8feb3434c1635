#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With --around episode, the file has the frames around each first packet after a missing one, each NAK
# and each first packet sent again, of real captures with losses. tshark's fields
# alone decide which those are.
. "$(dirname "$0")/capture_lib.sh"
need jq python3 tshark
lane

# around BEFORE AFTER OPTION...: of $file, where $scratch/marks has the numbers of frames.
around() {
  local before=$1 after=$2
  shift 2
  begin_capture rx0 -w "$scratch/around.pcapng" --around episode --before "$before" --after "$after" "$@"
  replay "$file"
  await_frames "$(sent packets)"
  end_capture INT
  ended_well
  awk -v before="$before" -v after="$after" '
    { for (i = $1 - before; i <= $1 + after; i++) if (i > 0) print i }' "$scratch/marks" | sort -nu >"$scratch/numbers"
  frames list "$scratch/source.pcap" | awk 'NR == FNR { keep[$1]; next } FNR in keep' "$scratch/numbers" - >"$scratch/want"
  captured "$scratch/around.pcapng" >"$scratch/got"
  cmp -s "$scratch/want" "$scratch/got" || fail "not the frames around episodes: $(wc -l "$scratch/want" "$scratch/got")"
  assert_capture ".frames.events == $(wc -l <"$scratch/marks") and .frames.not_around == $(sent packets) - .frames.written
    and .frames.not_around > 0 and .overflow.frames == 0"
  assert_eq "$(wc -l <"$scratch/marks")" "$(count_comments "$scratch/around.pcapng" episode)" "comments"
  # What is not in the file is no loss: at most what the whole capture misses.
  xr --json analyze --episodes "$scratch/around.pcapng" >"$scratch/windows.json"
  xr --json analyze "$scratch/source.pcap" >"$scratch/whole.json"
  assert_json "$scratch/windows.json" ".capture.windows > 0 and .findings == [] and ($before == 0 or ([.streams[].gaps] | add) > 0)
    and ([.streams[].skipped] | add) <= $(jq '[.streams[].skipped] | add' "$scratch/whole.json")"
  echo "around $(wc -l <"$scratch/marks") moments of episodes: $(wc -l <"$scratch/want") of $(sent packets) frames"
}

file=$(capture loss_rc_send_v4)
gzip -dcf "$file" >"$scratch/source.pcap"
tshark -r "$scratch/source.pcap" -T fields -e frame.number -e ip.dst -e infiniband.bth.opcode -e infiniband.bth.psn \
  -e infiniband.aeth.syndrome -Y 'infiniband.bth.opcode < 32 || infiniband.bth.opcode == 129' 2>/dev/null >"$scratch/packets"
python3 - "$scratch/packets" <<'EOP' >"$scratch/marks"
import sys

# One requester. `expected` is what a go-back-N receiver here expects. What is missing directly after the
# first packet sent again is no moment of its own.
expected = told = asked = responder = None
again = False
for line in open(sys.argv[1]):
    number, dst, opcode, psn, *syndrome = line.rstrip("\n").split("\t")
    opcode, psn = int(opcode, 0), int(psn, 0)
    syndrome = int(syndrome[0], 0) if syndrome and syndrome[0] else 0
    if opcode < 6:
        responder = responder or dst
        assert dst == responder
        expected = psn if expected is None else expected
        if psn > expected != told:
            if not again:
                print(number)
            told = expected
        again = psn == asked
        if again:
            print(number)
            asked = None
        expected += psn == expected
    elif opcode == 17 and syndrome >> 5 == 3:
        print(number)
        asked = psn
    elif opcode == 17:
        expected = max(expected, psn + 1)
EOP
[[ $(wc -l <"$scratch/marks") -gt 60 ]] || fail "no episodes in the capture"

# Attached for the duration, then a port that is attached.
around 5 3 --follow
[[ $(ip -n "$rx" link show rx0) != *xdp* ]] || fail "it was not attached before, and is now"
xr attach rx0 --follow >/dev/null
around 0 0
assert_eq 30 "$(xr --json episodes rx0 | jq '[.episodes[] | select(.cause == "nak")] | length')" "episodes of the port"
xr detach rx0

misused '--around episode needs streams, but --no-track' xr capture rx0 -w "$scratch/x" --no-track --around episode
xr attach rx0 >/dev/null
refused 'attached without --follow' xr capture rx0 -w "$scratch/x" --around episode
xr detach rx0
