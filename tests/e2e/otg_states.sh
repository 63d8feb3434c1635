#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Control calls of `serve` in every order, on real ports; then frames whose sizes ports, flows and captures must agree in, as tshark reads these: with an
# FCS that is right. XR_SECONDS: so long for the orders.
. "$(dirname "$0")/otg_lib.sh"
need python3 tshark
lane3
direct
sysctl_off() { ip netns exec "$1" sysctl -qw "net.ipv6.conf.$2.disable_ipv6=1"; } # no frames of the hosts
sysctl_off "$left" direct0
sysctl_off "$right" direct1
before=$(kernel_objects)
serve --ports "$left/direct0,$right/direct1"
keep "$otg_tests/states.py" "$location" "$left/direct0" "$right/direct1" "${XR_SECONDS:-15}" || fail "states: $(cat "$scratch/last.err" "$scratch/serve.err")"
cat "$scratch/last.out"
keep "$otg_tests/sizes.py" "$location" "$left/direct0" "$right/direct1" "$scratch" || fail "sizes: $(cat "$scratch/last.err" "$scratch/serve.err")"
cat "$scratch/last.out"
for size in 64 128 1518; do
  for form in pcap pcapng; do
    found=$(tshark -r "$scratch/$size.$form" -o eth.check_fcs:TRUE -Y udp.dstport==7000 -T fields -e frame.len -e eth.fcs.status 2>/dev/null | sort | uniq -c | tr -s ' \t' ' ')
    assert_eq " 1000 $size 1" "$found" "lengths and FCS of $size.$form, as tshark reads them"
  done
done
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
