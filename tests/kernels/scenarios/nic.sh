#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two NICs back to back (nics.sh): what a driver does that a veth does not. A check is skipped with the reason that the program gave,
# where the driver lacks something; a frame is received or counted as lost, always. Names: these checks, in this order.
. "$(dirname "$0")/checks.sh"
lane
mac=$(ip -n "$rx" -j link show rx0 | jq -r '.[0].address')
at=(dst-mac "$mac")
tidy() {
  xr detach rx0
  xt detach tx0
  ip netns exec "$rx" ethtool -K rx0 rxvlan on
  both_up
}
both_up() {
  ip -n "$tx" link set tx0 mtu 1500 up
  ip -n "$rx" link set rx0 mtu 1500 up
  carriers
}
# said: what the program refused, without its name and the port's.
said() { sed -n '/^xdp-roce: /{s/^xdp-roce: //;s/^[a-z]* [rt]x0: //;p;q}' "$scratch/last.err"; }
attached() {
  keep xr attach rx0 || skip "$(said)"
  carriers
}
lossless='[.overflow | del(.schedule_given_up_ms)[]] | add == 0'
# arrive FRAMES: at rx0 by the program's count.
arrive() { wait_for 15 rocev2_is "$1" || fail "$1 frames were sent, counted: $(xr --json counters rx0 | jq -c .frames) of $(came_in "$rx" rx0) by the driver"; }
rocev2_is() { [[ $(xr --json counters rx0 | jq .frames.rocev2) == "$1" ]]; }
# send_to MESSAGES WORDS...: from tx0, of 64 bytes.
send_some() {
  local messages=$1
  shift
  send "${v4[@]}" "${at[@]}" qp 0x11 send size 64 messages "$messages" rate 1kpps "$@"
  assert_sent ".finished and ($lossless)"
}
counts_on() {
  local before
  before=$(xr --json counters rx0 | jq .frames.rocev2)
  send_some 50
  arrive $((before + 50))
}

# Attached with rules in force: those that are dropped are counted, the rest reaches the host.
rules() {
  attached
  keep xr impair rx0 add roce every 4 drop || fail "impair: $(cat "$scratch/last.err")"
  observe "$rx" rx0 "$scratch/passed.pcap" udp port 4791
  replay --stream --packets 100
  await_frames 100
  observed 75
}
# send_as MODE: or skips, where the driver has no zero-copy.
send_as() {
  attached
  keep xt attach tx0 || true # some drivers send from a socket only while they have a program
  carriers
  keep xt --json send tx0 "--$1" --queues "$(queues_of "$tx" tx0)" "${v4[@]}" "${at[@]}" qp 0x11 qps 4 write size 4k messages 100 rate 2kpps || {
    grep -q 'zero-copy is not possible' "$scratch/last.err" && skip "$(said)"
    fail "send: $(cat "$scratch/last.err")"
  }
  cp "$scratch/last.out" "$scratch/send.json"
  assert_sent ".finished and .sent.packets == 1600 and .port.af_xdp == \"$1\" and ($lossless)"
  arrive 1600
}
send_copy() { send_as copy; }
send_zero_copy() { send_as zero-copy; }
send_live() {
  attached
  # Live frames are redirected: some drivers take them while they have a program.
  keep xt attach tx0 || skip "$(said)"
  carriers
  keep xt --json send tx0 --engine live "${v4[@]}" "${at[@]}" qp 0x11 send size 64 messages 100 rate 1kpps || skip "$(said)"
  assert_json "$scratch/last.out" ".finished and .sent.packets == 100"
  arrive 100
}
# respond_as MODE: with all queues; each request is received once and answered.
respond_as() {
  respond --address "$to" "--$1" || true
  keep xt --json send tx0 "--$1" --reliable --timeout 19 "${v4[@]}" qp 0x11 write size 4k messages 100 rate 2kpps || fail "send: $(cat "$scratch"/last.*)"
  assert_json "$scratch/last.out" ".finished and .sent.messages == 100 and .recovery.failed_qps == 0 and .port.af_xdp == \"$1\" and ($lossless)"
  end_respond
  assert_respond ".received.messages == 100 and .port.af_xdp == \"$1\" and ($lossless)"
}
respond_copy() { respond_as copy; }
respond_zero_copy() {
  attached
  keep xr --json send rx0 --zero-copy "${v4[@]}" "${at[@]}" qp 0x11 messages 1 || skip "$(said)"
  respond_as zero-copy
}
# Requests of 12 hosts on the queues that RSS chooses: all are answered, whatever queue they came on.
rss() {
  local queues used i
  queues=$(queues_of "$rx" rx0)
  ((queues > 1)) || skip "one queue"
  respond --address "$to" --queues "$queues"
  for i in {1..12}; do
    send --reliable --timeout 19 src "192.0.2.1$i" dst "$to" qp "0x1$i" qps 4 write size 2k messages 5 rate 500pps
    assert_sent '.finished and .recovery.failed_qps == 0'
  done
  end_respond
  assert_respond ".received.messages == 240 and .port.queues == $queues and .overflow.other_queue_full == 0"
  used=$(jq '[.queues[]? | select(.received > 0)] | length' "$scratch/respond.json")
  [[ $used != 0 ]] || used=$(ip netns exec "$rx" ethtool -S rx0 | awk '/rx_queue_[0-9]+_packets:|ucast pkts rx|rx[0-9]+_packets:/ && $NF > 20' | wc -l)
  ((used > 1)) || skip "the device sent all to one queue"
}
steer() {
  keep timeout 20 "$XDP_ROCE" --netns "$rx" --json respond rx0 --steer --address "$to" --for 1s || skip "$(said)"
}
# ethtool -L while a program is on the port.
channels() {
  local queues
  queues=$(queues_of "$rx" rx0)
  ((queues > 1)) || skip "one queue"
  attached
  counts_on
  keep ip netns exec "$rx" ethtool -L rx0 combined 1 || skip "ethtool -L: $(tail -n 1 "$scratch/last.err")"
  carriers
  counts_on
  ip netns exec "$rx" ethtool -L rx0 combined "$queues"
  carriers
  counts_on
}
# A fault of the driver that doctor names is not tried.
no_fault() {
  ! keep xr --json doctor rx0 || ! jq -e '.checks[] | select(.check == "native" and (.text | test("forgets")))' "$scratch/last.out" >/dev/null ||
    skip "$(jq -r '.checks[] | select(.check == "native").text' "$scratch/last.out")"
}
reset() {
  no_fault
  attached
  counts_on
  ip -n "$rx" link set rx0 down
  ip -n "$rx" link set rx0 up
  carriers
  counts_on
  ip netns exec "$rx" ethtool -r rx0 || true
  sleep 1
  carriers
  counts_on
}
mtu_change() {
  no_fault
  attached
  counts_on
  keep ip -n "$rx" link set rx0 mtu 3000 || skip "ip link set mtu: $(tail -n 1 "$scratch/last.err")"
  ip -n "$tx" link set tx0 mtu 3000
  carriers
  before=$(xr --json counters rx0 | jq .frames.rocev2)
  send "${v4[@]}" "${at[@]}" qp 0x11 pmtu 2048 write size 2048 messages 50 rate 1kpps
  arrive $((before + 50))
}
jumbo() {
  keep ip -n "$rx" link set rx0 mtu 9000 || skip "ip link set mtu: $(tail -n 1 "$scratch/last.err")"
  ip -n "$tx" link set tx0 mtu 9000
  carriers
  attached
  send "${v4[@]}" "${at[@]}" qp 0x11 pmtu 4096 write size 8192 messages 50 rate 1kpps
  assert_sent ".finished and .sent.packets == 100 and ($lossless)"
  arrive 100
}
# The port goes down while it sends: what was not sent is counted, and what was sent arrives.
carrier_loss() {
  local sent lost
  attached
  in_background endpoint "$scratch/send.json" --json --netns "$tx" send tx0 "${v4[@]}" "${at[@]}" qp 0x11 send size 64 messages 8000 rate 1kpps
  wait_for 15 some_came || fail "nothing came: $(cat "$scratch/send.json.err")"
  ip -n "$tx" link set tx0 down
  sleep 2
  ip -n "$tx" link set tx0 up
  ended=0
  wait "${background[-1]}" || ended=$?
  assert_json "$scratch/send.json" '.sent.packets > 100'
  sent=$(sent_of .sent.packets) lost=$(sent_of '[.overflow | .port_dropped, .tx_dropped, .not_sent, .link_down, .tx_invalid | values] | add')
  sleep 1
  came=$(xr --json counters rx0 | jq .frames.rocev2)
  # In the driver's ring when the port went down: those it gives back unsent.
  ((came <= sent && came + lost >= sent - 512)) || fail "$sent sent, $lost lost by the report, $came came"
}
some_came() { (($(xr --json counters rx0 | jq .frames.rocev2) > 100)); }
# What doctor warns of is true: with stripping on, no tag is seen; --fix turns it off.
vlan() {
  local tagged="vlan 5/3"
  attached
  keep xr --json doctor rx0 --fix || fail "doctor --fix: $(cat "$scratch/last.err")"
  carriers
  # shellcheck disable=SC2086 # words
  send "${v4[@]}" "${at[@]}" $tagged qp 0x11 send size 64 messages 50 rate 1kpps
  arrive 50
  observe_rx "$scratch/vlan.pcap" vlan 5
  # shellcheck disable=SC2086
  send "${v4[@]}" "${at[@]}" $tagged qp 0x11 send size 64 messages 50 rate 1kpps
  observed_rx 50
  xr detach rx0 >"$scratch/last.out"
  carriers
  keep xr attach rx0 --classes || fail "attach: $(cat "$scratch/last.err")"
  # shellcheck disable=SC2086
  send "${v4[@]}" "${at[@]}" $tagged qp 0x11 send size 64 messages 50 rate 1kpps
  arrive 50
  keep xr --json counters rx0
  assert_json "$scratch/last.out" '[.. | objects | select(.pcp? == 3)] != []'
}
# PFC frames are for this end of the link: a NIC may keep them for itself.
pfc() {
  attached
  # Its exit status says whether the pause lapsed, which a slow guest cannot help.
  keep xt send tx0 pfc 3 storm line 1gbit for 1s || true
  wait_for 3 some_pfc || skip "no PFC frame of those that were sent came to XDP"
}
some_pfc() { (($(xr --json counters rx0 | jq .frames.pfc) > 0)); }
# beside COMMAND...: 100 frames pass rx0 and leave by a veth, whose other end counts them.
beside() {
  local third=xr-third-$$ status=0 said
  ip netns add "$third"
  ip -n "$rx" link add far0 type veth peer name near0 netns "$third"
  ip -n "$rx" link set far0 up
  ip -n "$third" link set near0 up
  "$XDP_ROCE" --netns "$third" attach near0 >/dev/null 2>&1
  "$@" || status=$?
  if ((!status)); then
    carriers
    send_some 100
    wait_for 15 third_has "$third" 100 ||
      { status=1 && echo "FAIL: 100 sent, $("$XDP_ROCE" --netns "$third" --json counters near0 | jq -c .frames)"; }
  else
    status=77
    said=$(said)
    echo "SKIP: ${said:-$(tail -n 1 "$scratch/wire.err")}"
  fi
  end_all_background
  xr detach rx0 >/dev/null 2>&1 || true
  ip -n "$rx" link del far0
  ip netns del "$third"
  return "$status"
}
bridge() { beside bridged; }
bridged() { keep xr bridge rx0 far0 --fix || keep xr bridge rx0 far0 --fix --mode skb; }
wire() { beside wired; }
wired() {
  local mode=(--mode native)
  has_native || mode=(--mode skb)
  in_background "$XDP_ROCE" --netns "$rx" wire rx0 far0 --fix "${mode[@]}" >/dev/null 2>"$scratch/wire.err"
  : >"$scratch/last.err"
  wait_for 15 is_wired || return 1
  keep xr impair rx0 add roce delay 20ms
}
has_native() { [[ $(xr --json doctor rx0 | jq -r '.checks[] | select(.check == "native").status') == ok ]]; }
is_wired() { [[ $(xr --json status rx0 2>/dev/null | jq -r '.attachments[0].bridged_with // empty') == far0 ]]; }
third_has() { [[ $("$XDP_ROCE" --netns "$1" --json counters near0 | jq .frames.rocev2) == "$2" ]]; }

# A nanosecond clock of the NIC's, or why not.
hardware_time() {
  keep timeout 60 "$XDP_ROCE" --netns "$rx" --json capture rx0 --time-stamp-type adapter_unsynced --count 1 -w "$scratch/got.pcapng" || skip "$(said)"
}
doctor() {
  keep xr --json doctor rx0 --try || fail "doctor: $(cat "$scratch"/last.*)"
  jq -r '.checks[] | select(.area == "port") | "DOCTOR\t\(.check)\t\(.status)\t\(.text)"' "$scratch/last.out" >"$scratch/doctor.tsv"
  cat "$scratch/doctor.tsv"
}

checks=(rules send_copy send_zero_copy send_live respond_copy respond_zero_copy rss steer channels reset mtu_change jumbo carrier_loss vlan pfc
  bridge wire hardware_time doctor)
[[ ! ${1:-} ]] || checks=("$@")
for name in "${checks[@]}"; do check "$name" "$name"; done
echo END
((failures == 0))
