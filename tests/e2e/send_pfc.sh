#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# PFC and PAUSE frames as tshark reads them at the other end, and as `counters` counts them: the cases
# of switches' tests (zero source MAC, unset enable bits, global pause, quanta), XON at the end, also
# after an interrupt; a storm is refreshed, and its largest gap is reported.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark
lane
own=$(ip -n "$tx" -j link show tx0 | jq -r '.[0].address')
group=01:80:c2:00:00:01
fields=(-e eth.dst -e eth.src -e eth.type -e macc.opcode -e macc.cbfc.enbv -e macc.pause_time)
for class in 0 1 2 3 4 5 6 7; do fields+=(-e "macc.cbfc.pause_time.c$class"); done

last_mark[rx]=''
observe "$rx" rx0 "$scratch/watch_rx.pcap" --immediate-mode -s 9300
at_marks[${background[-1]}]=1

# step: the frames since the last one, a line of their fields each, in $scratch/seen.
step() {
  seen rx "$scratch/step.pcap" "$tx" tx0
  tshark -r "$scratch/step.pcap" -T fields -E separator=, "${fields[@]}" 2>/dev/null >"$scratch/seen"
  assert_eq 60 "$(tshark -r "$scratch/step.pcap" -T fields -e frame.len 2>/dev/null | sort -u)" "bytes of: $*"
  assert_eq "" "$(tshark -r "$scratch/step.pcap" -Y '_ws.malformed or macc.cbfc.enbv.not_zero' 2>/dev/null)" "malformed: $*"
}
# pauses COUNT SOURCE REST XON WORDS...: so many frames with these fields, then one with XON's.
pauses() {
  local count=$1 src=$2 pause=$3 xon=$4
  shift 4
  send pfc "$@"
  step "pfc $*"
  assert_eq "$count $group,$src,0x8808,$pause" "$(head -n -1 "$scratch/seen" | uniq -c | sed 's/^ *//')" "pfc $*"
  assert_eq "$group,$src,0x8808,$xon" "$(tail -n 1 "$scratch/seen")" "XON of pfc $*"
  assert_sent ".mode == \"pfc\" and .sent.packets == $count + 1 and .pfc.xons == 1 and .finished"
}
pauses 5 "$own" 0x0101,0x0008,,0,0,0,65535,0,0,0,0 0x0101,0x0008,,0,0,0,0,0,0,0,0 3 every 1ms count 5
pauses 20 "$own" 0x0101,0x0018,,0,0,0,1000,50,0,0,0 0x0101,0x0018,,0,0,0,0,0,0,0,0 \
  3,4 quanta 1000,50 every 1ms for 20ms
pauses 3 "$own" 0x0101,0x00ff,,7,7,7,7,7,7,7,7 0x0101,0x00ff,,0,0,0,0,0,0,0,0 0-7 quanta 7 every 2ms count 3
pauses 3 00:00:00:00:00:00 0x0101,0x0008,,0,0,0,65535,0,0,0,0 0x0101,0x0008,,0,0,0,0,0,0,0,0 \
  3 src-mac 00:00:00:00:00:00 every 1ms count 3
pauses 3 "$own" 0x0101,0x0000,,0,0,0,65535,0,0,0,0 0x0101,0x0000,,0,0,0,0,0,0,0,0 3 enable 0 every 1ms count 3
pauses 3 "$own" 0x0001,,65535,,,,,,,, 0x0001,,0,,,,,,,, global every 1ms count 3
for quanta in 0x1fff 0x3fff 0x7fff; do # variance of quanta
  pauses 10 "$own" "0x0101,0x0010,,0,0,0,0,$((quanta)),0,0,0" 0x0101,0x0010,,0,0,0,0,0,0,0,0 \
    4 quanta $quanta every 1ms count 10
done
send pfc 3 every 1ms count 3 no-xon
step no-xon
assert_eq "3 $group,$own,0x8808,0x0101,0x0008,,0,0,0,65535,0,0,0,0" "$(uniq -c "$scratch/seen" | sed 's/^ *//')" no-xon

# A storm at 10 Gbit/s: 3,355 us of pause, so refreshed within 1,678 us unless this machine stops.
# The exit status is 1 exactly if it lapsed.
lapsed() { jq '.pfc | if .lapsed > 0 then 1 else 0 end' "$1"; }
status=0
keep xt --json send tx0 pfc 3 storm line 10gbit for 500ms || status=$?
cp "$scratch/last.out" "$scratch/send.json"
assert_eq "$(lapsed "$scratch/send.json")" "$status" "exit status of a storm"
step storm
count=$(sent_of .sent.packets)
assert_eq "$count" "$(wc -l <"$scratch/seen")" "frames of the storm"
((count >= 150 && count <= 500)) || fail "$count frames in a storm of 500 ms"
assert_sent '.pfc | .storm and .pause_us > 3355 and .pause_us < 3356 and .interval_us < .pause_us / 2
  and .largest_gap_us >= .interval_us * 0.9 and .gap_p999_us <= .largest_gap_us
  and (.late > 0) == (.largest_gap_us > .pause_us / 2) and (.lapsed > 0) == (.largest_gap_us > .pause_us)'
# An interrupt ends it with XON.
in_background endpoint "$scratch/storm.json" --json --netns "$tx" send tx0 pfc 3,4 storm line 10gbit
sleep 0.5
end_background INT
assert_eq "$(lapsed "$scratch/storm.json")" "$ended" "exit status of an interrupted storm"
step "interrupted storm"
assert_eq "$group,$own,0x8808,0x0101,0x0018,,0,0,0,0,0,0,0,0" "$(tail -n 1 "$scratch/seen")" "last frame of an interrupted storm"
assert_json "$scratch/storm.json" '.finished == false and .pfc.xons == 1'
# A sender that was stopped for 100 ms: the gap is in the error.
in_background endpoint "$scratch/storm.json" --json --netns "$tx" send tx0 pfc 3,4 storm line 10gbit
sleep 0.5
kill -STOP "${background[-1]}"
sleep 0.1
kill -CONT "${background[-1]}"
sleep 0.1
end_background INT
assert_eq 1 "$ended" "exit status of a storm that lapsed"
assert_json "$scratch/storm.json" '.pfc.lapsed >= 1 and .pfc.largest_gap_us > 90000'
grep -q 'the storm lapsed: .* longer than a pause, the largest ' "$scratch/storm.json.err" ||
  fail "no gap in the error: $(cat "$scratch/storm.json.err")"
step "stopped storm"
keep xt send tx0 pfc 3 storm line 10gbit for 20ms || grep -q 'the storm lapsed' "$scratch/last.err" ||
  fail "$(cat "$scratch/last.err")"
grep -q 'largest gap, us' "$scratch/last.out" || fail "no largest gap: $(cat "$scratch/last.out")"

# Our own counters, native XDP.
before=$(kernel_objects)
xr attach rx0 >/dev/null 2>&1
send pfc 3 every 1ms count 9
send pfc global every 1ms count 4
await_frames 15
assert_eq 15 "$(xr --json counters rx0 | jq .frames.pfc)" "frames that are PFC or PAUSE"
xr detach rx0 >/dev/null
wait_for 5 nothing_since "$before" || fail "left in the kernel"

misused 'pfc: when is not said' xt send tx0 pfc 3
misused 'pfc has no --reliable' xt send tx0 pfc 3 every 1ms --reliable
