#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Generic (skb) mode gives the same counters, is shown in status, and is the fallback of auto if
# native mode is not available.
. "$(dirname "$0")/lib.sh"
need jq
lane 9000

for name in rc_send_cm_v4 m4200_rc_pmtu2048_v6; do
  file=$(capture "$name")
  xr attach rx0 --mode skb
  xr --json status rx0 >"$scratch/status.json"
  grep -q skb "$scratch/status.json" || fail "not in skb mode: $(cat "$scratch/status.json")"
  replay "$file"
  same_report "$file"
  xr detach rx0
done

# lo has no native XDP
ip -n "$rx" link set lo up
keep xr attach lo || fail "auto on lo: $(cat "$scratch/last.err")"
grep -qi skb "$scratch"/last.{out,err} || fail "auto does not say that it fell back to skb"
xr detach lo
refused 'lo' xr attach lo --mode native
