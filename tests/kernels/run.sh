#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--all | --smoke] [--write-table] [KERNEL...]: prepares and boots the kernels (with --all all of kernels.txt) and runs the scenarios there,
# two guests at a time where there is memory. Without a word, 6.12 and the newest share them: each runs those of a port, the newest those of
# a bridge, 6.12 those of further versions of libxdp; with --smoke each attaches, meets a rule, captures and sends. Results, a line each, in build/test/kernels/results.tsv:
#   pass|skip|fail  KERNEL  LIBXDP  SCENARIO  CHECK  SECONDS  REASON
# and the table that table.py makes of them, in table.md beside it; with --write-table in docs/kernels.md too, where the columns of
# other kernels stay if KERNELs are named. Each column has the version (with the commit, if git knows it) and the date.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/guest.sh"
root=$kernels_root
out=$root/build/test/kernels
all='' smoke='' page='' keep='' kernels=()
# What one kernel leaves to the other.
declare -A leaves=()
for word; do
  case $word in
    --all) all=$word ;;
    --smoke) smoke=$word ;;
    --write-table) page=$root/docs/kernels.md ;;
    *) kernels+=("$word") keep=--keep ;;
  esac
done
[[ $* ]] && [[ $* != --smoke ]] || leaves=([6.12]=bridge [newest]=libxdps)
if ((!${#kernels[@]})); then
  if [[ $all ]]; then mapfile -t kernels < <(grep -v '^#\| nics$' "$here/kernels.txt" | cut -d ' ' -f 1); else kernels=(6.12 newest); fi
fi
# Before the run: what is tested may change in the tree meanwhile.
made=$(sed -n 's/^project(xdp-roce VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
commit=$(git -C "$root" describe --always --dirty --exclude '*' 2>/dev/null) && made+=" $commit"
made+=", $(date -u +%F)"
say() { printf '%s\n' "$*"; }
mkdir -p "$out"
rm -f "$out"/*.tsv

# result KIND KERNEL LIBXDP SCENARIO CHECK SECONDS REASON
result() {
  local IFS=$'\t'
  printf '%s\n' "$*" >>"$results"
}

# take_results KERNEL LIBXDP SCENARIO LOG
take_results() {
  local kind check took reason
  while IFS=$'\t' read -r _ kind check took reason; do
    result "$kind" "$1" "$2" "$3" "$check" "$took" "$reason"
    [[ $kind == pass && ! ${reason// /} ]] || say "$1, libxdp $2: $check: $kind: $reason"
  done < <(grep -a $'^RESULT\t' "$4")
}

# in_guest KERNEL LIBXDP SCENARIO SECONDS COMMAND: its RESULT lines become results.
in_guest() {
  local kernel=$1 libxdp=$2 scenario=$3 seconds=$4 command=$5 log status=0
  log=$dir/${scenario// /-}-$libxdp.log
  # Not libxdp's own path for the first one: as it is where Debian has it.
  timeout $((seconds + 60)) python3 -I "$here/client.py" "$guest_port" run - >"$log" 2>&1 <<S || status=$?
export LD_LIBRARY_PATH=/opt/libxdp/$libxdp/lib LIBXDP_OBJECT_PATH=/opt/libxdp/$libxdp/bpf
export XDP_ROCE=$root/build/release/userspace/cli/xdp-roce XR_REPLAY=$root/build/release/tests/e2e/replay
export XR_DATA=$root/tests/data XR_BUILD=$root/build/release
cd $root && timeout --kill-after=20 $seconds $command
S
  take_results "$kernel" "$libxdp" "$scenario" "$log"
  grep -aq $'^RESULT\t' "$log" || result fail "$kernel" "$libxdp" "$scenario" "$scenario" 0 "no check was run: see $log"
  if ! grep -aqx 'END' "$log"; then
    result fail "$kernel" "$libxdp" "$scenario" "$scenario" 0 \
      "ended early (status $status): $({ guest_panic || tail -n 1 "$log"; } | cut -c -200)"
    say "$kernel, libxdp $libxdp: $scenario ended with $status: see $log"
  fi
  kill -0 "$guest_pid" 2>/dev/null
}

# What depends on libxdp; the rest is run with one of them.
shared="attach_empty attach_rules behind_dispatcher share_after share_before share_with_rules rule_on_port capture_attached doctor_words"

# guest KERNEL: its scenarios, in a subshell of its own.
guest() {
  local kernel=$1 libxdp first
  name=$kernel
  results=$out/results-$kernel.tsv dir=$out/$kernel
  mkdir -p "$dir"
  rm -f "$dir"/*.log
  : >"$results"
  if [[ -e $root/build/kernels/$kernel/skip ]]; then
    result skip "$kernel" - - boot 0 "$(cat "$root/build/kernels/$kernel/skip")"
    return
  fi
  [[ $kernel != newest ]] || name=$(grep -oE '^[0-9]+\.[0-9]+' "$root/build/kernels/newest/version")
  trap guest_stop EXIT
  trap 'exit 143' INT TERM HUP
  local archives=("$out/payload.cpio")
  [[ ! $all ]] || archives+=("$root/build/kernels/more.cpio")
  local begun=$SECONDS
  if ! guest_boot "$kernel" "$dir" 300 "${archives[@]}"; then
    result fail "$name" - - boot 0 "$guest_note"
    return
  fi
  result pass "$name" - - boot $((SECONDS - begun)) "$guest_note"
  [[ ! $guest_note ]] || say "$name: $guest_note"
  mapfile -t libxdps < <(guest_run - <<<'ls /opt/libxdp | sort -V')
  first=${libxdps[0]}
  if [[ $smoke ]]; then
    in_guest "$name" "$first" port 1200 "bash tests/kernels/scenarios/port.sh attach_empty rule_on_port capture_alone send_open"
    return
  fi
  in_guest "$name" "$first" port 1800 "bash tests/kernels/scenarios/port.sh" || return
  [[ ${leaves[$kernel]:-} == bridge ]] ||
    in_guest "$name" "$first" bridge 1200 "bash tests/kernels/scenarios/bridge.sh" || return
  [[ ${leaves[$kernel]:-} != libxdps ]] || libxdps=()
  for libxdp in "${libxdps[@]:1}"; do
    in_guest "$name" "$libxdp" port 1800 "bash tests/kernels/scenarios/port.sh $shared" || return
  done
  [[ $all ]] || return 0
  in_guest "$name" "$first" shared 900 "bash tests/kernels/scenarios/shared.sh" || return
  in_guest "$name" "${libxdps[-1]}" shared 900 "bash tests/kernels/scenarios/shared.sh" || return
  in_guest "$name" "$first" bpf 6000 "bash tests/kernels/scenarios/bpf.sh" || return
  in_guest "$name" "$first" e2e 6000 "bash tests/kernels/scenarios/e2e.sh"
}

# shellcheck disable=SC2086 # a word, or none
"$here/prepare.sh" $all "${kernels[@]}" >"$out/prepare.log" 2>&1 || { tail -n 20 "$out/prepare.log"; exit 1; }
grep -a ': skipped: ' "$out/prepare.log"
XR_KERNELS_ALL=$all bash "$here/payload.sh" "$out/payload.cpio" || { say "the payload cannot be made"; exit 1; }
# Two at a time where 8 GiB are free.
at_once=1
(($(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo) >= 8)) && at_once=2
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' EXIT
trap 'exit 143' INT TERM HUP
for kernel in "${kernels[@]}"; do
  while (($(jobs -rp | wc -l) >= at_once)); do wait -n; done
  (guest "$kernel") &
  pids+=($!)
done
wait "${pids[@]}"
pids=()
# A guest of its own, with NICs; one kernel has zero-copy on virtio-net.
if [[ $all && -e $out/results-newest.tsv && ! -e $root/build/kernels/newest/skip ]]; then
  results=$out/results-newest.tsv
  bash "$here/zero_copy.sh" newest "$out/payload.cpio" >"$out/zero_copy.log"
  take_results "$(grep -oE '^[0-9]+\.[0-9]+' "$root/build/kernels/newest/version")" 1.3.1 zero_copy "$out/zero_copy.log"
  sed -n 's/^FIGURE\t/zero-copy: /p' "$out/zero_copy.log"
fi
for kernel in "${kernels[@]}"; do cat "$out/results-$kernel.tsv"; done >"$out/results.tsv"
python3 -I "$here/table.py" "$out/results.tsv" --made "$made" >"$out/table.md"
# shellcheck disable=SC2086 # a word, or none
[[ ! $page ]] || python3 -I "$here/table.py" "$out/results.tsv" "$page" $keep --made "$made" || exit 1
! grep -q '^fail' "$out/results.tsv"
