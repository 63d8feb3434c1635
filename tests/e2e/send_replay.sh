#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A replayed capture arrives unchanged: its report is identical; with other addresses, the order is
# the same and checksums are correct.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark python3
lane
fields=(-T fields -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn -e frame.len)
order() { tshark -r "$1" "${fields[@]}" 2>/dev/null; }
# Frames with MACs, addresses and the state of the sums: 0 is bad.
told() {
  tshark -r "$3" "${fields[@]}" -e eth.src -e eth.dst -e "$1" -e "$2" -e ip.checksum.status -e udp.checksum.status \
    -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE 2>/dev/null
}

# mapped CAPTURE FAMILY OLD1 NEW1 OLD2 NEW2
mapped() {
  local file frames
  file=$(capture "$1")
  frames=$("$XDP_ROCE" --json analyze "$file" | jq .frames.total)
  xr attach rx0
  observe_rx "$scratch/same.pcap"
  send replay "$file" rate 50kpps
  assert_sent ".mode == \"replay\" and .sent.packets == $frames"
  observed_rx "$frames"
  same_report "$file"
  xr detach rx0
  same_frames "$file" "$scratch/same.pcap" "$1 replayed"

  observe_rx "$scratch/mapped.pcap"
  send replay "$file" top map "$3=$4" map "$5=$6" src-mac 02:00:00:00:00:0a dst-mac 02:00:00:00:00:0b loop 2
  observed_rx $((2 * frames))
  order "$file" >"$scratch/once"
  told "$2.src" "$2.dst" "$scratch/mapped.pcap" >"$scratch/told"
  cut -f 1-4 "$scratch/told" >"$scratch/order"
  cat "$scratch/once" "$scratch/once" | diff - "$scratch/order" >"$scratch/diff" ||
    fail "opcodes, QPs and PSNs of $1, mapped: $(head "$scratch/diff")"
  assert_eq "02:00:00:00:00:0a 02:00:00:00:00:0b" "$(cut -f 5,6 "$scratch/told" | sort -u | tr '\t' ' ')" "MACs"
  assert_eq "$(printf '%s\n' "$4 $6" "$6 $4" | sort)" "$(grep -v $'^\t' "$scratch/told" | cut -f 7,8 | sort -u | tr '\t' ' ')" "addresses"
  ! cut -f 9,10 "$scratch/told" | grep -q 0 || fail "sums of $1, mapped, that are wrong"
  analyzed '.icrc | map_values(. * 2)' "$file" >"$scratch/twice"
  assert_eq "$(cat "$scratch/twice")" "$(analyzed .icrc "$scratch/mapped.pcap")" "iCRCs of $1, mapped"
  assert_analyzed "[.streams[] | .src, .dst] | unique == ([\"$4\", \"$6\"] | sort)"
}
mapped rc_send_cm_v4 ip 10.77.0.1 192.0.2.1 10.77.0.2 192.0.2.2
mapped rc_atomic_faa_v6 ipv6 fd77::1 2001:db8::1 fd77::2 2001:db8::2

# As fast as it was, and faster.
file=$(capture rc_send_cm_v4)
real=$(tshark -r "$file" -T fields -e frame.time_relative 2>/dev/null | tail -n 1)
send replay "$file" speed 2
awk -v real="$real" -v got="$(sent_of .seconds)" 'BEGIN { exit !(got >= real / 2 * 0.9) }' ||
  fail "twice as fast as $real s, and took $(sent_of .seconds) s"

refused 'no.?such|cannot open' xt send tx0 replay "$scratch/nothing.pcap"
misused 'families' xt send tx0 replay "$file" map 10.77.0.1=2001:db8::1
misused "'fsat' is not a word" xt send tx0 replay "$file" fsat 1
