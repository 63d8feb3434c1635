#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `wire` is killed under traffic: the kernel forwards frames again at once and counts those that were
# to be held; what the process held is lost, and the port's reports show how many. A new process goes
# on. A bridge that was there is joined and left there.
. "$(dirname "$0")/wire_lib.sh"
need ping
lane3
xr bridge box0 box1 >/dev/null 2>&1 || fail "bridge"
begin_wire
grep -q 'joins the bridge' "$scratch/wire.err" || fail "it does not say so: $(cat "$scratch/wire.err")"
refused "another xdp-roce wire holds its frames" xr wire box0 box1
ip netns exec "$left" ping -q -n -c 1 192.0.2.2 >/dev/null # ARP
xr impair box0 add non-roce delay 20ms >/dev/null
tries=${XR_KILLS:-5}
for ((i = 1; i <= tries; i++)); do
  ip netns exec "$left" ping -q -n -c 200 -i 0.005 192.0.2.2 >"$scratch/flood" &
  pinging=$!
  sleep 0.3
  kill -9 "$wire_pid"
  wait "$wire_pid" 2>/dev/null || true
  wait "$pinging" || fail "$(cat "$scratch/flood")"
  lost=$(awk '/packets transmitted/ { print $1 - $4 }' "$scratch/flood")
  ((lost <= 20)) || fail "kill $i lost $lost pings: $(cat "$scratch/flood")"
  read -r least _ _ < <(rtt 5)
  within "RTT after kill $i, us" "$least" 1 5000
  xr --json counters box0 >"$scratch/counters"
  ((i > 1)) || jq -e '.impaired.not_held > 50' "$scratch/counters" >/dev/null || fail "$(jq -c .impaired "$scratch/counters")"
  xr --json link box0 show | jq -e '.link.running == false' >/dev/null || fail "link show says that it runs"
  begin_wire
  read -r least _ _ < <(rtt 5)
  within "RTT with a new process, us" "$least" 20000 40000
done
end_wire
xr --json status box0 | jq -e '.interfaces[0].peer == "box1"' >/dev/null ||
  xr --json status box0 | jq -e 'tostring | test("box1")' >/dev/null || fail "the bridge is gone: $(xr status)"
