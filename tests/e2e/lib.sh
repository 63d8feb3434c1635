# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The harness of the end-to-end scenarios: a scenario sources this, calls `lane`, and has two
# network namespaces $tx and $rx with a wire between tx0 and rx0 and no other traffic. Everything is
# removed when the scenario ends for any reason.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
XDP_ROCE=${XDP_ROCE:-$here/../../build/release/userspace/cli/xdp-roce}
XR_REPLAY=${XR_REPLAY:-$here/../../build/release/tests/e2e/replay}
XR_DATA=${XR_DATA:-$here/../data}

scenario=$(basename "$0" .sh)
# Names of namespaces: the scenario's, cut to what fits, and the shell's pid.
tx=xr-${scenario:0:20}-$$-tx
rx=xr-${scenario:0:20}-$$-rx
scratch=$(mktemp -d "/tmp/xr-$scenario.XXXXXX")
background=()
# For objects.py. XR_MACHINE=ours: in a guest, all that there is.
export XR_MARK=$scenario-$$ XR_NETNS=xr-${scenario:0:20}-$$- XR_MEMORY=$scratch/memory XR_BPFFS=''
fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}

skip() {
  printf 'SKIP: %s\n' "$*"
  exit 77
}

# A stopped one is woken: it may hold the lock.
end_all_background() {
  local pid
  for pid in "${background[@]}"; do
    kill -CONT "$pid" 2>/dev/null
    kill -TERM "$pid" 2>/dev/null
  done
  for pid in "${background[@]}"; do
    wait "$pid" 2>/dev/null
  done
  background=()
}

tidy_up() {
  local status=$?
  trap - EXIT INT TERM HUP
  set +e
  end_all_background
  if [[ -e /run/netns/$rx ]]; then
    "$XDP_ROCE" --netns "$rx" detach rx0 >/dev/null 2>&1
  fi
  ip netns del "$tx" 2>/dev/null
  ip netns del "$rx" 2>/dev/null
  [[ $XR_BPFFS != "$scratch/bpf" ]] || umount -l "$XR_BPFFS"
  if ((status != 0 && status != 77)); then
    printf -- '--- what the last commands said (%s) ---\n' "$scenario" >&2
    tail -n 20 "$scratch"/last.* >&2 2>/dev/null
  fi
  rm -rf "$scratch"
  exit "$status"
}
trap tidy_up EXIT
trap 'exit 143' INT TERM HUP

# A bpffs of the scenario's own, for all that it starts: whatever is pinned there is its doing. Not where
# `bpffs=machine` was set before: one that shows how the program finds the machine's, or mounts one.
own_bpffs() {
  if [[ ${XR_MACHINE:-} == ours ]]; then
    XR_BPFFS=/sys/fs/bpf
  elif ((EUID == 0)) && [[ ${bpffs:-} != machine ]]; then
    mkdir "$scratch/bpf"
    mount -t bpf bpf "$scratch/bpf" -o mode=0700 || fail "a bpffs cannot be mounted"
    export XR_BPFFS=$scratch/bpf LIBXDP_BPFFS=$scratch/bpf
  fi
}
own_bpffs

need_root() {
  ((EUID == 0)) || skip "needs root"
}

need() {
  local tool
  for tool; do
    command -v "$tool" >/dev/null || skip "needs $tool"
  done
}

# The capture of that name, as it lies in tests/data.
capture() {
  local file
  for file in "$XR_DATA/$1.pcap" "$XR_DATA/$1.pcap.gz"; do
    if [[ -e $file ]]; then
      printf '%s\n' "$file"
      return
    fi
  done
  fail "there is no capture $1 in $XR_DATA"
}

# lane [MTU [QUEUES]]: the two namespaces and the wire. No IPv6, so that nothing speaks unasked.
lane() {
  local mtu=${1:-1500} queues=${2:-1} ns
  need_root
  for ns in "$tx" "$rx"; do
    ip netns add "$ns"
    ip netns exec "$ns" sh -c 'for f in all default; do
      echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done 2>/dev/null' || true
  done
  wire "$mtu" "$queues"
}

wire() {
  local mtu=$1 queues=$2
  ip -n "$tx" link add tx0 mtu "$mtu" numtxqueues "$queues" numrxqueues "$queues" \
    type veth peer name rx0 netns "$rx" mtu "$mtu" numtxqueues "$queues" numrxqueues "$queues"
  ip -n "$rx" link set rx0 up
  ip -n "$tx" link set tx0 up
}

# The program under test, looking at $rx from outside.
xr() {
  [[ " $* " != *" detach "* ]] || remember
  "$XDP_ROCE" --netns "$rx" "$@"
}

# Runs the command with its output kept in $scratch/last.{out,err}; gives its exit status.
keep() {
  local status=0
  "$@" >"$scratch/last.out" 2>"$scratch/last.err" || status=$?
  return "$status"
}

# kernel_at_least MAJOR MINOR
kernel_at_least() {
  local major minor _
  IFS=.- read -r major minor _ < <(uname -r)
  ((major > $1 || (major == $1 && minor >= $2)))
}

# exits STATUS COMMAND...: with this exit status, its output kept.
exits() {
  local wanted=$1 status=0
  shift
  keep "$@" || status=$?
  assert_eq "$wanted" "$status" "exit status of: $* ($(tail -n 5 "$scratch"/last.*))"
}

# refused WORDS COMMAND...: exit status 1, one sentence on stderr that has the words, nothing else.
refused() {
  ends_with 1 "$@"
}

# misused WORDS COMMAND...: exit status 2, as the command line is wrong; otherwise as `refused`.
misused() {
  ends_with 2 "$@"
}

ends_with() {
  local wanted=$1 words=$2 status=0
  shift 2
  keep "$@" || status=$?
  assert_eq "$wanted" "$status" "exit status of: $*"
  assert_sentence "$words" <"$scratch/last.err"
  assert_eq "" "$(cat "$scratch/last.out")" "standard output of: $*"
}

# An error is `xdp-roce: ...` and at most a hint line beside it.
assert_sentence() {
  local text
  text=$(cat)
  grep -q '^xdp-roce: ' <<<"$text" || fail "no sentence in: $text"
  grep -qiE -- "$1" <<<"$text" || fail "'$1' is not in: $text"
  ! grep -qvE '^(xdp-roce: |hint: )' <<<"$text" || fail "more than a sentence and a hint: $text"
}

# Sends on the wire from $tx; says nothing. What was sent is in $scratch/sent.
replay() {
  ip netns exec "$tx" "$XR_REPLAY" --ifname tx0 "$@" >"$scratch/sent"
}
sent() {
  jq ".$1" "$scratch/sent"
}

in_background() {
  "$@" &
  background+=($!)
}

# Ends the last background command by a signal and waits for it; its exit status is in $ended.
# shellcheck disable=SC2034 # for the scenario
end_background() {
  local signal=$1 pid=${background[-1]}
  remember
  ended=0
  kill "-$signal" "$pid"
  wait "$pid" || ended=$?
  unset 'background[-1]'
}

# wait_for SECONDS COMMAND...: until the command succeeds. XR_PATIENCE: so many times as long, on a slow machine.
wait_for() {
  local until=$((SECONDS + ${XR_PATIENCE:-1} * $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || return 1
    sleep 0.05
  done
}

assert_eq() {
  [[ $1 == "$2" ]] || fail "${3:-value}: expected '$1', got '$2'"
}

# assert_json FILE FILTER: the jq filter is true. Where the filter begins with a path and a pipe, a failure shows what is at the path.
assert_json() {
  local part=.
  [[ ! $2 =~ ^(\.[a-z_.]+)\ \| ]] || part=${BASH_REMATCH[1]}
  jq -e "$2" "$1" >/dev/null || fail "$2 does not hold in: $(jq -c "$part" "$1" | cut -c -2000)"
}

frames_counted() {
  [[ $(xr --json counters "${2:-rx0}" | jq .frames.total) == "$1" ]]
}

# await_frames COUNT [PORT]: frames may be on their way in a softirq when the sender is done.
await_frames() {
  wait_for 10 frames_counted "$@" ||
    fail "expected $1 frames, counted $(xr --json counters "${2:-rx0}" | jq -c '.frames')"
}

# What two reports must agree on: every key that both have, but for the place, the time, iCRCs (not
# checked on a port), and events that were lost or kept back, which depend on the pace.
comparable='def shared($with):
    if type == "object" and ($with | type) == "object"
    then with_entries(select(.key as $k | $with | has($k)) | .key as $k | .value |= shared($with[$k]))
    else . end;
  def sorted: if has("streams") then .streams |= (map(del(.ect, .dscp, .pcp, .udp_src_ports)) | # of captures only
    sort_by(.src, .dst, .dest_qp, .kind, .roce_version)) else . end;
  del(.source, .icrc, .time, .run, .summary, .overflow.events, .overflow.events_limited) |
    shared($other[0]) | sorted'

# same_report FILE [PORT]: the port's counters and streams equal `analyze` of the file.
same_report() {
  local what port=${2:-rx0}
  "$XDP_ROCE" --json analyze "$1" >"$scratch/capture.json" 2>"$scratch/last.err" || fail "analyze $1"
  await_frames "$(jq .frames.total "$scratch/capture.json")" "$port"
  for what in counters streams; do
    xr --json "$what" "$port" >"$scratch/$what.json"
    jq -S --slurpfile other "$scratch/$what.json" "$comparable" "$scratch/capture.json" >"$scratch/file"
    jq -S --slurpfile other "$scratch/capture.json" "$comparable" "$scratch/$what.json" >"$scratch/port"
    diff -u --label "analyze $(basename "$1")" --label "$what $port" "$scratch/file" "$scratch/port" \
      >"$scratch/diff" || fail "$what and analyze disagree: $(head -n 40 "$scratch/diff")"
  done
  assert_json "$scratch/counters.json" 'has("frames") and has("bytes") and has("opcodes")
    and has("ecn") and has("aeth") and has("overflow")'
  assert_json "$scratch/streams.json" 'has("streams")'
}

# What keeps a BPF object in the kernel and is this scenario's, one a line, and what it had attached and
# is not freed: objects.py. A freed one goes a moment later.
kernel_objects() {
  [[ $XR_BPFFS ]] || fail "this scenario has no bpffs of its own"
  "$here/objects.py" list
}
# What is attached now must be freed when it is detached.
remember() {
  [[ ! $XR_BPFFS ]] || "$here/objects.py" remember
}
nothing_since() {
  [[ -z $(since "$1") ]]
}
since() { comm -13 <(printf '%s\n' "$1") <(kernel_objects); }
