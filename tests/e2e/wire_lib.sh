# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The harness of the scenarios of `wire`: a scenario sources this, calls `lane3`, then `begin_wire`.
. "$(dirname "${BASH_SOURCE[0]}")/bridge_lib.sh"

# begin_wire [OPTION...]: `wire box0 box1`, until it holds frames. Its pid is in $wire_pid, what it
# says in $scratch/wire.{out,err}.
begin_wire() {
  "$XDP_ROCE" --netns "$box" --json wire box0 box1 "$@" >"$scratch/wire.out" 2>"$scratch/wire.err" &
  wire_pid=$!
  background+=("$wire_pid")
  wait_for 30 wire_runs || fail "wire does not run: $(cat "$scratch/wire.err")"
}
wire_runs() {
  kill -0 "$wire_pid" 2>/dev/null || fail "wire has ended: $(cat "$scratch/wire.err")"
  xr --json link box0 show 2>/dev/null | jq -e '.link.running' >/dev/null
}

# Ends it and keeps its report: wire_said FILTER.
end_wire() {
  local status=0
  remember
  kill -INT "$wire_pid"
  wait "$wire_pid" || status=$?
  ((status == 0)) || fail "wire ended with $status: $(cat "$scratch/wire.err")"
}
wire_said() {
  jq -e "$1" "$scratch/wire.out" >/dev/null || fail "wire: not $1: $(cat "$scratch/wire.out")"
}

# Frames that the kernel counts at the ends.
sent_by_left() { ip netns exec "$left" cat /sys/class/net/left0/statistics/tx_packets; }
got_by_right() { ip netns exec "$right" cat /sys/class/net/right0/statistics/rx_packets; }

# rtt COUNT [OPTION...]: of ping from left to right, "MIN AVERAGE MAX" in microseconds.
rtt() {
  local count=$1
  shift
  ip netns exec "$left" ping -q -n -c "$count" -i 0.02 "$@" 192.0.2.2 >"$scratch/ping" || fail "$(cat "$scratch/ping")"
  awk -F'[=/ ]+' '/^rtt/ { print $6 * 1000, $7 * 1000, $8 * 1000 }' "$scratch/ping"
}

# within WHAT GOT LEAST MOST
within() {
  awk -v got="$2" -v least="$3" -v most="$4" 'BEGIN { exit !(got >= least && got <= most) }' ||
    fail "$1: $2 is not between $3 and $4"
}
