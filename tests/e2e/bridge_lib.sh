# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The harness of the bridge scenarios: a scenario sources this instead of lib.sh, calls `lane3`, and
# has three network namespaces: $left with left0, $right with right0, and $box between them with
# their other ends, box0 and box1. There is no other traffic. `xr` runs in $box.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

left=xr-${scenario:0:20}-$$-l
box=xr-${scenario:0:20}-$$-b
right=xr-${scenario:0:20}-$$-r
left_mac=02:00:00:00:00:01
right_mac=02:00:00:00:00:02
# For lib.sh, which removes them.
tx=$left rx=$box

# Every observer that runs: process, and its log.
observers=() observer_logs=()
# Those that `seen_...` has waited for already.
declare -A at_marks=()

tidy_up_bridge() {
  local status=$? ns
  set +e
  end_all_background # the bridge ends before its ports are detached
  for ns in "$box" "$left" "$right"; do
    [[ ! -e /run/netns/$ns ]] || "$XDP_ROCE" --netns "$ns" detach --all >/dev/null 2>&1
  done
  ip netns del "$right" 2>/dev/null
  (exit "$status")
  tidy_up
}
trap tidy_up_bridge EXIT

# lane3 [MTU [QUEUES]]: the three namespaces and both wires, as a bridge wants them, the right one with QUEUES. No IPv6 and no ICMP
# errors, so that nothing speaks unasked; a host that looks for another still asks by ARP.
lane3() {
  local mtu=${1:-1500} queues=${2:-} ns
  need_root
  need ethtool tcpdump jq
  for ns in "$left" "$box" "$right"; do
    ip netns add "$ns"
    ip netns exec "$ns" sh -c 'for f in all default; do
      echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done 2>/dev/null' || true
    # The first "port unreachable" is due after a day.
    ip netns exec "$ns" sh -c 'echo 100000000 > /proc/sys/net/ipv4/icmp_ratelimit'
  done
  wire3 "$mtu" box0 "$left" left0 "$left_mac" 192.0.2.1/24
  wire3 "$mtu" box1 "$right" right0 "$right_mac" 192.0.2.2/24 "$queues"
  wait_for 5 carrier3 || fail "the wires have no carrier"
}

# wire3 MTU PORT NETNS IFNAME MAC ADDRESS [QUEUES]
wire3() {
  local mtu=$1 port=$2 ns=$3 ifname=$4 mac=$5 address=$6 queues=()
  [[ -z ${7:-} ]] || queues=(numtxqueues "$7" numrxqueues "$7")
  ip -n "$box" link add "$port" mtu "$mtu" "${queues[@]}" type veth \
    peer name "$ifname" netns "$ns" mtu "$mtu" address "$mac" "${queues[@]}"
  # GRO on: without it veth takes no redirected frames. The rest off: a frame that XDP redirects must
  # be whole, with its checksum and tag, and no larger than the MTU.
  ip netns exec "$ns" ethtool -K "$ifname" gro on tso off gso off tx-udp-segmentation off \
    tx-sctp-segmentation off tx off txvlan off tx-vlan-stag-hw-insert off >/dev/null
  ip -n "$ns" address add "$address" dev "$ifname"
  ip -n "$box" link set "$port" up
  ip -n "$ns" link set "$ifname" up
}

carrier3() {
  [[ $(ip -n "$box" -j link show up | jq '[.[] | select(.operstate == "UP")] | length') == 2 &&
    $(ip -n "$left" -j link show left0 | jq -r '.[0].operstate') == UP &&
    $(ip -n "$right" -j link show right0 | jq -r '.[0].operstate') == UP ]]
}

# Sends from an end; says nothing. What was sent is in $scratch/sent.
replay_left() {
  ip netns exec "$left" "$XR_REPLAY" --ifname left0 "$@" >"$scratch/sent"
}
replay_right() {
  ip netns exec "$right" "$XR_REPLAY" --ifname right0 "$@" >"$scratch/sent"
}

# observe_left FILE [FILTER...], observe_right FILE [FILTER...]: from now on tcpdump writes every
# frame that comes in there to the pcap FILE.
observe_left() { observe "$left" left0 "$@"; }
observe_right() { observe "$right" right0 "$@"; }

observe() {
  local ns=$1 ifname=$2 file=$3 log
  shift 3
  log=$(mktemp "$scratch/observer.XXXXXX")
  in_background observer "$log" ip netns exec "$ns" tcpdump -i "$ifname" -Q in -n -s 0 -B 65536 \
    -U -Z root -w "$file" "$@"
  observers+=("${background[-1]}")
  observer_logs+=("$log")
  # It says so when its socket is open.
  wait_for 10 grep -q 'listening on' "$log" || fail "no observer at $ifname: $(cat "$log")"
}

# exec: signals are tcpdump's.
observer() {
  local log=$1
  shift
  exec "$@" 2>"$log"
}

# Captured, received and dropped so far, by tcpdump's own account.
observer_account() {
  local pid=$1 log=$2 before
  before=$(grep -c 'packets\? received by filter' "$log" || true)
  kill -USR1 "$pid"
  wait_for 5 observer_told "$log" "$before" || fail "the observer is mute: $(cat "$log")"
  account_in "$log"
}
observer_told() {
  (($(grep -c 'dropped by kernel' "$1" || true) > $2))
}
account_in() {
  tr ',\n' '  ' <"$1" | grep -oE '[0-9]+ +packets? +(captured|received by filter|dropped by kernel)' |
    tail -n 3 | cut -d ' ' -f 1 | paste -sd ' '
}

# Until the kernel gets no more frames for it, and what it got is in the file.
observer_settled() {
  local pid=$1 log=$2 frames=$3 until=$((SECONDS + 15)) quiet=0 last='' now
  local captured received dropped
  # 3 times the same, 0.15 s apart; some 2 s where it received what its -Q or filter left out.
  while ((SECONDS < until)); do
    now=$(observer_account "$pid" "$log") || return 1
    read -r captured received dropped <<<"$now"
    if [[ $now == "$last" ]]; then quiet=$((quiet + 1)); else quiet=0; fi
    last=$now
    if ((captured >= frames)) && ((quiet >= 12 || (quiet >= 2 && captured + dropped == received))); then
      return 0
    fi
    sleep 0.15
  done
}

# observed [FRAMES]: ends all observers when no more frames come, but waits for FRAMES in each for
# some time. The files are whole then: an observer that missed frames fails the scenario.
observed() {
  local frames=${1:-0} i pid log other captured received dropped kept
  for i in "${!observers[@]}"; do
    pid=${observers[i]} log=${observer_logs[i]}
    [[ -n ${at_marks[$pid]:-} ]] || observer_settled "$pid" "$log" "$frames" || fail "the observer ended: $(cat "$log")"
  done
  for i in "${!observers[@]}"; do
    pid=${observers[i]} log=${observer_logs[i]}
    kill -INT "$pid"
    wait "$pid" || fail "the observer failed: $(cat "$log")"
    kept=()
    for other in "${background[@]}"; do
      [[ $other == "$pid" ]] || kept+=("$other")
    done
    background=("${kept[@]}")
    read -r captured received dropped <<<"$(account_in "$log")"
    ((dropped == 0)) || fail "the observer missed $dropped of $received frames, and has $captured"
  done
  observers=() observer_logs=()
}

# One observer for many steps: watch_right, then for each step its traffic and seen_right FILE, which
# gives the frames that came in there since the last one, as a pcap file. The end of a step is a frame
# of an experimental EtherType that is sent after it: rules of a scenario must leave it alone, and
# the port that it enters counts it.
declare -A last_mark=()
marks=0
# Not a second late, as tcpdump is otherwise; its ring has room for fewer frames then.
watch() {
  local side=$1
  last_mark[$side]=''
  "observe_$side" "$scratch/watch_$side.pcap" --immediate-mode -s 9300
  at_marks[${background[-1]}]=1
}
watch_right() { watch right; }
watch_left() { watch left; }
seen_right() { seen right "$1" "$left" left0; }
seen_left() { seen left "$1" "$right" right0; }

frames() { "$here/frames.py" "$@"; }

seen() {
  local side=$1 out=$2 file=$scratch/watch_$1.pcap mark
  marks=$((marks + 1))
  mark=$(printf 'end of step %04d' "$marks")
  frames mark "$mark" "$scratch/mark.pcap"
  ip netns exec "$3" "$XR_REPLAY" --ifname "$4" "$scratch/mark.pcap" >/dev/null
  wait_for 10 grep -aq "$mark" "$file" || fail "step $marks did not arrive whole"
  frames cut "$file" "${last_mark[$side]}" "$mark" "$out"
  last_mark[$side]=$mark
}

# How many frames the file has.
count_frames() { frames list "$1" | wc -l; }

# same_frames WANTED GOT WHAT: byte for byte, and in order.
same_frames() {
  cmp -s <(frames list "$1") <(frames list "$2") ||
    fail "$3: not the frames that were sent: $(diff <(frames list "$1") <(frames list "$2") |
      cut -c -160 | sed -n 1,6p)"
}

bridge() {
  "$XDP_ROCE" --netns "$box" bridge box0 box1 "$@" >"$scratch/last.out" 2>"$scratch/last.err" ||
    fail "bridge: $(cat "$scratch/last.err")"
}
unbridge() {
  xr detach box0 >/dev/null 2>&1
}

# same_counters FILE PORT: the port's counters equal `analyze` of the file.
same_counters() {
  "$XDP_ROCE" --json analyze "$1" >"$scratch/capture.json" 2>"$scratch/last.err" || fail "analyze $1"
  await_frames "$(jq .frames.total "$scratch/capture.json")" "$2"
  xr --json counters "$2" >"$scratch/counters.json"
  same_comparable "$scratch/capture.json" "$scratch/counters.json" "$(basename "$1") and counters of $2"
}

# A bridge numbers the QPs of each port by themselves; a capture has both directions.
unnumbered='if has("streams") then del(.streams[].qp_number) else . end'
same_comparable() {
  jq -S --slurpfile other "$2" "$comparable | $unnumbered" "$1" >"$scratch/file"
  jq -S --slurpfile other "$1" "$comparable | $unnumbered" "$2" >"$scratch/port"
  diff -u "$scratch/file" "$scratch/port" >"$scratch/diff" || fail "$3 disagree: $(head -n 40 "$scratch/diff")"
}

# converse FILE IP: what IP sends comes from the left, the rest from the right, in the file's order.
converse() {
  frames converse "$1" "$2" "$left" left0 "$right" right0
}

# The streams of both ports in one report.
both_streams() {
  jq -s '{schema: 1, streams: (.[0].streams + .[1].streams)}' <(xr --json streams box0) <(xr --json streams box1)
}
