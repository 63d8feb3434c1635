#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# respond on two queues: packets of one QP come on both, as their UDP source ports differ, and it answers as on one. The kernel's
# bridge between the ends gives each frame to a queue of the responder's port by its addresses and ports, as a NIC does.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3 1500 2
# The responder's answers go through one queue to the sender.
sender_netns=$left sender_port=left0
ip -n "$box" link add name middle up type bridge || skip "no bridge of the kernel"
for port in box0 box1; do ip -n "$box" link set "$port" master middle; done
fits() { ip -n "$box" -j link show middle | jq -e '.[0].operstate == "UP"' >/dev/null; }
wait_for 5 fits || fail "the bridge is down"
on_both='.port.queues == 2 and .received.other_queue > 0 and .overflow.other_queue_full == 0 and .overflow.qps_full == 0'
# One packet at a time: those of two queues may overtake each other.
flow=(--window 1 src 192.0.2.1 dst 192.0.2.2 ack-every 1)

# Each packet has another source port. Nothing is sent again, and each READ has its data.
respond on "$right" right0 --queues 2 --memory 1MB --rkey 0xabc --va 0x40000000
send --reliable "${flow[@]}" port vary qp 0x11 src-qp 0x11 send size 1000 messages 300
assert_sent '.finished and .sent.packets == 300 and .recovery.retransmitted == 0 and .answers.naks == 0'
send --reliable "${flow[@]}" port vary qp 0x21 src-qp 0x21 read size 1000 messages 300 rkey 0xabc va 0x40000000
assert_sent '.finished and .answers.naks == 0 and .answers.read_responses == 300'
end_respond
assert_respond "$on_both and .received.messages == 300 and .received.qps == 2 and .received.out_of_order == 0
  and .received.in_order == 600 and .answered.naks == 0 and .received.other_queue < 600"

# RDMA CM: messages and data of each QP on any queue.
respond on "$right" right0 --queues 2
send --cm --reliable "${flow[@]}" port vary qps 8 src-qp 0x700 write size 3000 messages 20
assert_sent '.finished and .connections.established == 8 and .connections.ended == 8 and .connections.mads_resent == 0
  and .connections.rejected == 0 and .recovery.failed_qps == 0 and .recovery.retransmitted == 0 and .answers.naks == 0'
end_respond
assert_respond "$on_both and .answered.cm_connections == 8 and .answered.cm_messages == 24 and .received.qps == 8
  and .received.messages == 160 and .answered.naks == 0 and .received.out_of_order == 0"
