#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The live view in a tmux terminal: it shows the values of counters and streams, keys have their
# documented effect, and the terminal is restored however the view ends.
. "$(dirname "$0")/lib.sh"
need jq tmux
lane
file=$(capture loss2_rc_psnwrap_v4)
export LC_ALL=C.UTF-8
unset NO_COLOR

tm() {
  tmux -L "$tx" -f /dev/null "$@"
}
# shellcheck disable=SC2154 # here: lib.sh
end_tmux() {
  local status=$?
  set +e
  tm kill-server 2>/dev/null
  (exit "$status")
  tidy_up
}
trap end_tmux EXIT

screen() {
  tm capture-pane -t view -p
}
shows() {
  screen | grep -qE -- "$1"
}
await_screen() { # longer than an attach of somebody else may hold the lock
  wait_for 25 shows "$1" || fail "'$1' never stood on the screen: $(screen)"
}
gone_from_screen() {
  ! shows "$1"
}
await_gone() {
  wait_for 10 gone_from_screen "$1" || fail "'$1' stayed on the screen: $(screen)"
}
keys() {
  tm send-keys -t view "$@"
}

ports= # beside rx0
# watch_in_tmux [VARIABLE=VALUE...]: in a shell that says how it ended, and what stty says of the
# terminal before and after.
watch_in_tmux() {
  tm kill-session -t view 2>/dev/null || true
  rm -f "$scratch"/{before,after,pid,rc}
  cat >"$scratch/session" <<-END
	ulimit -c 0
	stty -a >"$scratch/before"
	echo of the shell
	env $* "$XDP_ROCE" --netns "$rx" watch rx0 $ports 2>"$scratch/said" &
	echo \$! >"$scratch/pid"
	fg >/dev/null
	rc=\$?
	if ((rc == 148)); then # SIGTSTP
	  echo stopped
	  read -r
	  fg >/dev/null
	  rc=\$?
	fi
	echo \$rc >"$scratch/rc"
	stty -a >"$scratch/after"
	echo ended
	exec sleep 100
	END
  tm new-session -d -s view -x 80 -y 24 "bash -m $scratch/session"
  await_screen 'xdp-roce watch  rx0'
}
# ended_with STATUS: and the terminal is as it was.
ended_with() {
  wait_for 10 test -s "$scratch/after" || fail "it did not end: $(screen)"
  assert_eq "$1" "$(cat "$scratch/rc")" "exit status: $(cat "$scratch/said")"
  assert_eq "$(cat "$scratch/before")" "$(cat "$scratch/after")" "stty -a after it"
  await_screen '^of the shell$'
  await_screen '^ended$'
  ! shows 'xdp-roce watch' || fail "its screen stayed: $(screen)"
  assert_eq 0 "$(tm display-message -t view -p '#{alternate_on}')" "the alternate screen is on"
  assert_eq 1 "$(tm display-message -t view -p '#{cursor_flag}')" "the cursor is on"
}
with_commas() {
  LC_ALL=C sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta'
}

tm new-session -d -s server 'sleep 1000' # one that outlives the views
xr attach rx0
xr impair rx0 add opcode ack every 5 set dscp 8 >/dev/null
watch_in_tmux
replay "$file" --rate 900
await_frames "$(sent packets)"
xr --json counters rx0 >"$scratch/counters.json"
xr --json streams rx0 >"$scratch/streams.json"

# The numbers.
await_screen "RoCE $(jq .frames.rocev2 "$scratch/counters.json" | with_commas) packets"
await_screen "not ECT +[0-9.,]+ +$(jq .ecn.not_ect "$scratch/counters.json" | with_commas)( |$)"
xr --json impair rx0 list >"$scratch/rules.json"
jq -e '.rules[0].acted > 0' "$scratch/rules.json" >/dev/null || fail "the rule did nothing"
await_screen " 1 +$(jq '.rules[0].matched' "$scratch/rules.json" | with_commas) +$(jq '.rules[0].acted' "$scratch/rules.json") .*opcode ack"
qp_by() { # KEY: DestQP of the stream with most of it
  jq -r ".streams | sort_by(-.$1, -.packets) | .[0].dest_qp" "$scratch/streams.json" |
    xargs printf '0x%06x'
}
first_stream() {
  screen | grep -A1 'SOURCE .*DESTINATION' | tail -n 1
}
first_is() {
  first_stream | grep -q "$1"
}
await_first() {
  wait_for 10 first_is "$1" || fail "$1 is not the first: $(screen)"
}
keys W
await_screen 'REWINDS▼'
await_first "$(qp_by rewinds)"
assert_eq "$(jq '[.streams[].rewinds] | max' "$scratch/streams.json")" \
  "$(first_stream | awk '{ print $(NF - 1) }')" "rewinds of the first: $(screen)"
keys I
await_screen 'REWINDS▲'
await_first "$(jq -r '.streams | sort_by(.rewinds, -.packets) | .[0].dest_qp' "$scratch/streams.json" |
  xargs printf '0x%06x')"
# its menu
keys s
await_screen 'SORT BY'
keys Home
await_screen 'packets_per_s'
keys Enter
await_screen 'PKT/s▼'
keys M
await_screen 'LOST▼'

# The filter.
streams=$(jq '.streams | length' "$scratch/streams.json")
requests=$(jq '[.streams[] | select(.kind == "request")] | length' "$scratch/streams.json")
keys / request
await_screen "$requests of $streams streams"
keys Enter
await_gone '0x[0-9a-f]+ response '

# One stream, with what happened to it.
keys Enter
await_screen "QP $(jq -r '.streams[] | select(.kind == "request") | .dest_qp' "$scratch/streams.json" |
  head -n 1 | xargs printf '0x%06x') request"
for key in gaps skipped duplicates rewinds jumped; do
  await_screen "${key^^} +$(jq "[.streams[] | select(.kind == \"request\")][0].$key" "$scratch/streams.json")( |$)"
done
keys End
await_screen ' gap  +[0-9]+ PSN'
keys Escape
await_screen "$requests of $streams streams"
keys Escape
await_screen "  $streams streams"

# Events, rules, help.
keys e
await_screen 'EVENTS .*newest first'
keys r
await_screen 'RULE +MATCHED'
# longer than the screen is wide
xr impair rx0 add dest-qp 0xfffff0-0xfffff8 probability 1% ce seed 2937157439 >/dev/null
await_screen '0xfffff0-0xfffff8 .*~$'
! shows 2937157439 || fail "the rule's end is seen without shifting: $(screen)"
keys Right Right Right
await_screen '0xfffff0-0xfffff8 probability 1% ce seed 2937157439$'
await_gone '^RULE'
keys Left Left Left
await_screen '^RULE +MATCHED'
keys Right
await_gone '^RULE'
keys e r
await_screen '^RULE +MATCHED'
xr impair rx0 del 2 >/dev/null
keys '?'
await_screen 'select a stream; it stays selected'
keys Escape
await_screen "  $streams streams"

# Another reader of the events is refused, and this one continues.
refused 'another process is reading' xr events rx0 --count 1

# Zero.
keys z
await_screen ' since [0-9:]+ '
await_screen 'RoCE 0 packets'
keys z
await_screen "RoCE $(jq .frames.rocev2 "$scratch/counters.json" | with_commas) packets"

# Other sizes.
tm resize-window -t view -x 60 -y 15
wait_for 10 eval '(($(screen | wc -L) <= 60)) && shows "q quit"' || fail "at 60x15: $(screen)"
tm resize-window -t view -x 200 -y 50
await_screen 'HOLES FORGOTTEN|SKIPPED'
tm resize-window -t view -x 25 -y 4
await_screen 'too small'
tm resize-window -t view -x 80 -y 24
await_screen 'q quit'
tm capture-pane -t view -pe | grep -qE $'\033\\[[0-9;]*(3[0-7]|4[0-7])m' || fail "no colour: $(tm capture-pane -t view -pe)"

# All its ends.
keys q
ended_with 0
for signal in TERM HUP INT QUIT USR1 USR2 ALRM VTALRM PROF IO PWR STKFLT XCPU XFSZ RTMIN RTMAX; do
  watch_in_tmux
  kill "-$signal" "$(cat "$scratch/pid")"
  ended_with 0
done
watch_in_tmux
kill -PIPE "$(cat "$scratch/pid")" # is sent to a process that writes
keys q
ended_with 0
for signal in SEGV ABRT BUS FPE ILL TRAP SYS; do # a fault's status stays the fault's
  watch_in_tmux
  kill "-$signal" "$(cat "$scratch/pid")"
  ended_with $((128 + $(kill -l "$signal")))
done
watch_in_tmux
keys F10
ended_with 0

# Stopped and on again.
watch_in_tmux
stopped() { # ncurses ignores the signal while it draws
  kill -TSTP "$(cat "$scratch/pid")" && shows '^stopped$'
}
wait_for 10 stopped || fail "it did not stop: $(screen)"
await_gone 'xdp-roce watch'
keys Enter
await_screen 'xdp-roce watch  rx0'
keys q
ended_with 0

# No colour, wherever one looks.
no_colour() {
  ! tm capture-pane -t view -pe | grep -qE $'\033\\[([0-9]+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;|m)' ||
    fail "colour: $(tm capture-pane -t view -pe)"
}
watch_in_tmux NO_COLOR=1
for key in W e '?'; do
  keys "$key"
  no_colour
done
keys Escape q
ended_with 0

# As text: no terminal, no escapes, and the width of COLUMNS.
xr watch rx0 --once --interval 0.1 | cat >"$scratch/once"
assert_eq "" "$(grep -P '[\x00-\x08\x0b-\x1f\x7f]' "$scratch/once")" "control characters in --once"
(($(wc -L <"$scratch/once") <= 80)) || fail "--once is too wide: $(cat "$scratch/once")"
grep -q "RoCE $(jq .frames.rocev2 "$scratch/counters.json" | with_commas) packets" "$scratch/once" ||
  fail "--once: $(cat "$scratch/once")"
COLUMNS=120 LINES=40 xr watch rx0 --once --interval 0.1 >"$scratch/once"
(($(wc -L <"$scratch/once") > 100)) || fail "--once in 120 columns: $(cat "$scratch/once")"
LC_ALL=C xr watch rx0 --once --interval 0.1 >"$scratch/once"
! grep -qP '[^\x00-\x7f]' "$scratch/once" || fail "more than ASCII: $(cat "$scratch/once")"
refused '--once|not a terminal' xr watch rx0 </dev/null
keep xr --json watch rx0 && fail "--json"
assert_sentence 'no JSON' <"$scratch/last.err"

# Several ports: one beside the other, Tab selects the next.
ip -n "$rx" link add rx1 type veth peer name rx2
ip -n "$rx" link set rx1 up
xr attach rx1 >/dev/null
xr watch rx0 rx1 --once --interval 0.1 >"$scratch/once"
assert_eq 2 "$(grep -c 'xdp-roce watch  rx[01] ' "$scratch/once")" "frames of two ports"
ports=rx1
watch_in_tmux
await_screen '1:rx0 .* 2:rx1'
keys Tab
await_screen 'xdp-roce watch  rx1'
keys 1
await_screen 'xdp-roce watch  rx0'
# One goes: it is reported, and the other continues.
xr detach rx1 >/dev/null
await_screen '1:rx0 .*/s .* 2:rx1 gone'
keys Tab
await_screen 'rx1 .*GONE'
await_screen 'it was detached'
keys q
ended_with 0
ports=

# Another process reads the events: it says so and continues without.
in_background "$XDP_ROCE" --netns "$rx" events rx0 >/dev/null 2>"$scratch/events.err"
reads_events() { # the epoll of its ring is made after the lock
  find "/proc/${background[-1]}/fd" -lname '*eventpoll*' 2>/dev/null | grep -q .
}
wait_for 10 reads_events || fail "no reader of the events"
watch_in_tmux
await_screen 'no events'
keys e
await_screen 'another process is reading the events'
keys q
ended_with 0
end_background INT

# The port goes meanwhile.
watch_in_tmux
xr detach rx0 >/dev/null
ended_with 1
assert_sentence 'rx0: it was detached' <"$scratch/said"

# What found no room is red, the line above it is not; with NO_COLOR nothing is.
xr attach rx0 --streams 16
replay --stream --flows 100 --packets 50
await_frames 5000
red() { # TEXT: does it begin in red?
  tm capture-pane -t view -pe | grep -qE $'\033\\[([0-9]+;)*31(;[0-9]+)*m(\033\\[1m)?'"$1"
}
watch_in_tmux
await_screen '^OVERFLOW +streams 4,200'
red OVERFLOW || fail "the overflow is not red: $(tm capture-pane -t view -pe)"
! red 'RoCE 5,000 packets' || fail "what is no overflow is red: $(tm capture-pane -t view -pe)"
keys q
ended_with 0
watch_in_tmux NO_COLOR=1
await_screen '^OVERFLOW +streams 4,200'
no_colour
keys q
ended_with 0

watch_in_tmux
ip -n "$rx" link del rx0
ended_with 1
assert_sentence 'interface is gone' <"$scratch/said"
refused 'rx0' xr watch rx0 --once
