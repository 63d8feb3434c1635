#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ports that a version with another ABI attached: nothing of them is read, status and every other command say so with commands that
# replace them, attach --ensure and detach work, and both ports of a bridge go together. The configuration of such a port is made by
# hand. XR_OLDER: a program of an older version with the same ABI; the two then read and detach each other's ports.
. "$(dirname "$0")/bridge_lib.sh"
need jq bpftool python3
lane3
before=$(kernel_objects)
mkdir "$scratch/bin"
ln -s "$XDP_ROCE" "$scratch/bin/xdp-roce"
PATH=$scratch/bin:$PATH
xr attach box0 >/dev/null
abi=$(xr --json status box0 | jq '.attachments[0].abi')

other_abi() {
  "$here/other_abi.py" "$(echo "$XR_BPFFS"/xdp-roce/*-"$(ip -n "$box" -j link show "$1" | jq '.[0].ifindex')")" || fail "no configuration of another ABI"
}
counts() { [[ $(xr --json counters box0 | jq .frames.total) == "$1" ]]; }
state() { xr --json status "$1" | jq -r '.attachments[0].state'; }
# The hint's commands.
follow_hint() {
  local line
  sed -n 's/^hint: //p' "$scratch/last.err" | sed 's/, then /\n/; s/ replaces it$//; s/ also takes that program off$//' >"$scratch/commands"
  [[ -s $scratch/commands ]] || fail "no hint: $(cat "$scratch/last.err")"
  while IFS= read -r line; do
    # shellcheck disable=SC2086 # words
    $line >"$scratch/hint.out" 2>"$scratch/hint.err" || fail "the hint '$line' fails: $(cat "$scratch/hint.err")"
  done <"$scratch/commands"
}
said="attached by another version of xdp-roce (ABI $((abi + 1)), this is $abi)"

# A port: what is not known is null, and the note has the command.
other_abi box0
keep xr status box0 || fail "status fails for a port of another ABI"
grep -qF "note: box0: $said: xdp-roce --netns $box attach --ensure box0 replaces it" "$scratch/last.err" || fail "status: $(cat "$scratch/last.err")"
xr --json status box0 >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments[0] | .state == "attached by another version" and .udp_port == null and .streams == null and .stream_capacity == null
  and .tracked == null and .since == null and .abi == '$((abi + 1))
for words in "counters box0" "streams box0" "watch --once box0" "impair box0 list" "attach box0" "capture box0 --for 100ms -w $scratch/x.pcapng"; do
  # shellcheck disable=SC2086 # words
  ! keep xr $words || fail "$words: succeeds on a port of another ABI"
  grep -qF "$said" "$scratch/last.err" || fail "$words: $(cat "$scratch/last.err")"
  follow_hint
  # shellcheck disable=SC2086 # words
  keep xr $words || fail "$words, after its hint: $(cat "$scratch/last.err")"
  xr detach --all >/dev/null 2>&1 || true
  xr attach box0 >/dev/null
  other_abi box0
done
# Metrics: the port is not attached, as far as this version can read it.
keep xr export --once || true
grep -q '^xdp_roce_port_attached{.*port="box0"} 0' "$scratch/last.out" || fail "export: $(cat "$scratch/last.out")"
keep xr attach --ensure box0 || fail "attach --ensure: $(cat "$scratch/last.err")"
assert_eq attached "$(state box0)" "state after attach --ensure"
replay_left --stream --packets 100
wait_for 5 counts 100 || fail "counts after attach --ensure: $(xr --json counters box0 | jq -c .frames)"
other_abi box0
xr detach box0 >/dev/null || fail "detach of a port of another ABI"
assert_eq "not attached" "$(state box0)" "state after detach"

# Ports that count as one.
xr attach box0 box1 --one >/dev/null
other_abi box0
other_abi box1
keep xr attach --ensure box0 box1 --one || fail "attach --ensure --one: $(cat "$scratch/last.err")"
xr --json status box0 | jq -e '.attachments[0] | .state == "attached" and .shared_with == ["box1"]' >/dev/null || fail "they do not count as one"
xr detach --all >/dev/null

# A bridge: one port without the other would forward nothing.
xr bridge box0 box1 >/dev/null
other_abi box0
other_abi box1
assert_eq '["box1","box0"]' "$(xr --json status | jq -c '[.attachments[].bridged_with]')" "what is bridged, of another ABI"
! keep xr attach --ensure box0 || fail "attach --ensure takes one port of a bridge"
assert_eq box1 "$(xr --json status box0 | jq -r '.attachments[0].bridged_with')" "the bridge after a refusal"
follow_hint
assert_eq box1 "$(xr --json status box0 | jq -r '.attachments[0] | select(.state == "attached").bridged_with')" "the bridge after the hint"
other_abi box0
other_abi box1
keep xr detach box1 || fail "detach of a bridge of another ABI: $(cat "$scratch/last.err")"
grep -q 'it was bridged with box0, which is detached too' "$scratch/last.err" || fail "detach: $(cat "$scratch/last.err")"
xr bridge box0 box1 >/dev/null
other_abi box0
xr detach --all >/dev/null || fail "detach --all"
assert_eq 0 "$(ip -n "$box" -j link show box0 | jq '.[0].promiscuity // 0')" "promiscuity after detach"

# Two versions with one ABI.
if [[ ${XR_OLDER:-} ]]; then
  old() { "$XR_OLDER" --netns "$box" "$@"; }
  for pair in "old xr" "xr old"; do
    read -r first second <<<"$pair"
    $first attach box0 >/dev/null
    replay_left --stream --packets 100
    wait_for 5 counts 100 || fail "counts of a port that '$first' attached"
    ! keep "$second" attach box0 || fail "$second attaches what $first has attached"
    assert_eq 100 "$($second --json counters box0 | jq .frames.total)" "counts that $second reads"
    $second detach box0 >/dev/null || fail "$second does not detach"
  done
fi
remember
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
