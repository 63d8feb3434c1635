#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `wire` is killed under load, 20 times: the kernel forwards frames again at once and counts those that
# were to be held. What the process held is lost: the port's report has as many frames as the kernel's
# counters of the ends miss. A new process continues. A bridge that was there is joined and left there.
. "$(dirname "$0")/wire_lib.sh"
lane3
before=$(kernel_objects)
xr bridge box0 box1 >/dev/null 2>&1 || fail "bridge"
xr impair box0 add roce delay 10ms >/dev/null

# Frames that left one end and reached the other, by the kernel's counters.
on_the_wire() { echo "$(sent_by_left) $(got_by_right)"; }
counted() { xr --json counters box0 | jq "(.impaired.$1 // 0)"; }
killed() { xr --json link box0 show | jq '.lost.lost_when_killed // 0'; }
more_than() { (($(counted "$1") > $2)); }
# Nothing is on its way any more.
settled() {
  local was=$seen
  seen=$(on_the_wire)
  [[ $was == "$seen" && $(counted held) == "$held" ]]
}
# begin_load, end_load: 5,000 frames a second.
begin_load() {
  "$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" qp 5 send size 256 rate 5kpps \
    --for 60s >"$scratch/sent" 2>"$scratch/sent.err" &
  load=$!
  background+=("$load")
}
end_load() {
  kill -INT "$load"
  wait "$load" || fail "send: $(cat "$scratch/sent.err")"
  unset 'background[-1]'
}

tries=${XR_KILLS:-20} exact=0 holding=0
for ((i = 1; i <= tries; i++)); do
  held=$(counted held) not_held=$(counted not_held) lost=$(killed)
  read -r sent received < <(on_the_wire)
  begin_wire
  ((i > 1)) || grep -q 'joins the bridge' "$scratch/wire.err" || fail "it does not say so: $(cat "$scratch/wire.err")"
  ((i > 1)) || refused "another xdp-roce wire holds its frames" xr wire box0 box1
  begin_load
  wait_for 20 more_than held $((held + 200 + i * 7)) || fail "no frame is held"
  kill -9 "$wire_pid"
  wait "$wire_pid" 2>/dev/null || true
  unset 'background[-2]'
  background=("${background[@]}")
  wait_for 20 more_than not_held $((not_held + 100)) || fail "nothing goes on: $(xr --json counters box0 | jq -c .impaired)"
  end_load
  held=$(counted held) seen=
  wait_for 20 settled || fail "frames still come"
  xr --json link box0 show >"$scratch/link"
  assert_json "$scratch/link" '.link.running == false'
  xr --json status box0 | jq -e '.attachments[0] | .bridged_with == "box1"' >/dev/null || fail "status: $(xr --json status box0)"
  read -r sent_now received_now <<<"$seen"
  missed=$((sent_now - sent - (received_now - received)))
  told=$(($(killed) - lost))
  # What was on the ring at that moment may have left: at most a batch.
  ((told <= missed + 64 && missed <= told + 64)) ||
    fail "kill $i: the kernel's counters miss $missed frames, the report has $told: $(jq -c '.in, .lost' "$scratch/link")"
  exact=$((exact + (told == missed))) holding=$((holding + (told > 10)))
done
((holding * 2 > tries)) || fail "the process held frames at $holding of $tries kills" # a sender may stall on a busy machine
((exact * 2 > tries)) || fail "the report was exact after $exact of $tries kills"
echo "exact after $exact of $tries kills"

# A process that is interrupted under load counts all that it was given.
total=$(killed)
begin_wire
handed=$(counted held)
read -r sent received < <(on_the_wire)
begin_load
wait_for 20 more_than held $((handed + 200)) || fail "no frame is held"
end_wire
end_load
held=$(counted held) seen=
wait_for 20 settled || fail "frames still come"
read -r sent_now received_now <<<"$seen"
missed=$((sent_now - sent - (received_now - received)))
wire_said ".first_lost | .dropped_at_end > 10 and .dropped_at_end + .lost_when_killed - $total == $missed"
assert_eq "$total" "$(killed)" "frames lost by killed processes"
xr detach --all >/dev/null
wait_for 20 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
