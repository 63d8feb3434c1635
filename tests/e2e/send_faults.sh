#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Injected faults affect only the given packets; the port's counters and `analyze` classify them
# correctly, as often as the sender reports.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark
lane
xr attach rx0
observe_rx "$scratch/rx.pcap"
total=0

# faulty QP FRAMES JSON WORDS...: 50 packets in 10 messages, with these faults.
faulty() {
  local qp=$1 frames=$2 wanted=$3 psn=0
  shift 3
  [[ $qp != 0x1a ]] || psn=0xffffe0
  send "${v4[@]}" "${at[@]}" qp "$qp" write size 5120 messages 10 pmtu 1024 psn $psn ack-every 1 rate 20kpps "$@"
  assert_sent ".sent.packets == $frames and (.faults | with_entries(select(.value > 0))) == $wanted"
  total=$((total + frames))
}
faulty 0x11 47 '{"skipped": 3}' fault skip at 3,10,20
faulty 0x12 53 '{"repeated": 3}' fault repeat at 3,10,20
faulty 0x13 50 '{"reordered": 3}' fault reorder at 3,10,20
faulty 0x14 50 '{"bad_icrc": 3}' fault icrc at 3,10,20
faulty 0x15 50 '{"bad_pad": 3}' fault pad at 3,10,20
faulty 0x16 53 '{"ghost_acks": 3}' fault ghost-ack at 3,10,20
faulty 0x17 45 '{"skipped": 5}' fault skip every 10 # the 50th is the last: no gap shows it
faulty 0x18 51 '{"skipped": 2, "repeated": 3, "bad_icrc": 1}' fault skip at 7,8 fault repeat at 20,30,31 fault icrc at 40
faulty 0x19 50 '{}'
faulty 0x1a 47 '{"skipped": 3}' fault skip at 3,32,33 # PSNs continue with 0 there
send "${v4[@]}" "${at[@]}" qp 0x1b write size 5120 messages 40 psn 0 rate 20kpps seed 5 fault skip probability 10%
drawn=$(sent_of .faults.skipped)
((drawn >= 5 && drawn <= 50)) || fail "10 % of 200 are $drawn"
assert_sent ".sent.packets == 200 - $drawn"
total=$((total + 200 - drawn))
send "${v4[@]}" "${at[@]}" qp 0x1c write size 5120 messages 40 psn 0 rate 20kpps seed 5 fault skip probability 10%
assert_eq "$drawn" "$(sent_of .faults.skipped)" "skipped with the same seed"
total=$((total + 200 - drawn))

observed_rx "$total"
same_report "$scratch/rx.pcap"
tshark -r "$scratch/rx.pcap" -T fields -e infiniband.bth.destqp -e infiniband.bth.opcode \
  -e infiniband.bth.psn -e infiniband.bth.padcnt 2>"$scratch/last.err" |
  while read -r qp op psn pad; do echo "$((qp)) $op $psn $pad"; done >"$scratch/seen"
# A QP's frames: field 3 is the PSN.
of() { awk -v qp="$(($1))" "\$1 == qp ${2:-}" "$scratch/seen" | cut -d ' ' -f "${3:-3}" | paste -sd ' '; }
but() { seq 0 49 | grep -vxE "$1" | paste -sd ' '; }
assert_eq "$(but '2|9|19')" "$(of 0x11)" "PSNs of the flow that skips"
assert_eq "$(seq 0 49 | sed -E '/^(2|9|19)$/p' | paste -sd ' ')" "$(of 0x12)" "PSNs of the flow that repeats"
assert_eq "$(seq 0 49 | sed -E 's/^(2|9|19)$/x\1/; /^x/{h;d}; /^(3|10|20)$/{G;s/x//}' | paste -sd ' ')" \
  "$(of 0x13)" "PSNs of the flow that reorders"
assert_eq "2 9 19" "$(of 0x15 '&& $4 != 0')" "PSNs of wrong pads"
assert_eq "2 9 19" "$(of 0x16 '&& $2 == 17')" "PSNs of ghost ACKs"
assert_eq "$(seq 0 49 | paste -sd ' ')" "$(of 0x16 '&& $2 != 17')" "PSNs beside ghost ACKs"
assert_eq "$(of 0x1b)" "$(of 0x1c)" "PSNs with the same seed"
assert_eq "" "$(awk -v pad=21 '$1 != pad && $4' "$scratch/seen")" "other wrong pads"

# stream QP KEYS: these are not zero, and no others.
stream() {
  assert_json "$scratch/streams.json" "[.streams[] | select(.dest_qp == $(($1)) and .kind == \"request\") |
    {gaps, skipped, filled, missing, duplicates, rewinds, reordered, resyncs, jumps, jumped}
    | with_entries(select(.value > 0))] == [$2]"
}
stream 0x11 '{"gaps": 3, "skipped": 3, "missing": 3, "jumps": 3, "jumped": 3}'
stream 0x12 '{"duplicates": 3}'
# Without NAKs and go-backs, what comes alone and late may have been sent again by selective repeat.
stream 0x13 '{"gaps": 3, "skipped": 3, "filled": 3, "jumps": 6, "jumped": 6}'
assert_json "$scratch/streams.json" '.streams[] | select(.dest_qp == 19 and .kind == "request") | [.lost_before, .lost_unsure] == [0, 3]'
for qp in 0x14 0x15 0x16 0x19; do stream $qp '{}'; done
stream 0x17 '{"gaps": 4, "skipped": 4, "missing": 4, "jumps": 4, "jumped": 4}'
stream 0x18 '{"gaps": 1, "skipped": 2, "missing": 2, "duplicates": 3, "jumps": 1, "jumped": 2}'
stream 0x1a '{"gaps": 2, "skipped": 3, "missing": 3, "jumps": 2, "jumped": 3}'
assert_json "$scratch/streams.json" '[.streams[] | select(.kind == "response") | [.dest_qp, .packets]] == [[22, 3]]'
assert_json "$scratch/counters.json" '.aeth.ack == 3 and (.opcodes | map(select(.opcode == 17)) | .[0].packets) == 3'
assert_json "$scratch/capture.json" ".frames.total == $total and .icrc.checked == $total and .icrc.bad == 4"
xr detach rx0

misused 'UC has no ACKs|uc has no ACKs' xt send tx0 "${v4[@]}" "${at[@]}" transport uc fault ghost-ack every 3
