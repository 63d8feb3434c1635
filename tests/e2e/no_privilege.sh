#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Without privilege: the error names the missing capability; analyze, --help and --version need
# none.
. "$(dirname "$0")/lib.sh"
need jq setpriv
need_root
# its user must be able to read it
install -m 755 "$XDP_ROCE" "$scratch/xdp-roce"
cp "$(capture rc_send_1024_v4)" "$scratch/capture.pcap"
chmod 755 "$scratch"
chmod 644 "$scratch/capture.pcap"

nobody() {
  setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/xdp-roce" "$@"
}
without() {
  local caps=$1
  shift
  setpriv --bounding-set "$caps" --inh-caps "$caps" "$scratch/xdp-roce" "$@"
}

for command in 'attach lo' 'detach lo' 'counters lo' 'streams lo' 'events lo'; do
  # shellcheck disable=SC2086 # a command and its interface
  refused 'CAP_NET_ADMIN|CAP_BPF' nobody $command
done
refused 'CAP_NET_ADMIN' without -net_admin,-sys_admin attach lo
refused 'CAP_BPF' without -bpf,-sys_admin attach lo
# What only reads needs less.
for command in 'counters lo' 'export lo' 'impair lo list' 'status'; do
  # shellcheck disable=SC2086 # a command and its arguments
  refused 'CAP_BPF missing' without -bpf,-sys_admin,-net_admin $command
done

nobody --json analyze "$scratch/capture.pcap" >"$scratch/report.json"
assert_json "$scratch/report.json" '.frames.rocev2 == 200'
nobody --json doctor >"$scratch/doctor.json" || true # its hints repeat what was typed
assert_json "$scratch/doctor.json" "any(.checks[].hint; . == \"sudo $scratch/xdp-roce --json doctor\")"
nobody --help | grep -q attach || fail "--help"
nobody attach --help | grep -q -- --streams || fail "attach --help"
nobody --version | grep -qi libbpf || fail "--version does not tell libbpf's"
