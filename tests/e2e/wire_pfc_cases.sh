#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a wire's link makes of unusual PFC frames, the cases of switches' tests: a source MAC of zeros,
# class-enable bits that are not set, PAUSE for the whole port, quanta of several values. None of them
# is forwarded.
. "$(dirname "$0")/wire_lib.sh"
need tshark
lane3
begin_wire
xr link box1 rate 1gbit buffer 1M >/dev/null
observe_left "$scratch/left.pcap" --immediate-mode ether proto 0x8808

pfc() {
  keep "$XDP_ROCE" --netns "$right" send right0 pfc "$@" || fail "pfc $*: $(cat "$scratch/last.err")"
}
link() { xr --json link box1 show >"$scratch/link" && jq -e "$1" "$scratch/link" >/dev/null; }
# What the link counts of a class: of_class CLASS KEY.
of_class() { xr --json link box1 show | jq "[.classes[] | select(.class == $1) | .$2] | add // 0"; }
class_has() { (($(of_class "$1" "$2") == $3)); }
frames=0
taken() { xr --json link box1 show | jq -e ".in.mac_control == $frames" >/dev/null; }
# all_taken COUNT: so many more MAC control frames ended at the port.
all_taken() {
  frames=$((frames + $1))
  wait_for 10 taken || fail "$frames MAC control frames: $(xr --json link box1 show | jq -c .in)"
}

pfc 3 src-mac 00:00:00:00:00:00 every 10ms count 4
all_taken 5
wait_for 10 class_has 3 xoff_received 4 || fail "a source MAC of zeros: $(of_class 3 xoff_received) XOFF"
wait_for 10 class_has 3 xon_received 1 || fail "a source MAC of zeros: $(of_class 3 xon_received) XON"

pfc 2 enable 0 every 10ms count 4
all_taken 5
class_has 2 xoff_received 0 || fail "no enable bit: $(of_class 2 xoff_received) XOFF"
class_has 2 paused_us 0 || fail "no enable bit: paused for $(of_class 2 paused_us) us"
pfc 2,6 enable 0x40 every 10ms count 4
all_taken 5
wait_for 10 class_has 6 xoff_received 4 || fail "one enable bit: $(of_class 6 xoff_received) XOFF"
class_has 2 xoff_received 0 || fail "the other enable bit: $(of_class 2 xoff_received) XOFF"

paused=$(of_class 7 xoff_received)
pfc global every 10ms count 3
all_taken 4
for class in 0 1 2 4 5 7; do
  wait_for 10 class_has $class xoff_received $((paused + 3)) || fail "PAUSE: class $class has $(of_class $class xoff_received) XOFF"
  wait_for 10 class_has $class xon_received 1 || fail "PAUSE: class $class has $(of_class $class xon_received) XON"
done

# 512 bit times of 1 Gbit/s a quantum. Each has run when the next frame comes.
quanta=0 before=$(of_class 4 paused_us)
paused_for() { of_class 4 paused_us | awk -v before="$before" -v us="$1" '{ exit !($1 - before >= us - 1 && $1 - before <= us + 1) }'; }
for each in 0x1fff 0x3fff 0x7fff 1; do
  pfc 4 quanta $each every 1ms count 1 no-xon
  all_taken 1
  quanta=$((quanta + each))
  wait_for 10 paused_for "$(awk "BEGIN { print $quanta * 0.512 }")" ||
    fail "paused for $(of_class 4 paused_us) - $before us by $quanta quanta"
done
observed
assert_eq 0 "$(tshark -r "$scratch/left.pcap" 2>/dev/null | wc -l)" "PFC frames that were forwarded"
end_wire
