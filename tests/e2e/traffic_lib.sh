# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The harness of the scenarios of send and respond: lane() gives $tx with tx0, where `send` runs,
# and $rx with rx0; lane3() of the bridge harness gives left0 and right0 with the bridge between
# them.
. "$(dirname "${BASH_SOURCE[0]}")/bridge_lib.sh"

from=192.0.2.1 to=192.0.2.2 # no interface has them
from6=2001:db8::1 to6=2001:db8::2
# shellcheck disable=SC2034 # for the scenarios
v4=(src "$from" dst "$to") v6=(src "$from6" dst "$to6")
# Where nobody is to be asked.
to_mac=02:00:00:00:00:02
# shellcheck disable=SC2034
at=(dst-mac "$to_mac")
sender_netns=$tx sender_port=tx0

xt() { "$XDP_ROCE" --netns "$sender_netns" "$@"; }

# send WORDS...: to its end; the report is in $scratch/send.json.
send() {
  keep xt --json send "$sender_port" "$@" || fail "send $*: $(cat "$scratch/last.err")"
  cp "$scratch/last.out" "$scratch/send.json"
}
sent_of() { jq "$1" "$scratch/send.json"; }
# What it says holds.
assert_sent() { assert_json "$scratch/send.json" "$1"; }

# exec: signals are the program's.
endpoint() {
  local out=$1
  shift
  exec "$XDP_ROCE" "$@" >"$out" 2>"$out.err"
}

# respond [ON NETNS PORT] OPTIONS...: answers from now on until end_respond.
respond() {
  local ns=$rx port=rx0
  if [[ ${1:-} == on ]]; then
    ns=$2 port=$3
    shift 3
  fi
  rm -f "$scratch/respond.json.err" # a previous one's messages
  in_background endpoint "$scratch/respond.json" --json --netns "$ns" respond "$port" "$@"
  responder=${background[-1]}
  wait_for 15 says_so || fail "respond does not run: $(cat "$scratch/respond.json.err")"
}
says_so() {
  kill -0 "$responder" 2>/dev/null || fail "respond ended: $(cat "$scratch/respond.json.err")"
  grep -qsE ': (answers|receives) for ' "$scratch/respond.json.err"
}
# Its report is in $scratch/respond.json.
end_respond() {
  local one kept=()
  remember
  ended=0
  kill -INT "$responder"
  wait "$responder" || ended=$?
  for one in "${background[@]}"; do
    [[ $one == "$responder" ]] || kept+=("$one")
  done
  background=("${kept[@]}")
  assert_eq 0 "$ended" "exit status of respond ($(cat "$scratch/respond.json.err"))"
}
assert_respond() { assert_json "$scratch/respond.json" "$1"; }

# What $1 of the capture $2 is by `analyze`.
analyzed() {
  "$XDP_ROCE" --json analyze "$2" >"$scratch/analyzed.json" 2>"$scratch/last.err" || fail "analyze $2"
  jq -c "$1" "$scratch/analyzed.json"
}
assert_analyzed() { assert_json "$scratch/analyzed.json" "$1"; }

no_sums_bad() {
  local bad
  bad=$(tshark -r "$1" -o ip.check_checksum:TRUE -Y 'ip.checksum.status == "Bad"' 2>/dev/null | wc -l)
  assert_eq 0 "$bad" "IPv4 checksums that are wrong in $(basename "$1")"
}

# One observer at tx0 for many steps, as watch_left: seen_tx FILE gives what came in there since the
# last one, when nothing more comes.
watch_tx() {
  last_mark[tx]=''
  observe "$tx" tx0 "$scratch/watch_tx.pcap" --immediate-mode -s 9300
  at_marks[${background[-1]}]=1
}
watched() { stat -c %s "$scratch/watch_tx.pcap"; }
seen_tx() {
  local size=-1 quiet=0
  while ((quiet < 3)); do
    if ((size == $(watched))); then quiet=$((quiet + 1)); else quiet=0; fi
    size=$(watched)
    sleep 0.05
  done
  seen tx "$1" "$rx" rx0
}

# observe_rx FILE [OPTIONS...], and observed_rx FRAMES: at rx0, where it is known how many frames come.
observe_rx() {
  observed_file=$1
  observe "$rx" rx0 "$1" --immediate-mode -s 9300 "${@:2}"
  at_marks[${background[-1]}]=1
}
has_frames() { (($(frames list "$observed_file" 2>/dev/null | wc -l) >= $1)); }
observed_rx() {
  wait_for 15 has_frames "$1" || fail "$1 frames were to come: $(count_frames "$observed_file") did"
  observed
}

# A background command has ended.
forget() {
  local one kept=()
  for one in "${background[@]}"; do
    [[ $one == "$1" ]] || kept+=("$one")
  done
  background=("${kept[@]}")
}

# watch_ports NETNS PORT [NETNS PORT]...: what enters these ports from now on, by `capture`, as a socket
# takes its frames before tcpdump sees them. seen_ports FILE: in order of time, as a pcap.
watch_ports() {
  watched_ports=()
  while (($#)); do
    rm -f "$scratch/$2.err" # what the one before said
    in_background "$XDP_ROCE" --netns "$1" capture "$2" -w "$scratch/$2.pcapng" >/dev/null 2>"$scratch/$2.err"
    watched_ports+=("${background[-1]}" "$scratch/$2.pcapng")
    wait_for 15 grep -qs ': begun$' "$scratch/$2.err" || fail "capture of $2: $(cat "$scratch/$2.err")"
    shift 2
  done
}
seen_ports() {
  local files=() i
  for ((i = 0; i < ${#watched_ports[@]}; i += 2)); do
    kill -INT "${watched_ports[i]}"
    wait "${watched_ports[i]}" || fail "capture: $(cat "${watched_ports[i + 1]%.pcapng}.err")"
    forget "${watched_ports[i]}"
    files+=("${watched_ports[i + 1]}")
  done
  mergecap -F pcap -w "$1" "${files[@]}" 2>/dev/null
}
