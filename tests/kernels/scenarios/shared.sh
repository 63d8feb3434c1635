#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One hook with xdp-filter's program and ours: which runs first, and each of the two goes or is exchanged while the
# other stays. What the filter drops, a program after it does not see.
. "$(dirname "$0")/checks.sh"
lane
tidy() {
  [[ $(on_hook "$rx" rx0) ]] || return 0
  xr detach rx0
  [[ $(on_hook "$rx" rx0) ]] || return 0
  in_rx xdp-filter unload rx0
  in_rx xdp-loader unload rx0 --all
  ip -n "$rx" link set rx0 xdp off
}

filter() { keep in_rx xdp-filter "$@"; }
filter_loaded() { filter load rx0 -f ipv4 || skip "xdp-filter: $(tail -n 1 "$scratch/last.err")"; }
filter_drops() { filter ip -m src 192.0.2.1 || fail "xdp-filter: $(cat "$scratch/last.err")"; }
attach() { keep xr attach rx0 "$@" || fail "attach: $(cat "$scratch/last.err")"; }
listed() { in_rx xdp-loader status rx0 | grep -oE 'xdp_roce\w*|xdpfilt\w*' | cut -c 1-7 | paste -sd ' '; }
counted() { xr --json counters rx0 | jq .frames.rocev2; }
# passes COUNT: of 100 frames, so many reach our program.
passes() {
  local before came
  before=$(counted) came=$(came_in "$rx" rx0)
  replay --stream --packets 100
  wait_for 10 all_came "$came" || fail "$(($(came_in "$rx" rx0) - came)) of 100 frames came in"
  assert_eq "$1" $(($(counted) - before)) "frames counted"
}
all_came() { (($(came_in "$rx" rx0) - $1 >= 100)); }

# xdp-filter's priority is 10, ours 50 unless it is said.
filter_first() {
  filter_loaded
  attach
  assert_eq "xdpfilt xdp_roc" "$(listed)" "programs on the hook, in their order"
  passes 100
  filter_drops
  passes 0
}
ours_first() {
  filter_loaded
  filter_drops
  attach --priority 5
  assert_eq "xdp_roc xdpfilt" "$(listed)" "programs on the hook, in their order"
  passes 100
}
filter_joins() {
  attach
  [[ $(xr --json status rx0 | jq '.attachments[0].dispatcher') == true ]] || skip "alone on the hook"
  filter_loaded
  assert_eq "xdpfilt xdp_roc" "$(listed)" "programs on the hook, in their order"
  passes 100
  filter_drops
  passes 0
}
filter_leaves() {
  filter_loaded
  attach
  filter unload rx0 || fail "xdp-filter: $(cat "$scratch/last.err")"
  assert_eq xdp_roc "$(listed)" "programs on the hook"
  passes 100
  keep xr detach rx0 || fail "detach: $(cat "$scratch/last.err")"
  assert_eq "" "$(on_hook "$rx" rx0)" "program on the hook"
}
filter_comes_again() {
  filter_loaded
  attach
  filter unload rx0 || fail "xdp-filter: $(cat "$scratch/last.err")"
  filter_loaded
  filter_drops
  passes 0
}
ours_leaves() {
  filter_loaded
  attach
  keep xr detach rx0 || fail "detach: $(cat "$scratch/last.err")"
  assert_eq xdpfilt "$(listed)" "programs on the hook"
  attach --priority 5
  assert_eq "xdp_roc xdpfilt" "$(listed)" "programs on the hook, in their order"
  passes 100
}

# Rules need another program than the one that counts: beside the filter it is not exchanged, and both stay.
ours_stays() {
  filter_loaded
  attach
  refused 'no program can be exchanged' xr impair rx0 add roce drop
  assert_eq "xdpfilt xdp_roc" "$(listed)" "programs on the hook, in their order"
  passes 100
}

checks=(filter_first ours_first filter_joins filter_leaves filter_comes_again ours_leaves ours_stays)
[[ ! ${1:-} ]] || checks=("$@")
for name in "${checks[@]}"; do check "shared_$name" "$name"; done
echo END
((failures == 0))
