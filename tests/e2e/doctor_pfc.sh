#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# doctor --pfc-from: a veth lets XDP see PFC frames; with a wrong port, or frames that are lost on the
# way, the verdict is unknown; nothing stays attached that was not, and what was attached stays.
. "$(dirname "$0")/lib.sh"
need jq tcpdump tshark
lane
before=$(kernel_objects)
ip -n "$rx" link add far0 type veth peer name near0
ip -n "$rx" link set far0 up
ip -n "$rx" link set near0 up

# verdict IF IF2: of the check, and its text.
verdict() {
  keep xr --json doctor "$1" --pfc-from "$2" || fail "doctor $1: $(cat "$scratch/last.err")"
  jq -r '.checks[] | select(.check == "pfc_frames") | "\(.status): \(.text)"' "$scratch/last.out"
}
grep -q '^ok: XDP .*far0' <<<"$(verdict near0 far0)" || fail "a veth: $(verdict near0 far0)"
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
[[ $(ip -n "$rx" -j link show near0 | jq '.[0].promiscuity // 0') == 0 ]] || fail "near0 stays promiscuous"

# An attached port stays attached, and its counters have the frame: no class is enabled in it.
xr attach near0 >/dev/null 2>&1
ip netns exec "$rx" tcpdump -i far0 -Q out -U -c 1 -w "$scratch/sent.pcap" ether proto 0x8808 2>"$scratch/dump" &
background+=($!)
wait_for 10 grep -q 'listening on' "$scratch/dump" || fail "no observer"
grep -q '^ok: ' <<<"$(verdict near0 far0)" || fail "attached: $(verdict near0 far0)"
wait "${background[-1]}" || fail "no PFC frame left: $(cat "$scratch/dump")"
assert_eq "0x0101 0x0000" "$(tshark -r "$scratch/sent.pcap" -T fields -E separator=' ' -e macc.opcode -e macc.cbfc.enbv 2>/dev/null)" \
  "opcode and class-enable vector"
xr --json counters near0 >"$scratch/counters.json" || fail "near0 is not attached any more"
assert_json "$scratch/counters.json" '.frames.pfc >= 1'
# One that is lost on the way: here before it leaves.
if ip netns exec "$rx" tc qdisc add dev far0 clsact 2>/dev/null &&
  ip netns exec "$rx" tc filter add dev far0 egress protocol 0x8808 matchall action drop 2>/dev/null; then
  grep -q '^unknown: no PFC frame from far0 .* an ordinary frame did' <<<"$(verdict near0 far0)" ||
    fail "a lost PFC frame: $(verdict near0 far0)"
else
  echo "no tc filter here: a lost PFC frame is not tried"
fi
xr detach near0 >/dev/null
grep -q '^unknown: no frame from rx0 ' <<<"$(verdict near0 rx0)" || fail "not the other end: $(verdict near0 rx0)"
ip -n "$rx" link set far0 down
grep -q '^unknown: .*far0 is down' <<<"$(verdict near0 far0)" || fail "down: $(verdict near0 far0)"
refused 'pfc-from gone0: no such interface' xr doctor near0 --pfc-from gone0
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
