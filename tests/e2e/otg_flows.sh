#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Plain flows of `serve`: frames sent and received, loss, latency, a capture as tshark reads it, links, pauses; and configurations that are
# replaced again and again leave no descriptor, map or memory. XR_ROUNDS: so many.
. "$(dirname "$0")/otg_lib.sh"
need python3
need tshark
lane3
direct
before=$(kernel_objects)
serve --ports "$left/direct0,$right/direct1"
clients() { "$otg_tests/flows.py" "$location" "$left/direct0" "$right/direct1" "$scratch/b.pcapng" "$1" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"; }
clients 2

# The filter's frames alone: one destination of four, both ports, lengths and checksums right.
fields=$(tshark -r "$scratch/b.pcapng" -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields -E separator=, -e frame.len -e ip.src -e ip.dst \
  -e udp.srcport -e udp.length -e ip.checksum.status -e udp.checksum.status 2>/dev/null | sort | uniq -c | sed 's/^ *//')
assert_eq "250 256,198.18.0.1,198.18.1.2,5000,218,1,1" "$fields" "frames in the capture, as tshark reads them"
assert_eq "6001" "$(tshark -r "$scratch/b.pcapng" -T fields -e udp.dstport 2>/dev/null | sort -u)" "destination ports of every fourth frame"

# Descriptors, those of maps and programs among them, as after the first rounds; memory within 16 MB. (The machine's maps are of other scenarios too.)
held() { find "/proc/$serving/fd" -mindepth 1 | wc -l; }
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$serving/status"; }
clients 8 # until each thread of the server has had a request
descriptors=$(held) memory=$(resident)
clients "${XR_ROUNDS:-10}"
assert_eq "$descriptors" "$(held)" "descriptors after ${XR_ROUNDS:-10} configurations"
(($(resident) < memory + 16384)) || fail "memory grew from $memory to $(resident) kB"
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
