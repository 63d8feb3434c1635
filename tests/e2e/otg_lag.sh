#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# LAGs of `serve`: two of two ports each, wired port to port, static and with LACP; tshark reads the LACPDUs. Then LACP with the kernel's bonding
# driver, where there is one.
. "$(dirname "$0")/otg_lib.sh"
need python3 tshark
lane3
wires() { # direct0 and direct2 in $left, direct1 and direct3 in $right
  direct
  ip -n "$left" link add direct2 type veth peer name direct3 netns "$right"
  ip -n "$left" link set direct2 up
  ip -n "$right" link set direct3 up
}
wires
before=$(kernel_objects)
serve --ports "$left/direct0,$left/direct2,$right/direct1,$right/direct3"
status=0
lags=("$otg_tests/lags.py" "$location" "$left/direct0,$left/direct2" "$right/direct1,$right/direct3")
"${lags[@]}" >"$scratch/judged" 2>&1 || status=$?
cat "$scratch/judged"
((status != 77)) || skip "needs OTG's published model"
assert_eq 0 "$status" "exit status of the client ($(cat "$scratch/serve.err"))"
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"

# A host without XDP at the other end sees the LACPDUs, which another implementation reads: of a LAG whose partner is silent.
serve --ports "$left/direct0,$left/direct2"
cat >"$scratch/alone.json" <<END
{"ports": [{"name": "A", "location": "$left/direct0"}, {"name": "B", "location": "$left/direct2"}],
 "lags": [{"name": "alone", "protocol": {"choice": "lacp", "lacp": {"actor_system_id": "02:00:00:00:00:09", "actor_system_priority": 5, "actor_key": 77}},
   "ports": [{"port_name": "A", "ethernet": {"name": "a", "mac": "02:00:00:00:09:0a"}, "lacp": {"actor_port_number": 3, "actor_port_priority": 4}},
             {"port_name": "B", "ethernet": {"name": "b", "mac": "02:00:00:00:09:0b"}}]}]}
END
in_background ip netns exec "$right" tcpdump -i direct1 -s 0 -U -w "$scratch/lacp.pcap" ether proto 0x8809 2>"$scratch/tcpdump.err"
wait_for 10 grep -qs 'listening on' "$scratch/tcpdump.err" || fail "tcpdump: $(cat "$scratch/tcpdump.err")"
curl -s -m 30 -d "@$scratch/alone.json" "$location/config" >"$scratch/answer"
grep -q "LAG 'alone' is down: 0 of its ports are up, min_links is 1" "$scratch/answer" || fail "no warning: $(cat "$scratch/answer")"
sleep 3
end_background INT
fields=$(tshark -r "$scratch/lacp.pcap" -T fields -E separator=, -e frame.len -e eth.dst -e eth.src -e lacp.version -e lacp.actor.sys_priority \
  -e lacp.actor.sysid -e lacp.actor.key -e lacp.actor.port_priority -e lacp.actor.port -e lacp.partner.sysid -e lacp.collector.max_delay 2>/dev/null |
  sort | uniq -c | sed 's/^ *[0-9]* //')
assert_eq "124,01:80:c2:00:00:02,02:00:00:00:09:0a,0x01,5,02:00:00:00:00:09,77,4,3,00:00:00:00:00:00,0" "$fields" "LACPDUs, as tshark reads them"
# Expired for three seconds, then defaulted; never in sync.
states=$(tshark -r "$scratch/lacp.pcap" -T fields -e lacp.actor.state 2>/dev/null | sort -u | tr '\n' ' ')
assert_eq "0x47 0xc7 " "$states" "states of an actor without a partner"
[[ -z $(tshark -r "$scratch/lacp.pcap" -Y _ws.malformed 2>/dev/null) ]] || fail "tshark finds a LACPDU malformed"
end_serve

# A partner whose LACPDUs scapy builds: both ports; with another key on one wire, one port.
up() { curl -s -m 30 -d '{"choice": "lag", "lag": {}}' "$location/monitor/metrics" | jq -e ".lag_metrics[0].member_ports_up == $1" >/dev/null; }
lacp_rows() { curl -s -m 30 -d '{"choice": "lacp", "lacp": {}}' "$location/monitor/metrics"; }
if /usr/bin/python3 -c 'import scapy.contrib.lacp' 2>/dev/null; then
  serve --ports "$left/direct0,$left/direct2"
  for keys in "9 9 2" "9 8 1"; do
    read -r first second ports <<<"$keys"
    in_background ip netns exec "$right" /usr/bin/python3 "$otg_tests/lacp_partner.py" "direct1=$first" "direct3=$second" >"$scratch/partner.out" 2>&1
    wait_for 10 grep -qs ready "$scratch/partner.out" || fail "no partner: $(cat "$scratch/partner.out")"
    curl -s -m 30 -d "@$scratch/alone.json" "$location/config" >"$scratch/answer"
    wait_for 10 up "$ports" || fail "LACP with scapy's partner, keys $first and $second: $(lacp_rows) $(cat "$scratch/partner.out")"
    assert_eq "02:00:00:00:00:0b $first 1" "$(lacp_rows | jq -r '.lacp_metrics[0] | "\(.partner_id) \(.partner_key) \(.partner_port_num)"')" "the partner of the first port"
    end_background TERM
  done
  end_serve
fi

# The kernel's own implementation at the other end.
if ! ip -n "$right" link add bond0 type bond mode 802.3ad lacp_rate fast miimon 50 2>"$scratch/bond.err"; then
  echo "without the kernel's bonding driver: $(cat "$scratch/bond.err")"
  exit 0
fi
for each in direct1 direct3; do
  ip -n "$right" link set "$each" down
  ip -n "$right" link set "$each" master bond0
done
ip -n "$right" link set bond0 up
serve --ports "$left/direct0,$left/direct2"
curl -s -m 30 -d "@$scratch/alone.json" "$location/config" >"$scratch/answer"
wait_for 15 up 2 || fail "LACP with the kernel: $(lacp_rows)"
grep -q '02:00:00:00:00:09' <(ip netns exec "$right" cat /proc/net/bonding/bond0) || fail "the kernel has another partner"
end_serve
