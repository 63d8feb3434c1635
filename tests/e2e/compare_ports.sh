#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# compare of two tap ports: one gets a real capture, the other the same without some frames. A port and
# a file; the files that are kept; nothing is left over.
. "$(dirname "$0")/lib.sh"
need jq editcap
lane
ip -n "$tx" link add tx1 type veth peer name rx1 netns "$rx"
ip -n "$rx" link set rx1 up
ip -n "$tx" link set tx1 up
gzip -dcf "$(capture loss_rc_send_v4)" >"$scratch/whole.pcap"
editcap -F pcap "$scratch/whole.pcap" "$scratch/thinned.pcap" 100 205-209 777
before=$(kernel_objects)

"$XDP_ROCE" --netns "$rx" --json compare rx0 rx1 --for 6s --keep "$scratch/kept" >"$scratch/compare.json" 2>"$scratch/said" &
comparing=$!
background+=("$comparing")
wait_for 30 grep -qs begun "$scratch/said" || fail "not begun: $(cat "$scratch/said")"
# B gets it 300 ms later.
ip netns exec "$tx" "$XR_REPLAY" --ifname tx0 "$scratch/whole.pcap" >/dev/null
sleep 0.3
ip netns exec "$tx" "$XR_REPLAY" --ifname tx1 "$scratch/thinned.pcap" >/dev/null
wait "$comparing" || fail "compare: $(cat "$scratch/said")"
assert_json "$scratch/compare.json" '[.places[] | [.place, .kind, .name]] == [["A", "interface", "rx0"], ["B", "interface", "rx1"]]'
assert_json "$scratch/compare.json" '([.streams[].lost] | add) == 7'
assert_json "$scratch/compare.json" '([.streams[] | .duplicated + .reordered + .only_to + .outside_from + .outside_to] | add) == 0'
assert_json "$scratch/compare.json" '.clocks[0].offset == "given" and .clocks[0].offset_ns == 0 and .overflow.capture == 0'
for file in A B; do [[ -s $scratch/kept/$file.pcapng ]] || fail "$file.pcapng is not kept"; done
# The kept files give the same. They have one clock, as the ports had: an offset that is estimated depends on how evenly the two
# replays went. Losses near the ends of the files are outside where the replays were uneven.
"$XDP_ROCE" --json compare --clock-offset 0 "$scratch/kept/A.pcapng" "$scratch/kept/B.pcapng" >"$scratch/again.json"
assert_json "$scratch/again.json" '([.streams[] | .lost + .outside_from + .only_to + .outside_to] | add) == 7'
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"
