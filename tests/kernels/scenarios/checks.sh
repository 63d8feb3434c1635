# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scenarios of a guest have in common: sourced in one, beside the e2e harness, whose words a check
# uses. Each check is a line `RESULT pass|skip|fail NAME SECONDS [REASON]` on standard output.
export XR_MACHINE=ours # nobody else is in a guest
. "$(dirname "${BASH_SOURCE[0]}")/../../e2e/traffic_lib.sh"

# An emulated processor is slow; nothing here measures time.
export XR_PATIENCE=6
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
# Frames that came in, by the kernel's count: XDP's own drops included.
came_in() { ip -n "$1" -s -j link show "$2" | jq '.[0].stats64.rx.packets'; }

# xdp-tools beside us: they need a bpffs, which `ip netns exec` hides.
in_rx() { nsenter --net="/run/netns/$rx" "$@"; }
