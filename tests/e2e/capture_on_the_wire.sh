#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# capture_on_the_wire.sh CAPTURE [MTU [VLAN]]: attach, replay, read, detach. The port's report
# equals that of the capture, and detach leaves nothing.
. "$(dirname "$0")/lib.sh"
need jq bpftool
lane "${2:-1500}"
file=$(capture "$1")
before=$(kernel_objects)

xr attach rx0
xr --json status rx0 >"$scratch/status.json"
grep -q native "$scratch/status.json" || fail "not in native mode: $(cat "$scratch/status.json")"

if [[ -n ${3:-} ]]; then
  "$XR_REPLAY" "$file" --vlan "$3" --write "$scratch/tagged.pcap" >/dev/null
  file=$scratch/tagged.pcap
fi
replay "$file"
same_report "$file"
assert_json "$scratch/counters.json" ".frames.total == $(sent packets) and .bytes.total == $(sent bytes)"

xr detach rx0
[[ $(ip -n "$rx" link show rx0) != *xdp* ]] || fail "a program is still on the hook"
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before")"
