#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# respond --cc: READ responses at the rate of each QP. A bridge marks some of them CE, the requester
# returns CNPs, and these lower the rate of their QP.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
bridge

# At a fixed rate: 2 QPs, 400 responses of each at 2000 a second.
respond on "$right" right0 --cc 'fixed 2kpps'
send --reliable dst 192.0.2.2 qp 0x21-0x22 read pmtu 1024 messages 40 size 10240
end_respond
assert_sent '.finished and .sent.messages == 80 and .recovery.retransmitted == 0 and .answers.read_responses == 800 and .seconds > 0.199'
assert_respond '.answered.read_responses == 800 and (.rates == null)'

# DCQCN: what the bridge marks reaches the responder's control as CNPs.
keep xr impair box1 add dest-qp 0x11 opcode RC_RDMA_READ_RESPONSE_MIDDLE every 10 ce || fail "ce: $(cat "$scratch/last.err")"
read_all() {
  send --reliable "$@" dst 192.0.2.2 qp 0x11-0x12 psn "$psn" read pmtu 1024 messages 100 size 10240
  assert_sent '.finished and .sent.messages == 200 and .recovery.failed_qps == 0'
}
psn=0x100000
respond on "$right" right0 --cc 'dcqcn line 100mbit'
read_all
end_respond
marked=$(sent_of .answers.ce)
xr --json impair box1 list >"$scratch/rules.json"
assert_eq "$(jq '.rules[0].acted' "$scratch/rules.json")" "$marked" 'READ responses marked CE'
((marked >= 50)) || fail "only $marked are marked"
assert_sent '.answers.cnps_sent > 0 and .answers.cnps_sent + .answers.cnps_paced == .answers.ce'
assert_eq "$(sent_of .answers.cnps_sent)" "$(jq .received.cnps "$scratch/respond.json")" 'CNPs at the responder'
assert_respond ".received.cnps_stray == 0 and (.rates | length) == 2 and .rates[0].qp == 17 and .rates[0].cnps == .received.cnps
  and .rates[0].cuts > 0 and .rates[0].mean_bps < 100000000 and .rates[1].cnps == 0 and .rates[1].rate_bps == 100000000"

# Without CNPs the rate stays.
psn=0x800000
respond on "$right" right0 --cc 'dcqcn line 100mbit'
read_all --no-cnp
end_respond
assert_sent '.answers.cnps_sent == 0 and .answers.ce == 0'
assert_respond '.received.cnps == 0 and ([.rates[].cuts] | add) == 0'

keep xr respond rx0 --cc timely && fail '--cc timely'
grep -q 'needs RTTs' "$scratch/last.err" || fail "timely: $(cat "$scratch/last.err")"
unbridge
