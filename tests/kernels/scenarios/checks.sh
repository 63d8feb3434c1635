# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scenarios of a guest have in common: sourced in one, beside the e2e harness, whose words a check
# uses. Each check is a line `RESULT pass|skip|fail NAME SECONDS [REASON]` on standard output.
export XR_MACHINE=ours # nobody else is in a guest
. "$(dirname "${BASH_SOURCE[0]}")/../../e2e/traffic_lib.sh"

# An emulated processor is slow; nothing here measures time.
export XR_PATIENCE=6
# Instead of a veth: the NICs with the two MACs of $XR_NICS, which are back to back (nics.sh).
if [[ ${XR_NICS:-} ]]; then
  wire() {
    local ns name mac i=0
    for mac in $XR_NICS; do
      read -r ns name < <( ((i == 0)) && echo "$tx tx0" || echo "$rx rx0")
      ip link set "$(ip -j link | jq -r --arg mac "$mac" '.[] | select(.address == $mac).ifname')" netns "$ns" name "$name" ||
        fail "no NIC has $mac"
      [[ $2 == 1 || $2 == "$(queues_of "$ns" "$name")" ]] || ip netns exec "$ns" ethtool -L "$name" combined "$2"
      ip -n "$ns" link set "$name" mtu "$1" promisc on up # captures have MACs of their own
      i=$((i + 1))
    done
    # Answers come on the queue that sends; RSS, with a key by chance, sends them to any.
    ip netns exec "$tx" ethtool -X tx0 equal 1 >/dev/null 2>&1 || true
    carriers
  }
  carriers() { wait_for 15 both_carriers || fail "no carrier"; }
  both_carriers() { carrier "$tx" tx0 && carrier "$rx" rx0; }
  carrier() { [[ $(ip -n "$1" -j link show "$2" | jq -r '.[0].operstate') == UP ]]; }
  # A driver with one queue may not say so.
  queues_of() { { ip netns exec "$1" ethtool -l "$2" 2>/dev/null || true; } | awk '/^Combined:/ { n = $2 } END { print n ? n : 1 }'; }
fi
# tcpdump that reads a file.
packets() { tcpdump -Z root -n -r "$@" 2>"$scratch/last.tcpdump"; }

failures=0
# check NAME FUNCTION [ARGUMENT...]: in a subshell; `fail` and `skip` end it, `tidy` follows it.
check() {
  local name=$1 status begun=$SECONDS result reason
  shift
  set +e
  (
    trap 'set +e; end_all_background' EXIT
    set -e
    "$@"
  ) >"$scratch/check.log" 2>&1
  status=$?
  tidy >/dev/null 2>&1
  reason=
  case $status in
    0) result=pass ;;
    77) result=skip reason=$(sed -n 's/^SKIP: //p' "$scratch/check.log") ;;
    *)
      result=fail reason=$(grep -a '^FAIL: ' "$scratch/check.log" | tail -n 1 | cut -c 7-)
      [[ $reason ]] || reason="$(tail -n 1 "$scratch/check.log") (status $status)"
      failures=$((failures + 1))
      cat "$scratch/check.log"
      tail -n 5 "$scratch"/last.*
      ;;
  esac
  set -e
  printf 'RESULT\t%s\t%s\t%s\t%s\n' "$result" "$name" $((SECONDS - begun)) "$(tr '\n\t' '  ' <<<"$reason" | cut -c -300)"
}

# Not ours: what the kernel says is on a hook.
on_hook() { ip -n "$1" -d -j link show "$2" | jq -r '.[0].xdp.prog.id // empty'; }
hook_mode() { ip -n "$1" link show "$2" | sed -n '1s/.* \(xdp[a-z]*\) .*/\1/p'; }
# Frames that came in, by the kernel's count: XDP's own drops included. Of a NIC by its own count, where it has one: some drivers do not
# count what goes to a socket without copying.
came_in() {
  local own
  own=$([[ ! ${XR_NICS:-} ]] || ip netns exec "$1" ethtool -S "$2" 2>/dev/null | awk '/^ *rx_packets:/ { print $2 }')
  if [[ $own ]]; then echo "$own"; else ip -n "$1" -s -j link show "$2" | jq '.[0].stats64.rx.packets'; fi
}

# xdp-tools beside us: they need a bpffs, which `ip netns exec` hides.
in_rx() { nsenter --net="/run/netns/$rx" "$@"; }
