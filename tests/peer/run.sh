#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME-REGEX] [--stock] [--times N] [--loss PERCENT] [--write-table]: the trials of tools.txt whose names match, one after the other: a stock RDMA
# tool in guest a, and at the other end of the wire `xdp-roce peer peer0 WORDS`; with --stock the same stock tool in guest b, which
# is a test of these guests. --loss: PERCENT of the packets that guest a sends and of those it receives. Root.
# A trial is ok if both ends end with status 0 and the stock tool has printed all of its results. Results, a line each, in
# build/test/peer/results.tsv:
#   NAME  ok|FAILED|skipped  SECONDS  REASON
# and what both ends said in build/test/peer/logs. XDP_ROCE: another program than the one of build/release.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/guests.sh"
out=$kernels_root/build/test/peer
program=${XDP_ROCE:-$kernels_root/build/release/userspace/cli/xdp-roce}
match=. stock='' times=1 loss='' table=''
while (($#)); do
  case $1 in
    --stock) stock=yes ;;
    --write-table) table=yes ;; # of docs/peer.md, of what was tried
    --times) times=${2:?} && shift ;;
    --loss) loss=${2:?} && shift ;;
    -h | --help) sed -n '3,/^set /{/^set /!s/^# //p}' "${BASH_SOURCE[0]}" && exit ;;
    -*) echo "run.sh: no option $1" >&2 && exit 2 ;;
    *) match=$1 ;;
  esac
  shift
done
mkdir -p "$out/logs"
rm -f "$out"/results.tsv "$out"/logs/*

# result NAME ok|FAILED|skipped SECONDS REASON
result() {
  local IFS=$'\t'
  printf '%s\n' "$*" >>"$out/results.tsv"
  printf '%-34s %-7s %5s s  %s\n' "$1" "$2" "$3" "${4:-}"
}
# leave ok|FAILED|skipped REASON: nothing can be tried.
leave() {
  result "${3:-guests}" "$1" "$SECONDS" "$2"
  [[ $1 != FAILED ]]
  exit
}

trials=()
while read -r line; do
  [[ $line == \#* || ! ${line%% | *} =~ $match ]] || trials+=("$line")
done <"$here/tools.txt"
((${#trials[@]})) || { echo "run.sh: no name of tools.txt matches '$match'" >&2; exit 2; }
((EUID == 0)) || leave skipped "needs root"
if [[ ! $stock ]]; then
  [[ -x $program ]] || leave skipped "there is no $program"
  # `--help` after a word that is no command is the program's own help.
  [[ $("$program" peer --help 2>&1) != "$("$program" --help 2>&1)" && $("$program" peer 2>&1) != *"commands are"* ]] || leave skipped "$program has no command peer"
fi
"$here/prepare.sh" >"$out/prepare.log" 2>&1 || leave FAILED "$(tail -n 1 "$out/prepare.log")"
[[ ! -e $kernels_root/build/peer/skip ]] || leave skipped "$(<"$kernels_root/build/peer/skip")"

# other_end ROLE COMMAND: the stock tool for guest b.
other_end() {
  local role=$1 host=10.77.0.1
  [[ $2 != *::* ]] || host=fd77::1
  case ${2%% *},$role in
    rping,client)
      [[ $2 != *::* ]] || host="-a ::0"
      [[ $2 == *::* ]] || host=
      sed -E "s/ -c -a [^ ]+/ -s${host:+ $host}/" <<<"$2"
      ;;
    rping,server) sed -E "s/ -s( -a ::0)?/ -c -a $host/" <<<"$2" ;;
    rdma_client,*) echo rdma_server ;;
    rdma_server,*) echo "rdma_client -s $host" ;;
    ucmatose,client | cmtime,client | udaddy,client) sed -E 's/ -s [^ ]+//' <<<"$2" ;;
    ucmatose,server | cmtime,server | udaddy,server) echo "$2 -s $host" ;;
    *,client) echo "${2% *}" ;;
    *) echo "$2 $host" ;;
  esac
}

# printed ROLE COMMAND LOG: whether the stock tool has printed its results; says what is missing.
printed() {
  local tool=${2%% *} n=1000 q=1 want=1
  [[ ! $2 =~ \ -n\ ([0-9]+) ]] || n=${BASH_REMATCH[1]}
  [[ ! $2 =~ \ -q\ ([0-9]+) ]] || q=${BASH_REMATCH[1]}
  [[ $2 != *" -D "* ]] || n=
  case $tool in
    ib_*_*)
      # From 2 bytes to 8 MiB; a server of these prints the last row only.
      [[ $2 != *" -a "* || $tool,$1 == ib_@(write|read)_bw,server ]] || want=23
      # It prints none as a server.
      [[ $tool,$1 != ib_@(read|atomic)_lat,server ]] || return 0
      awk -v want="$want" -v n="${n:+$((n * q))}" '
        $1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 4 { rows++; if (n == "" ? $2 == 0 : $2 != n) wrong = $2 }
        END {
          if (wrong != "") { print wrong " iterations in a row"; exit 1 }
          if (rows != want) { print rows + 0 " rows of results, not " want; exit 1 }
        }' "$3"
      ;;
    rping) (($(grep -c 'ping data: rdma-ping-' "$3") == 10)) || { echo "not 10 lines of ping data"; return 1; } ;;
    ibv_*) grep -q "^$n iters in " "$3" || { echo "no line '$n iters in'"; return 1; } ;;
    rdma_*) grep -q "^$tool: end 0" "$3" || { echo "no line '$tool: end 0'"; return 1; } ;;
    ucmatose | udaddy) [[ $(<"$3") == *'test complete'*'return status 0'* ]] || { echo "no lines 'test complete', 'return status 0'"; return 1; } ;;
    cmtime) [[ $1 == server ]] || grep -q '^destroy ' "$3" || { echo "no table of times"; return 1; } ;;
  esac
}

# listening GUEST: waits until a tool listens there, by TCP or the CM, 6 s at most.
listening() {
  # shellcheck disable=SC2016 # the guest's
  peer_in "$1" 8 'for ((i = 0; i < 60; i++)); do
    [[ ! $(ss -ltnH "sport = :18515") && $(rdma resource show cm_id) != *LISTEN* ]] || exit 0
    sleep 0.1; done; exit 1' >/dev/null 2>&1
}
# The program: until it has said something, listens or has ended, 3 s at most.
peer_listens() {
  local i
  for ((i = 0; i < 30; i++)); do
    if [[ -s $1 || $(peer_host ss -ltnH 'sport = :18515') ]] || ! kill -0 "$2" 2>/dev/null; then break; fi
    sleep 0.1
  done
}

tool_here() { peer_in a "$limit" "$command" >"$log" 2>&1; }
other_here() {
  if [[ $stock ]]; then
    peer_in b "$limit" "$other" >"$other_log" 2>&1
  else
    # shellcheck disable=SC2086 # words
    peer_host timeout --kill-after=3 "$limit" "$program" peer peer0 $words >"$other_log" 2>&1
  fi
}
last() { tail -n 20 "$1" | tr -d '\r' | grep -v -e '^[- ]*$' | tail -n 1 | cut -c -160; }

# ended PID SECONDS: waits so long for a child; 1: it runs still.
ended() {
  local until=$((SECONDS + $2))
  while kill -0 "$1" 2>/dev/null; do
    ((SECONDS < until)) || return 1
    sleep 0.1
  done
}

# trial NAME ROLE COMMAND WORDS. cmtime as a server never ends by itself.
trial() {
  local name=$1 role=$2 command=$3 words=$4 other limit=40 begun status=0 other_status=0 server why='' after=10 log other_log
  [[ $command != ib_*" -a "* ]] || limit=120
  [[ ! $loss ]] || limit=$((3 * limit)) after=30
  other=$(other_end "$role" "$command")
  log=$out/logs/${name//[ ,\/]/_}.stock.log other_log=$out/logs/${name//[ ,\/]/_}.other.log
  begun=${EPOCHREALTIME/[.,]/}
  if [[ $role == client ]]; then
    other_here &
    server=$!
    if [[ $stock ]]; then listening b; else peer_listens "$other_log" "$server"; fi
    # A program that does not begin: the stock tool would wait for it.
    if [[ $stock ]] || kill -0 "$server" 2>/dev/null; then tool_here || status=$?; else : >"$log"; fi
    if [[ $stock && $other == cmtime* ]]; then
      stop_other "$server"
      wait "$server"
    else
      ended "$server" "$((status ? 2 : after))" || { why="the other end does not end" && stop_other "$server"; }
      wait "$server" || other_status=$?
    fi
  else
    tool_here &
    server=$!
    listening a || : # what it said will be shown
    other_here || other_status=$?
    if [[ $command == cmtime* ]]; then
      peer_end a
      wait "$server"
    else
      ended "$server" "$((other_status ? 2 : after))" || { why="the stock tool does not end" && peer_end a; }
      wait "$server" || status=$?
    fi
  fi
  # What came first of what went wrong.
  if [[ $why ]]; then why+=": $(last "$log")"; fi
  if ((status == 124 || status == 137)) && [[ ! $why ]]; then why="the stock tool had not ended after $limit s: $(last "$log")"; fi
  if ((status)); then why=${why:-"the stock tool's status $status: $(last "$log")"}; fi
  if ((other_status)); then why=${why:-"the other end's status $other_status"}; why+="; the other end: $(last "$other_log")"; fi
  [[ $why ]] || why=$(printed "$role" "$command" "$log") || true
  seconds=$(((${EPOCHREALTIME/[.,]/} - begun) / 100000))
  seconds=$((seconds / 10)).$((seconds % 10))
  [[ $why ]] || { result "$name" ok "$seconds" "$(last_row "$log")"; return; }
  result "$name" FAILED "$seconds" "$why"
}
stop_other() {
  if [[ $stock ]]; then peer_end b; else
    # `ip netns exec` has become timeout, which gives the signal to the program.
    pkill -TERM -P "$1" 2>/dev/null
    ended "$1" 4 || pkill -KILL -P "$1" 2>/dev/null
  fi
}
# The row of results that a tool of perftest printed at last.
last_row() { awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[0-9]+$/ && NF >= 4 { row = $0 } END { $0 = row; $1 = $1; print }' "$1"; }

peer_up "$out/guests" || leave FAILED "the namespaces cannot be made"
for guest in a ${stock:+b}; do
  begun=$SECONDS
  peer_boot "$guest" || leave FAILED "$guest_note"
  result "guest $guest" ok "$((SECONDS - begun))" "$guest_note"
done
[[ ! $stock ]] || peer_plug b
if [[ $loss ]]; then peer_lose a "$loss" >"$out/loss.log" 2>&1 || leave FAILED "loss: $(tail -n 1 "$out/loss.log")"; fi

for line in "${trials[@]}"; do
  IFS=$'\t' read -r name role command words reason <<<"${line// | /$'\t'}"
  if [[ $stock && ${reason:-} ]]; then
    result "$name" skipped 0 "$reason"
    continue
  fi
  for ((time = 1; time <= times; time++)); do
    for guest in a ${stock:+b}; do
      kill -0 "${peer_pids[$guest]}" 2>/dev/null || leave FAILED "guest $guest is gone: $(peer_as "$guest" && guest_why | paste -sd ' ' | cut -c -200)" "$name"
    done
    trial "$name$( ((times == 1)) || echo " $time")" "$role" "$command" "$words"
  done
done
[[ ! $table ]] || python3 "$here/table.py" "$out/results.tsv" "$here/tools.txt" "$kernels_root/docs/peer.md"
awk -F '\t' '{ n[$2]++ } END { printf "%d ok, %d failed, %d skipped\n", n["ok"], n["FAILED"], n["skipped"] }' "$out/results.tsv"
! grep -q $'\tFAILED\t' "$out/results.tsv"
