#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs_commands.sh [PAGE|WORDS]: every command of README.md and of docs/*.md works as written, or those of a page, or in blocks with
# these words.
. "$(dirname "$0")/lib.sh"
need_root
need python3 ip ethtool curl promtool
/usr/bin/python3 -c 'import scapy.contrib.erspan' 2>/dev/null || skip "needs scapy"
prefix=xr-docs-$$-
# shellcheck disable=SC2329 # by the trap
remove() {
  local status=$? name
  set +e
  for name in $(ip netns list | grep -o "^${prefix}[a-z0-9-]*"); do ip netns del "$name" 2>/dev/null; done
  (exit "$status")
  tidy_up
}
trap remove EXIT
mkdir "$scratch/work"
"$here/docs_commands.py" "$here/../.." "$XDP_ROCE" "$prefix" "$scratch/work" "${1:-}" >"$scratch/commands" || fail "commands of the documents"
(($(cut -d' ' -f1 "$scratch/commands") >= 80)) || [[ -n ${1:-} ]] || fail "only $(cat "$scratch/commands")"
