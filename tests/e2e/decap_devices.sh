#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The kernel's own tunnel devices send a capture: a port with --decap reports what is inside.
. "$(dirname "$0")/lib.sh"
need jq
lane 9000
comparable+=' | if has("streams") then .streams |= map(del(.missing_network, .missing_mirror, .missing_unknown)) else . end'
mac=$(ip -n "$rx" -j link show rx0 | jq -r '.[0].address')
ip -n "$tx" addr add 198.51.100.1/24 dev tx0
ip -n "$tx" neigh replace 198.51.100.2 lladdr "$mac" dev tx0 nud permanent
ends=(local 198.51.100.1 remote 198.51.100.2)
file=$(capture loss_rc_send_v4)
tried=() absent=()

# device NAME TUNNEL ARGUMENT...: sends the capture by a device of this kind.
device() {
  local name=$1 tunnel=$2
  shift 2
  if ! ip -n "$tx" link add tunnel0 type "$@" 2>"$scratch/last.err"; then
    absent+=("$name")
    return
  fi
  ip -n "$tx" link set tunnel0 mtu 4000 up
  xr attach rx0 --decap auto >/dev/null 2>&1
  ip netns exec "$tx" "$XR_REPLAY" --ifname tunnel0 "$file" >"$scratch/sent" || fail "cannot send by $name"
  same_report "$file"
  assert_json "$scratch/counters.json" ".tunnels.$tunnel == .frames.total"
  if [[ $name == *numbered ]]; then
    assert_json "$scratch/counters.json" '.mirrors | length == 1 and .[0].lost == 0 and .[0].frames > 0
      and .[0].src == "198.51.100.1" and .[0].dst == "198.51.100.2"'
  fi
  xr detach rx0 >/dev/null 2>&1
  ip -n "$tx" link del tunnel0
  tried+=("$name")
}

device "erspan I" erspan erspan "${ends[@]}" erspan_ver 0
device "erspan II, numbered" erspan erspan "${ends[@]}" seq key 5 erspan_ver 1 erspan 10
device "erspan III, numbered" erspan erspan "${ends[@]}" seq key 5 erspan_ver 2 erspan_dir ingress erspan_hwid 3
device "gretap" gre gretap "${ends[@]}"
device "gretap, numbered" gre gretap "${ends[@]}" seq key 9
device "vxlan" vxlan vxlan id 77 "${ends[@]}" dstport 4789 dev tx0
device "geneve" geneve geneve id 77 remote 198.51.100.2 dstport 6081
((${#tried[@]} == 0)) || printf 'identical reports: %s\n' "$(IFS=,; echo "${tried[*]}")"
((${#absent[@]} == 0)) || printf 'this kernel has no device for: %s\n' "$(IFS=,; echo "${absent[*]}")"
((${#tried[@]} > 0)) || skip "this kernel has no tunnel devices"
