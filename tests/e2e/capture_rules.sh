#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a bridge with rules, the file has each frame as received, with the rule and its action, as
# often as the rule's counters show. Rules may change meanwhile, and the bridge continues.
. "$(dirname "$0")/capture_lib.sh"
need jq python3 tshark editcap
lane3
everything=$(kernel_objects)
bridge
watch_right
file=$(capture rc_write_ect_v4)
gzip -dcf "$file" >"$scratch/source.pcap"
frames list "$scratch/source.pcap" >"$scratch/source"

acted() { xr --json impair box0 list | jq ".rules[] | select(.name == \"$1\") | .acted"; }
# as_it_came FILE: all frames, none of them changed by what happened to it later.
as_it_came() {
  captured "$1" >"$scratch/got"
  cmp -s "$scratch/source" "$scratch/got" ||
    fail "not the frames that came in: $(diff "$scratch/source" "$scratch/got" | head -n 4 | cut -c -160)"
}

# Dropped, marked, corrupted; each by the rule of that number.
xr impair box0 add opcode data every 7 drop name lose >/dev/null
xr impair box0 add opcode data probability 0.5 ce name mark >/dev/null
begin_capture box0 -w "$scratch/rules.pcapng"
replay_left "$file"
await_frames "$(sent packets)" box0
end_capture INT
ended_well
as_it_came "$scratch/rules.pcapng"
lost=$(acted lose)
((lost > 5)) || fail "the rule dropped only $lost"
assert_eq "$lost" "$(count_comments "$scratch/rules.pcapng" 'rule 1: dropped; gone')" "comments of the rule that drops"
# The first rule that matches has the frame.
assert_eq 0 "$(count_comments "$scratch/rules.pcapng" 'rule 2')" "comments of the rule behind it"
seen_right "$scratch/right.pcap"
assert_eq "$(count_frames "$scratch/right.pcap")" "$(count_comments "$scratch/rules.pcapng" '; forwarded')" "frames forwarded"
dropped_places=$(tshark -r "$scratch/rules.pcapng" -T fields -e frame.number -Y 'frame.comment contains "dropped"' 2>/dev/null)
awk 'NR == FNR { gone[$1]; next } !(FNR in gone)' <(echo "$dropped_places") "$scratch/source" |
  cmp -s - <(frames list "$scratch/right.pcap") || fail "not those that did not arrive are called dropped"

# Marked and corrupted: the file has them before, the other side after.
xr impair box0 clear >/dev/null
unbridge
bridge
xr impair box0 add opcode data every 3 ce name mark >/dev/null
xr impair box0 add opcode ack corrupt icrc name hurt >/dev/null
xr impair box0 add not roce drop name rest >/dev/null
begin_capture box0 -w "$scratch/marks.pcapng"
replay_left "$file"
await_frames "$(sent packets)" box0
end_capture INT
ended_well
as_it_came "$scratch/marks.pcapng"
((  $(acted mark) > 5 )) || fail "too few were marked"
assert_eq "$(acted mark)" "$(count_comments "$scratch/marks.pcapng" 'rule 1: marked CE; forwarded')" "marked"
assert_eq "$(acted hurt)" "$(count_comments "$scratch/marks.pcapng" 'rule 2: corrupted the iCRC')" "corrupted"
assert_eq "$(acted rest)" "$(count_comments "$scratch/marks.pcapng" 'no RoCE; rule 3: dropped')" "other frames dropped"
xr impair box0 del rest >/dev/null # it would drop the mark at the end of the step
seen_right "$scratch/right.pcap"
assert_eq "$(acted mark)" "$(tshark -r "$scratch/right.pcap" -Y 'ip.dsfield.ecn == 3' 2>/dev/null | wc -l)" "marks on the other side"
assert_eq 0 "$(tshark -r "$scratch/marks.pcapng" -Y 'ip.dsfield.ecn == 3' 2>/dev/null | wc -l)" "marks as they came in"

# Around what a rule did, with rules that come while it runs.
unbridge
bridge
begin_capture box0 -w "$scratch/around.pcapng" --around rule --before 2 --after 1
xr impair box0 add dest-qp 0-0xffffff opcode data every 50 drop name lose >/dev/null
captures box0 # still
replay_left "$file"
await_frames "$(sent packets)" box0
end_capture INT
ended_well
captured "$scratch/around.pcapng" >"$scratch/got"
comments "$scratch/around.pcapng" | awk '/dropped/ { print NR }' >"$scratch/at"
assert_eq "$(acted lose)" "$(wc -l <"$scratch/at")" "events around which frames were kept"
assert_capture ".frames.events == $(acted lose) and .frames.written <= 4 * .frames.events
  and .frames.written + .frames.not_around == $(sent packets)"
# These places in the sent frames: each 50th of the data, with two before and one after it.
tshark -r "$scratch/source.pcap" -T fields -e frame.number \
  -Y 'infiniband.bth.opcode < 12 || (infiniband.bth.opcode > 12 && infiniband.bth.opcode < 17)' 2>/dev/null |
  awk 'NR % 50 == 0 { for (i = $1 - 2; i <= $1 + 1; i++) print i }' >"$scratch/numbers"
awk 'NR == FNR { keep[$1]; next } FNR in keep' "$scratch/numbers" "$scratch/source" | cmp -s - "$scratch/got" ||
  fail "not the frames around those that were dropped: $(wc -l "$scratch/numbers" "$scratch/got")"
observed
unbridge
wait_for 5 nothing_since "$everything" || fail "left behind: $(since "$everything")"
