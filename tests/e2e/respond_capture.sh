#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Responses on the wire, captured at the requester: NAKs, RNR NAKs, ACKs that acknowledge several
# packets, the fields and the pacing of CNPs.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark python3
lane
xr attach rx0 >/dev/null
ends=(src "$from" src-mac 02:00:00:00:00:01 dst "$to")
rx_mac=$(ip -n "$rx" -j link show rx0 | jq -r '.[0].address')
respond --address "$to" --peer-qp +0x100 --ack-every 4

watch_tx
# seen_answers OPCODE: those that came in at tx0 since the last time are in answers.pcap.
seen_answers() {
  seen_tx "$scratch/step.pcap"
  tcpdump -r "$scratch/step.pcap" -w "$scratch/answers.pcap" "udp and src host $to and udp[8] == $1" 2>/dev/null
}
answers() {
  tshark -r "$scratch/answers.pcap" -T fields -e infiniband.bth.destqp -e infiniband.bth.opcode -e infiniband.bth.psn \
    -e infiniband.aeth.syndrome -e infiniband.aeth.msn 2>/dev/null |
    while read -r qp op psn syndrome msn; do echo "$((qp)) $op $psn $((syndrome)) $msn"; done
}

# 10 QPs in turn; QP i misses its packet i + 3 (from 0), and never gets it: one NAK each, for that.
positions=
for i in {0..9}; do positions+=,$(((i + 3) * 10 + i + 1)); done
send "${ends[@]}" qp 0x20-0x29 src-qp 0x120 send size 64 psn 0 messages 20 rate 5kpps fault skip at "${positions#,}"
assert_sent '.faults.skipped == 10'
seen_answers 0x11
answers >"$scratch/answers"
assert_eq "$(for i in {0..9}; do echo "$((0x120 + i)) 17 $((i + 3)) $((0x60)) $((i + 3))"; done)" \
  "$(awk '$4 == 0x60 || $4 == 96' "$scratch/answers" | sort -n)" "NAKs PSN sequence error"
# Before, each message was acknowledged, up to the gap.
assert_eq "$(for i in {0..9}; do echo "$((0x120 + i)) $((i + 2))"; done)" \
  "$(awk '$4 < 32 { last[$1] = $3 } END { for (qp in last) print qp, last[qp] }' "$scratch/answers" | sort -n)" "the last ACKs"

# One message of 100 packets: an ACK for each 4th at most, the last for all.
send "${ends[@]}" qp 0x30 src-qp 0x130 write size 102400 psn 1000 messages 1 rate 5kpps
seen_answers 0x11
answers >"$scratch/answers"
awk '$1 != 0x130 && $1 != 304 || $4 >= 32 || ($3 - 1000) % 4 != 3 || $3 <= last { exit 1 } { last = $3 }
  END { exit NR > 25 || NR < 2 || last != 1099 }' "$scratch/answers" || fail "ACKs every 4: $(cat "$scratch/answers")"

# Marked CE, 2,000 packets on 2 QPs in 40 ms: CNPs, no more than one in 50 us for each.
send "${ends[@]}" qp 0x40-0x41 src-qp 0x140 send size 64 messages 1000 ecn ce rate 50kpps
seen_answers 0x81
got=$("$here/cnp_fields.py" "$scratch/answers.pcap" "$to" "$from" "$rx_mac" 02:00:00:00:00:01 48 0x140 0x141) || fail "$got"
cnps=$(frames list "$scratch/answers.pcap" | wc -l)
# Stamped when they come in: what waited a little before comes closer to the next.
tcpdump -r "$scratch/watch_tx.pcap" -w "$scratch/stamped.pcap" "udp and src host $to and udp[8] == 0x81" 2>/dev/null
"$here/cnp_pace.py" "$scratch/stamped.pcap" 50e-6 || fail "CNPs too close"
# Datagrams name the QP to slow down.
send "${ends[@]}" qp 0x50 src-qp 0x777 transport ud send size 64 messages 10 ecn ce rate 1kpps
seen_answers 0x81
"$here/cnp_fields.py" "$scratch/answers.pcap" "$to" "$from" "$rx_mac" 02:00:00:00:00:01 48 0x777 >/dev/null || fail "CNPs of UD"
more=$(frames list "$scratch/answers.pcap" | wc -l)

# All of it, by the responder's own account; iCRCs that are wrong get no answer.
send "${ends[@]}" qp 0x60 src-qp 0x160 send size 64 psn 5 messages 4 rate 1kpps fault icrc at 3,4
seen_answers 0x11
answers >"$scratch/answers"
[[ $(cut -d ' ' -f 3 "$scratch/answers" | paste -sd ' ') =~ ^(5 )?6$ ]] || # one may acknowledge both
  fail "ACKs where two iCRCs are wrong: $(cat "$scratch/answers")"
"$XDP_ROCE" --json analyze "$scratch/answers.pcap" >"$scratch/analyzed.json"
assert_analyzed '.icrc.checked > 0 and .icrc.bad == 0 and .ecn.ect0 == .icrc.checked and .aeth.ack == .icrc.checked'
end_respond
assert_respond ".answered.cnps == $cnps + $more and .received.ce == 2010
  and .answered.cnps_paced == 2010 - $cnps - $more and .answered.naks == 10 and .refused.bad_icrc == 2"

# Not ready, every 3rd message: one NAK for each when asked by a sender who listens; all arrive. CNPs as configured.
respond --address "$to" --rnr-every 3 --rnr-timer 5 --cnp-scope port --cnp-interval 10s
send --reliable src "$from" dst "$to" qp 0x70-0x71 write size 2048 messages 9 ecn ce
assert_sent '.sent.messages == 18 and .answers.rnr_naks == 6 and .answers.cnps == 1 and .recovery.retransmitted > 0
  and .recovery.failed_qps == 0'
send "${ends[@]}" qp 0x72 send size 64 psn 0 messages 5 rate 1kpps
seen_answers 0x11
assert_eq "114 17 2 $((0x25)) 2" "$(answers | tail -n 1)" "RNR NAK"
end_respond
assert_respond '.answered.rnr_naks == 7 and .answered.cnps == 1 and .received.messages == 20'

respond --address "$to" --no-cnp --qp 0x80-0x8f
send "${ends[@]}" --listen qp 0x80 send size 64 messages 10 ecn ce rate 1kpps
assert_sent '.answers.cnps == 0 and .answers.acks >= 1'
send "${ends[@]}" --listen qp 0x90 send size 64 messages 10 rate 1kpps
assert_sent '.answers.acks == 0'
end_respond
assert_respond '.answered.cnps == 0 and .received.ce == 10 and .refused.no_qp == 10'
observed
xr detach rx0 >/dev/null
