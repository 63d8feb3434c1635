#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One port: each way to attach, what shares its hook, capture, send and respond, and what detach leaves.
. "$(dirname "$0")/checks.sh"
lane
other=$XR_BUILD/tests/kernels/other.bpf.o
tidy() {
  [[ $(on_hook "$rx" rx0) ]] || return 0
  xr detach rx0
  [[ $(on_hook "$rx" rx0) ]] || return 0
  in_rx xdp-loader unload rx0 --all
  ip -n "$rx" link set rx0 xdp off
  rm -f /sys/fs/bpf/other
}
status_of() { xr --json status rx0 | jq -r ".attachments[0] | $1"; }

# Attached, it counts what the kernel counts, and leaves nothing.
counts() {
  local before came id
  before=$(kernel_objects)
  came=$(came_in "$rx" rx0)
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  assert_eq attached "$(status_of .state)" "state"
  id=$(on_hook "$rx" rx0)
  [[ $id ]] || fail "nothing is on the hook"
  bpftool -j prog show id "$id" >"$scratch/on_hook.json"
  replay --stream --packets 100
  await_frames 100
  assert_eq 100 $(($(came_in "$rx" rx0) - came)) "frames that the kernel counted"
  if [[ $(status_of .dispatcher) == true ]]; then
    assert_json "$scratch/on_hook.json" '.name == "xdp_dispatcher"'
  else
    assert_json "$scratch/on_hook.json" '.name != "xdp_dispatcher"'
    [[ $(status_of '.alone_because // ""') ]] || fail "alone on the hook, and no reason is given"
  fi
  keep xr detach rx0 || fail "detach: $(cat "$scratch/last.err")"
  # A NIC's driver may restart the link.
  ! grep -v ' restarted ' "$scratch/last.err" || fail "detach: $(cat "$scratch/last.err")"
  assert_eq "" "$(on_hook "$rx" rx0)" "program on the hook after detach"
  wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before" | paste -sd ,)"
}
attach_empty() { counts; }
attach_alone() { LIBXDP_SKIP_DISPATCHER=1 counts; }
attach_skb() {
  keep xr attach rx0 --mode skb || fail "attach: $(cat "$scratch/last.err")"
  assert_eq xdpgeneric "$(hook_mode "$rx" rx0)" "the kernel's word for the mode"
  replay --stream --packets 100
  await_frames 100
}
# The program with all that any rule needs.
attach_rules() {
  keep xr attach rx0 --rules || fail "attach: $(cat "$scratch/last.err")"
  keep xr impair rx0 add roce every 2 drop || fail "impair: $(cat "$scratch/last.err")"
  replay --stream --packets 100
  await_frames 100
  assert_eq 50 "$(xr --json impair rx0 list | jq '.rules[0].acted')" "frames dropped"
}
# The kernel's words: this program was refused by the dispatcher, or accepted.
behind_dispatcher() {
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  [[ $(status_of .dispatcher) == true ]] || skip "alone: $(status_of .alone_because)"
  in_rx xdp-loader status rx0 | grep -q xdp_roce || fail "xdp-loader does not list it: $(in_rx xdp-loader status rx0)"
  replay --stream --packets 100
  await_frames 100
}

# Two programs of others go on one hook: then ours must as well.
load_other() { in_rx xdp-loader load rx0 "$other" -n other -m native; }
both_in() { grep -q other "$1" && grep -q xdp_roce "$1"; }
others_share() { keep load_other || skip "xdp-loader: $(tail -n 1 "$scratch/last.err")"; }
share_after() {
  others_share
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  in_rx xdp-loader status rx0 >"$scratch/loader"
  both_in "$scratch/loader" || fail "not both on the hook: $(cat "$scratch/loader")"
  replay --stream --packets 100
  await_frames 100
  xr detach rx0
  in_rx xdp-loader status rx0 | grep -q other || fail "detach took the other program along"
}
share_before() {
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  [[ $(status_of .dispatcher) == true ]] || skip "alone: $(status_of .alone_because)"
  keep load_other || fail "xdp-loader: $(cat "$scratch"/last.*)"
  replay --stream --packets 100
  await_frames 100
  in_rx xdp-loader status rx0 >"$scratch/loader"
  both_in "$scratch/loader" || fail "not both on the hook: $(cat "$scratch/loader")"
}
share_with_rules() {
  others_share
  keep xr attach rx0 --rules || fail "attach: $(cat "$scratch/last.err")"
  keep xr impair rx0 add roce every 2 drop || fail "impair: $(cat "$scratch/last.err")"
  replay --stream --packets 100
  await_frames 100
  assert_eq 50 "$(xr --json impair rx0 list | jq '.rules[0].acted')" "frames dropped"
}
# A program without a dispatcher: refused by name, and not touched.
refuse_foreign() {
  local id
  bpftool prog load "$other" /sys/fs/bpf/other type xdp
  id=$(bpftool -j prog show pinned /sys/fs/bpf/other | jq .id)
  in_rx bpftool net attach xdpdrv id "$id" dev rx0
  assert_eq "$id" "$(on_hook "$rx" rx0)" "the other program's id"
  refused 'rx0.*other' xr attach rx0
  assert_eq "$id" "$(on_hook "$rx" rx0)" "the program on the hook after the refusal"
  rm /sys/fs/bpf/other
}

# frames_in FILE: by tcpdump's reader.
frames_in() { packets "$1" | wc -l; }
rule_on_port() {
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  keep xr impair rx0 add roce every 4 drop || fail "impair: $(cat "$scratch/last.err")"
  observe "$rx" rx0 "$scratch/passed.pcap" udp port 4791
  replay --stream --packets 100
  await_frames 100
  observed 75
  assert_eq 75 "$(frames_in "$scratch/passed.pcap")" "frames that tcpdump saw"
}

captures_whole() {
  local file
  file=$(capture rc_send_1024_v4)
  rm -f "$scratch/capture.err"
  "$XDP_ROCE" --netns "$rx" --json capture rx0 -w "$scratch/got.pcapng" >"$scratch/capture.json" 2>"$scratch/capture.err" &
  capturing=$!
  background+=("$capturing")
  wait_for 30 grep -q ': begun$' "$scratch/capture.err" || fail "capture does not run: $(cat "$scratch/capture.err")"
  replay "$file"
  await_frames "$(sent packets)"
  kill -INT "$capturing"
  wait "$capturing" || fail "capture: $(cat "$scratch/capture.err")"
  assert_eq "$(sent packets)" "$(frames_in "$scratch/got.pcapng")" "frames that tcpdump reads"
}
capture_alone() {
  captures_whole
  assert_eq "" "$(on_hook "$rx" rx0)" "program on the hook when it was not attached before"
}
capture_attached() {
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  captures_whole
  assert_eq attached "$(status_of .state)" "state"
}

send_open() {
  observe "$rx" rx0 "$scratch/open.pcap" udp port 4791
  send "${v4[@]}" "${at[@]}" qp 0x11 write size 4096 messages 50 rate 2kpps
  assert_sent '.sent.messages == 50 and .sent.packets == 200'
  observed 200
  assert_eq 200 "$(frames_in "$scratch/open.pcap")" "frames that tcpdump saw"
}
# ACKs go from socket to socket, where tcpdump does not see them; the kernel counts them, and its own frames (ARP and ND). A guest may be so
# slow that timers expire: then ACKs of what was sent again come when `send` has ended, so what `respond` sent is compared.
send_reliable() {
  local came answered acks
  respond --address "$to"
  came=$(came_in "$tx" tx0)
  send --reliable "${v4[@]}" qp 0x11 write size 4096 messages 50 rate 2kpps
  acks=$(sent_of .answers.acks)
  assert_sent '.finished and .sent.messages == 50 and .recovery.failed_qps == 0 and .answers.acks > 0'
  end_respond
  assert_respond '.received.messages == 50'
  came=$(($(came_in "$tx" tx0) - came)) answered=$(jq .answered.packets "$scratch/respond.json")
  ((acks <= answered && came >= answered && came <= answered + 10)) ||
    fail "$answered frames of respond, $acks ACKs that send took, but the kernel counted $came frames"
  assert_eq "" "$(on_hook "$rx" rx0)$(on_hook "$tx" tx0)" "programs that stay"
}
respond_attached() {
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  respond --address "$to"
  send --reliable "${v4[@]}" qp 0x11 write size 4096 messages 20 rate 2kpps
  assert_sent '.finished and .sent.messages == 20 and .recovery.failed_qps == 0'
  end_respond
  assert_eq attached "$(status_of .state)" "state"
}

# The program that follows and times QP pairs; one direction enters the port.
follow_pairs() {
  keep xr attach rx0 --follow --latency || fail "attach: $(cat "$scratch/last.err")"
  respond --address "$to"
  send --reliable "${v4[@]}" qp 0x11 write size 4096 messages 20 rate 2kpps
  assert_sent '.finished and .sent.messages == 20 and .recovery.failed_qps == 0'
  end_respond
  keep xr --json episodes rx0 || fail "episodes: $(cat "$scratch/last.err")"
  assert_json "$scratch/last.out" '[.pairs[] | [.dest_qp, .answers]] == [[17, false]] and .findings == [] and .following.pairs == 0'
  assert_eq "$(sent_of .sent.packets)" "$(jq '.pairs[0].requests + .following.contended' "$scratch/last.out")" "requests that were followed"
  keep xr --json latency rx0 || fail "latency: $(cat "$scratch/last.err")"
}

# doctor's words are what attach does; the rest it tries works here, as the other checks show.
doctor_words() {
  local words
  keep xr --json doctor rx0 || fail "doctor: $(cat "$scratch"/last.*)"
  cp "$scratch/last.out" "$scratch/doctor.json"
  words=$(jq -r '.checks[] | select(.check == "dispatcher").status' "$scratch/doctor.json")
  assert_json "$scratch/doctor.json" 'all(.checks[] | select(.check | test("^(load|rules|sockets|capture|af_xdp)$")); .status == "ok")'
  assert_eq "$(kernel_at_least 5 18 && echo ok || echo warn)" "$(jq -r '.checks[] | select(.check == "frags").status' "$scratch/doctor.json")" \
    "doctor's word for frames in several buffers"
  keep xr attach rx0 || fail "attach: $(cat "$scratch/last.err")"
  if [[ $(status_of .dispatcher) == true ]]; then
    assert_eq ok "$words" "doctor's word for the dispatcher that attach has"
  elif [[ $words == ok ]]; then
    fail "doctor says ok of the dispatcher, attach goes alone: $(status_of .alone_because)"
  fi
}

checks=(attach_empty attach_alone attach_skb attach_rules behind_dispatcher share_after share_before share_with_rules refuse_foreign
  rule_on_port capture_alone capture_attached send_open send_reliable respond_attached follow_pairs doctor_words)
[[ ! ${1:-} ]] || checks=("$@")
for name in "${checks[@]}"; do check "$name" "$name"; done
echo END
((failures == 0))
