#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Live generators at once take a processor each, as /proc says; where all are taken the next one is not pinned; those of a
# process that was killed are free. --cpus says which. The locks of other processes of this machine are out of sight.
if [[ -z ${XR_OWN_RUN:-} ]]; then
  exec env XR_OWN_RUN=1 unshare -m bash "$0" "$@"
fi
mkdir -p /run/xdp-roce
mount -t tmpfs none /run/xdp-roce
. "$(dirname "$0")/traffic_lib.sh"
need jq taskset
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep="\n")')
((${#cpus[@]} > 1)) || skip "one processor"
both=${cpus[0]},${cpus[1]}
lane
xr attach rx0 >/dev/null

flow=("${v4[@]}" "${at[@]}" send size 64 rate 1kpps)
# generator NAME WORDS...: until it is ended. Its process is in $generator.
generator() {
  local name=$1
  shift
  in_background exec_generator "$name" "$@"
  generator=${background[-1]}
  sends() { jq -es 'length > 0 and .[-1].sent.packets > 0' "$scratch/$name.json" >/dev/null 2>&1; }
  wait_for 20 sends || fail "$name does not send: $(cat "$scratch/$name.err")"
}
exec_generator() {
  local name=$1
  shift
  exec taskset -c "$both" "$XDP_ROCE" --netns "$sender_netns" --json send "$sender_port" "${flow[@]}" for 600s --interval 0.2 \
    "$@" >"$scratch/$name.json" 2>"$scratch/$name.err"
}
killed() {
  kill -9 "$@"
  wait "$@" 2>/dev/null || true
}
# What it says of its threads; what the kernel says: the processors of those that stay on one.
placed() { jq -cs '[.[-1].processors[].processor]' "$scratch/$1.json"; }
why() { jq -rs '[.[-1].processors[].why] | unique | join(",")' "$scratch/$1.json"; }
pinned() { awk '/^Cpus_allowed_list/ && $2 ~ /^[0-9]+$/ { print $2 }' "/proc/$1/task/"*/status | sort -n | paste -sd, -; }

generator first --engine live qp 0x11
first=$generator
generator second --engine live qp 0x21
second=$generator
generator third --engine live qp 0x31
third=$generator
assert_eq "${cpus[0]}" "$(pinned "$first")" "processor of the first"
assert_eq "${cpus[1]}" "$(pinned "$second")" "processor of the second"
assert_eq "" "$(pinned "$third")" "processor of the third"
assert_eq "[${cpus[0]}] [${cpus[1]}] [null]" "$(placed first) $(placed second) $(placed third)" "what they say"
assert_eq "no other xdp-roce has it" "$(why first)" "why"
assert_eq "all are taken: where the kernel puts it" "$(why third)" "why it stays nowhere"

# Two threads of one take both, where they are free.
killed "$first"
generator fourth --engine live --threads 2 qp 0x41 qps 4
assert_eq "[${cpus[0]},null]" "$(placed fourth)" "after a kill"
assert_eq "${cpus[0]}" "$(pinned "$generator")" "after a kill"
killed "$second" "$third" "$generator"
generator fifth --engine live --threads 2 qp 0x51 qps 4
assert_eq "[${cpus[0]},${cpus[1]}]" "$(placed fifth)" "two threads"
assert_eq "$both" "$(pinned "$generator")" "two threads"

# --cpus, for each engine; one queue has a thread that stays only if it is asked to.
generator sixth --engine live --cpus "${cpus[1]}" qp 0x61
assert_eq "${cpus[1]}" "$(pinned "$generator")" "--cpus"
assert_eq "--cpus; another xdp-roce has it, too" "$(why sixth)" "why"
generator seventh --cpus "${cpus[1]}" qp 0x71
assert_eq "${cpus[1]}" "$(pinned "$generator")" "--cpus of AF_XDP"
killed "$generator"
generator eighth qp 0x81
assert_eq "" "$(pinned "$generator")" "one queue"
assert_eq "[null]" "$(placed eighth)" "one queue"

refused "of ${cpus[0]}" taskset -c "${cpus[0]}" "$XDP_ROCE" --netns "$sender_netns" send "$sender_port" "${flow[@]}" --cpus "${cpus[1]}"
misused 'such as 2 or 0-3,8' xt send "$sender_port" "${flow[@]}" --cpus 3-1
misused 'engine live' xt send "$sender_port" "${flow[@]}" --threads 2
misused 'threads N' xt send "$sender_port" "${flow[@]}" --engine live --queues 2
