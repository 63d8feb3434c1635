#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# send --cm and respond: RDMA CM connects, traffic flows without a QPN or PSN from the user, RDMA CM
# disconnects; lost messages are sent again, rejections have their reason. The messages are checked by
# tshark, and by analyze --connections and connections IF.
. "$(dirname "$0")/traffic_lib.sh"
need jq tshark mergecap
lane3
sender_netns=$left sender_port=left0
bridge

# of_cm FIELDS...: of the RDMA CM messages in $scratch/cm.pcap, in order, as decimal numbers.
of_cm() {
  local fields=() one
  for one; do fields+=(-e "$one"); done
  tshark -r "$scratch/cm.pcap" -Y 'infiniband.mad.mgmtclass == 7' -T fields "${fields[@]}" 2>/dev/null |
    while read -r -a numbers; do
      for one in "${numbers[@]}"; do printf '%d ' "$one"; done
      printf '\n'
    done | sed 's/ $//' | grep .
}
# connected FLOW...: by RDMA CM, to the end.
connected() { send --cm "$@"; }

respond on "$right" right0 --memory 1MB --rkey 0xabc --va 0x40000000
watch_ports "$left" left0 "$right" right0
in_background endpoint "$scratch/live.json" --json --netns "$box" connections box0 box1
live=${background[-1]}
wait_for 15 grep -q 'connections: begun' "$scratch/live.json.err" || fail "connections: $(cat "$scratch/live.json.err")"
connected --verify --port 4444 dst 192.0.2.2 src-qp 0x700 qps 3 write size 5000 messages 4 pmtu 512
assert_sent '.finished and .connections.established == 3 and .connections.ended == 3 and .connections.mads_sent == 9
  and .connections.mads_resent == 0 and .connections.rejected == 0 and .connections.not_ended == 0
  and .verified.messages == 12 and .verified.different_packets == 0 and .recovery.failed_qps == 0 and .answers.stray == 0'
kill -INT "$live"
wait "$live" || fail "connections: $(cat "$scratch/live.json.err")"
forget "$live"
seen_ports "$scratch/cm.pcap"
end_respond
assert_respond '.answered.cm_connections == 3 and .answered.cm_messages == 9 and .received.messages == 12 and .received.qps == 3
  and (.refused | .bad_rkey + .out_of_bounds + .cm_rejected == 0)'

# By tshark: the messages; the REQs; and that requests go to the REPs' QPNs, from their PSNs on.
assert_eq '16 16 16 19 19 19 20 20 20 21 21 21 22 22 22' "$(of_cm infiniband.mad.attributeid | sort -n | tr '\n' ' ' | sed 's/ $//')" \
  'RDMA CM messages'
assert_eq $'4444 1792\n4444 1793\n4444 1794' "$(of_cm infiniband.cm.req.serviceid.dport infiniband.cm.req.localqpn)" 'REQs'
firsts=$(tshark -r "$scratch/cm.pcap" -Y 'infiniband.reth' -T fields -e infiniband.bth.destqp -e infiniband.bth.psn 2>/dev/null |
  while read -r qp psn; do printf '%d %d\n' "$qp" "$psn"; done | sort -s -u -k1,1n)
assert_eq "$(of_cm infiniband.cm.rep.localqpn infiniband.cm.rep.startpsn | sort -n)" "$firsts" 'QPNs and first PSNs'
assert_eq 0 "$(tshark -r "$scratch/cm.pcap" -Y '_ws.malformed' 2>/dev/null | wc -l)" 'malformed frames'

# These connections as `analyze` and, live, `connections` report them.
three='(.connections | length == 3 and all(.state == "ended" and .active == "192.0.2.1" and .passive == "192.0.2.2" and .pmtu == 512
  and .retries == 7 and .rnr_retries == 7 and .transport == "RC" and .service_id == 17174876 and .mads == 5 and .mads_again == 0
  and .version == "v2"))'
"$XDP_ROCE" --json analyze --connections "$scratch/cm.pcap" >"$scratch/analyzed.json" || fail 'analyze --connections'
assert_analyzed "$three and (.cm_messages | .req == 3 and .rep == 3 and .rtu == 3 and .dreq == 3 and .drep == 3 and .unmatched == 0)"
assert_json "$scratch/live.json" "$three"
keys='[.connections[] | {active_qp, passive_qp, active_psn, passive_psn, active_id, passive_id}] | sort_by(.active_qp)'
assert_eq "$(jq -c "$keys" "$scratch/analyzed.json")" "$(jq -c "$keys" "$scratch/live.json")" 'connections, live'
assert_eq "$(of_cm infiniband.cm.rep.localqpn infiniband.cm.rep.startpsn)" \
  "$(jq -r '.connections[] | "\(.passive_qp) \(.passive_psn)"' "$scratch/analyzed.json")" 'QPNs and PSNs of the REPs'

# Lost: the first REQ, the first REP; both are sent again. QP 1 has PSNs of its own.
respond on "$right" right0
for port in box0 box1; do
  keep xr impair "$port" add opcode cm positions 1 drop || fail "add: $(cat "$scratch/last.err")"
done
connected --reliable --cm-timeout 100ms dst 192.0.2.2 send size 100 messages 10
assert_sent '.connections.mads_resent == 2 and .connections.ended == 1 and .sent.messages == 10'
for port in box0 box1; do keep xr impair "$port" clear; done
end_respond
assert_respond '.answered.cm_connections == 1 and .received.messages == 10'

# RoCEv1; RDMA CM of the other version is ignored.
respond on "$right" right0 --cm v1
connected --reliable dst 192.0.2.2 v1 send size 100 messages 10
assert_sent '.connections.ended == 1 and .sent.messages == 10'
exits 1 xt --json send "$sender_port" --cm --cm-timeout 20ms --cm-retries 1 dst 192.0.2.2 send size 8 messages 1
assert_json "$scratch/last.out" '.connections.timed_out == 1 and .connections.mads_sent == 3 and .sent.messages == 0'
grep -q '1 of 1 connection was not made: 1 without an answer' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
end_respond
assert_respond '.refused.cm_other_version == 3'

respond on "$right" right0 --reject invalid-service-id
watch_ports "$left" left0 "$right" right0
exits 1 xt --json send "$sender_port" --cm --service-id 0x1234567890 dst 192.0.2.2 qps 2 send size 8 messages 1
grep -q '2 of 2 connections were not made: 2 rejected (invalid service ID)' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
seen_ports "$scratch/cm.pcap"
end_respond
assert_respond '.refused.cm_rejected == 2 and .answered.cm_connections == 0'
assert_eq $'8\n8' "$(of_cm infiniband.cm.rej.reason)" 'reasons of the REJs'
"$XDP_ROCE" --json analyze --connections "$scratch/cm.pcap" >"$scratch/analyzed.json"
assert_analyzed '.connections | length == 2 and all(.state == "rejected" and .reason == "invalid service ID" and .service_id == 78187493520)'

misused "'nonsense' is not a reason" xr respond box0 --reject nonsense
misused 'UD|RC and UC' xt send "$sender_port" --cm dst 192.0.2.2 "${at[@]}" transport ud send size 8 messages 1
misused 'queues 1' xt send "$sender_port" --cm --queues 2 dst 192.0.2.2 "${at[@]}" send size 8 messages 1
unbridge
