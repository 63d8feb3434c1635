#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real captures in tunnels made by scapy: analyze and a port with --decap give the report of the captures without.
. "$(dirname "$0")/lib.sh"
need jq
scapy=/usr/bin/python3
"$scapy" -c 'import scapy.contrib.erspan' 2>/dev/null || skip "needs scapy"
lane 9000

# Without what only reports of tunnels have.
inside='del(.tunnels, .hidden_tunnels, .mirrors, .source, .time, .frame_times, .run, .summary) | .overflow |= del(.mirrors, .tunnel_fragments, .tunnels_deep) |
  if has("streams") then .streams |= map(del(.missing_network, .missing_mirror, .missing_unknown)) else . end'

analyze() {
  "$XDP_ROCE" --json analyze "$@" 2>"$scratch/last.err" || fail "analyze $*: $(cat "$scratch/last.err")"
}
same() {
  jq -S "$inside" "$1" >"$scratch/one"
  jq -S "$inside" "$2" >"$scratch/other"
  diff -u "$scratch/one" "$scratch/other" >"$scratch/diff" || fail "$3: $(head -n 30 "$scratch/diff")"
}

kinds=(erspan1 erspan2 erspan2_tagged erspan2_ipv6 erspan3 erspan3_platform gre_8949 gre_6558 vxlan vxlan_ipv6 geneve mpls ipip ipip6
  qinq erspan2_of_vxlan)
captures=(loss_rc_send_v4 rc_send_4096_v6 rc_atomic_faa_v6 pingpong_ud_v4 rping_v4)
# The tunnels lose frames of it; it has no losses of its own.
lossy=$(capture rc_write_4096_v4)
# All by one process, as scapy takes a second to load.
declare -A names=()
number=0
for kind in "${kinds[@]}"; do
  names[$kind]=${captures[$((number++ % ${#captures[@]}))]}
  echo "$kind $(capture "${names[$kind]}") $scratch/$kind.pcap"
done >"$scratch/jobs"
cat >>"$scratch/jobs" <<END
tagged $(capture "${names[qinq]}") $scratch/tagged.pcap
erspan2 $lossy $scratch/dropped.pcap --drop 50
erspan1 $lossy $scratch/lost_erspan1.pcap --lose 50
erspan2 $lossy $scratch/lost_erspan2.pcap --lose 50
erspan3 $lossy $scratch/lost_erspan3.pcap --lose 50
erspan2 $lossy $scratch/cut.pcap --cut 100
END
"$scapy" "$here/tunnels.py" <"$scratch/jobs" || fail "tunnels.py"

for kind in "${kinds[@]}"; do
  name=${names[$kind]}
  file=$(capture "$name")
  [[ $kind != qinq ]] || file=$scratch/tagged.pcap # the last tag stays
  analyze "$file" >"$scratch/plain.json"
  analyze "$scratch/$kind.pcap" --decap auto >"$scratch/wrapped.json"
  same "$scratch/plain.json" "$scratch/wrapped.json" "$name in $kind"
  assert_json "$scratch/wrapped.json" '([.tunnels | to_entries[] | select(.key != "truncated") | .value] | max) == .frames.total
    and .tunnels.truncated == 0'
  [[ $kind != erspan[23]* ]] ||
    assert_json "$scratch/wrapped.json" '.mirrors | length == 1 and .[0].session == 5 and .[0].lost == 0 and .[0].restarts == 0'
  # without --decap, none of these is RoCE but what has two tags
  [[ $kind == qinq ]] || assert_eq 0 "$(analyze "$scratch/$kind.pcap" | jq .frames.rocev2)" "RoCE without --decap in $kind"
  xr attach rx0 --decap auto >/dev/null 2>&1 || fail "attach --decap"
  replay "$scratch/$kind.pcap"
  await_frames "$(jq .frames.total "$scratch/plain.json")"
  for what in counters streams; do
    xr --json "$what" rx0 | jq -S --slurpfile other "$scratch/wrapped.json" "$comparable" >"$scratch/port"
    jq -S --slurpfile other <(xr --json "$what" rx0) "$comparable" "$scratch/wrapped.json" >"$scratch/file"
    diff -u "$scratch/file" "$scratch/port" >"$scratch/diff" || fail "$name in $kind, $what: $(head -n 40 "$scratch/diff")"
  done
  xr detach rx0 >/dev/null 2>&1
done

# Losses before the mirror and by it.
analyze "$scratch/dropped.pcap" --decap erspan >"$scratch/lost.json"
assert_json "$scratch/lost.json" '([.streams[].missing] | add) as $missing | $missing > 0 and .mirrors[0].lost == 0
  and ([.streams[].missing_network] | add) == $missing and ([.streams[].missing_mirror] | add) == 0'
for kind in erspan2 erspan3; do
  analyze "$scratch/lost_$kind.pcap" --decap erspan >"$scratch/lost.json"
  assert_json "$scratch/lost.json" '([.streams[].missing] | add) as $missing | $missing > 0
    and ([.streams[].missing_mirror] | add) == $missing and ([.streams[].missing_network] | add) == 0
    and .mirrors[0].missing_psns == $missing and .mirrors[0].lost >= $missing'
  lost=$(jq '.mirrors[0].lost' "$scratch/lost.json")
  whole=$(analyze "$lossy" | jq .frames.total)
  # the last frame's loss leaves no gap
  ((lost == whole / 50 || (whole % 50 == 0 && lost == whole / 50 - 1))) || fail "$lost frames lost of $whole / 50"
done
analyze "$scratch/lost_erspan1.pcap" --decap erspan >"$scratch/lost.json"
assert_json "$scratch/lost.json" '([.streams[].missing] | add) as $missing | $missing > 0
  and ([.streams[].missing_unknown] | add) == $missing and .mirrors[0].lost == null'

# A mirror that cuts: the same report but for the bytes of other frames, the cut frames counted, their iCRCs not checked.
analyze "$lossy" >"$scratch/plain.json"
analyze "$scratch/cut.pcap" --decap auto >"$scratch/cut.json"
cut=$(jq .tunnels.truncated "$scratch/cut.json")
((cut > 0)) || fail "nothing was cut"
assert_eq "$(jq .icrc.checked "$scratch/plain.json")" "$(jq ".icrc.checked + $cut" "$scratch/cut.json")" "iCRCs checked"
jq 'del(.icrc, .bytes.total)' "$scratch/plain.json" >"$scratch/plain2.json"
jq 'del(.icrc, .bytes.total)' "$scratch/cut.json" >"$scratch/cut2.json"
same "$scratch/plain2.json" "$scratch/cut2.json" "cut frames"

# Rules and tunnels do not go together, and say so.
xr attach rx0 --decap erspan,vxlan >/dev/null 2>&1
assert_eq '["erspan","vxlan"]' "$(xr --json status | jq -c '.attachments[0].decap')" "status"
refused "attached with --decap" xr impair rx0 add drop
xr detach rx0 >/dev/null 2>&1
misused "rules apply" xr attach rx0 --decap auto --rules
echo "${#kinds[@]} kinds of tunnels, identical reports"
