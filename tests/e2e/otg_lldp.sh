#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# LLDP of `serve`: two wired ports that are each other's neighbours; then a host without XDP at the other end: tshark reads the LLDPDUs, also that of the
# end, and scapy builds those of a neighbour, which goes when its TTL ends.
. "$(dirname "$0")/otg_lib.sh"
need python3 tshark tcpdump jq
lane3
direct
before=$(kernel_objects)
judged_server lldp.py "$left/direct0" "$right/direct1"
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"

in_background ip netns exec "$right" tcpdump -i direct1 -s 0 --immediate-mode -U -w "$scratch/lldp.pcap" ether proto 0x88cc 2>"$scratch/tcpdump.err"
wait_for 10 grep -qs 'listening on' "$scratch/tcpdump.err" || fail "tcpdump: $(cat "$scratch/tcpdump.err")"
serve --ports "$left/direct0"
"$otg_tests/lldp.py" "$location" "$left/direct0" alone || fail "the configuration of one port"
neighbours() { curl -s -m 30 -d '{"choice": "lldp_neighbors"}' "$location/monitor/states" | jq -c '.lldp_neighbors'; }
counts() {
  curl -s -m 30 -d '{"choice": "lldp"}' "$location/monitor/metrics" |
    jq -r '.lldp_metrics[0] | "\(.frames_rx) \(.frames_error_rx) \(.frames_discard) \(.tlvs_discard) \(.tlvs_unknown)"'
}
are() { [[ $(neighbours | jq length) == "$1" ]]; }
have() { [[ $(counts) == "$1" ]]; }
if /usr/bin/python3 -c 'import scapy.contrib.lldp' 2>/dev/null; then
  sends() { ip netns exec "$right" /usr/bin/python3 "$otg_tests/lldp_neighbour.py" direct1 "$@" 2>"$scratch/neighbour.err" || fail "lldp_neighbour.py $*: $(cat "$scratch/neighbour.err")"; }
  sends 4
  wait_for 3 are 1 || fail "no neighbour: $(neighbours) $(counts)"
  assert_eq '[{"capabilities":[{"capability_enabled":false,"capability_name":"mac_bridge"},{"capability_enabled":true,"capability_name":"router"}],"chassis_id":"192.0.2.9","chassis_id_type":"network_address","custom_tlvs":[{"custom_type":127,"information":"05dc","oui":"00120f","oui_subtype":4}],"lldp_name":"L","management_address":"192.0.2.9","management_address_type":"ipv4","neighbor_id":"1","port_description":"uplink","port_id":"to the tester","port_id_type":"interface_alias","system_description":"a � switch\n","system_name":"switch","ttl":4}]' \
    "$(neighbours | jq -cS 'map(del(.age, .last_update))')" "the neighbour that scapy sends"
  wait_for 8 are 0 || fail "a neighbour whose TTL ended: $(neighbours)"
  sends 60
  wait_for 3 are 1 || fail "no second neighbour: $(neighbours)"
  sends 0
  wait_for 3 are 0 || fail "a neighbour that was shut down: $(neighbours)"
  sends 60 malformed
  wait_for 3 have "5 2 1 1 0" || fail "counts of malformed LLDPDUs: $(counts)"
fi
end_serve
sleep 0.3
end_background INT
fields=$(tshark -r "$scratch/lldp.pcap" -Y 'eth.src != 02:00:00:00:00:0b' -T fields -E separator=, -E aggregator=+ -e eth.dst -e lldp.chassis.subtype \
  -e lldp.port.subtype -e lldp.port.id -e lldp.time_to_live -e lldp.tlv.system.name -e lldp.tlv.len 2>/dev/null)
[[ -n $fields ]] || fail "no LLDPDU"
assert_eq "01:80:c2:00:00:0e,7,5,eth7,12,tester,4+5+2+6+6+5+0" "$(sort -u <<<"$fields" | tail -n 1)" "LLDPDUs, as tshark reads them"
assert_eq "01:80:c2:00:00:0e,7,5,eth7,0,,4+5+2+0" "$(tail -n 1 <<<"$fields")" "the LLDPDU at the end"
