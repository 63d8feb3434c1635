#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A device of `serve` pings the kernel's addresses, and the kernel pings the device.
. "$(dirname "$0")/otg_lib.sh"
need python3 ping
lane3
direct
before=$(kernel_objects)
ip -n "$right" address add 198.51.100.20/24 dev direct1
ip netns exec "$right" sysctl -qw net.ipv6.conf.direct1.disable_ipv6=0
ip -n "$right" address add 2001:db8:7::20/64 dev direct1 nodad
judged_server pings.py "$left/direct0" 198.51.100.20 2001:db8:7::20
for address in 198.51.100.10 2001:db8:7::10; do
  ip netns exec "$right" ping -c 3 -i 0.2 -W 2 -s 999 -q "$address" >"$scratch/ping" || fail "no answer from $address: $(cat "$scratch/ping")"
done
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
