#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The progress line on terminals of several widths: one line, which does not wrap, of a sweep with its points and the time
# left; of `analyze` with GB, GB/s and the time left; and nothing of it remains after the end. What an interrupt leaves of
# `analyze` is the report of what was read.
. "$(dirname "$0")/lib.sh"
need tmux jq
export LC_ALL=C.UTF-8

tm() { tmux -L "progress-$$" -f /dev/null "$@"; }
# shellcheck disable=SC2154 # here: lib.sh
end_tmux() {
  local status=$? pid
  set +e
  for pid in "$scratch"/pid-*; do [[ ! -e $pid ]] || kill -KILL "$(cat "$pid")" 2>/dev/null; done
  tm kill-server 2>/dev/null
  (exit "$status")
  tidy_up
}
trap end_tmux EXIT

# With what scrolled away; lines that are not empty.
screen() { tm capture-pane -t "view-$columns" -p -S - | sed '/^ *$/d'; }
shows() { screen | grep -qE -- "$1"; }
progress_lines() { screen | grep -cE '^(sweep|htsim: matrix.cm|captured) .* %  ' || true; }

# begin COLUMNS COMMAND...: it in a terminal of so many columns, with stderr on it.
begin() {
  local columns=$1
  shift
  tm kill-session -t "view-$columns" 2>/dev/null || true
  printf 'cd %q\n' "$scratch" >"$scratch/session-$columns"
  printf '%q ' "$XDP_ROCE" "$@" >>"$scratch/session-$columns"
  cat >>"$scratch/session-$columns" <<-END
	>"$scratch/report-$columns" &
	echo \$! >"$scratch/pid-$columns"
	wait
	echo ended
	exec sleep 1000
	END
  tm new-session -d -s "view-$columns" -x "$columns" -y 24 "bash $scratch/session-$columns"
  assert_eq "$columns" "$(tm display-message -t "view-$columns" -p '#{pane_width}')" "columns of the terminal"
}
# one_line WORDS: within a minute the line has these, and 20 updates later it is still one line, the last.
one_line() {
  wait_for 60 shows "$1" || fail "$columns columns: no '$1' on the screen: $(screen)"
  sleep 2
  assert_eq 1 "$(progress_lines)" "$columns columns: lines of progress on the screen: $(screen)"
  screen | tail -n 1 | grep -qE -- "$1" || fail "$columns columns: the line wraps: $(screen)"
}
# The run is interrupted, as how long it takes depends on the machine.
end() {
  kill -INT "$(cat "$scratch/pid-$columns")"
  wait_for 60 shows '^ended$' || fail "$columns columns: it did not end: $(screen)"
  rm "$scratch/pid-$columns"
  assert_eq 0 "$(progress_lines)" "$columns columns: lines of progress after the end: $(screen)"
}

{
  printf 'Nodes 32\nConnections 16\n'
  for i in {0..15}; do printf '%d->%d start 0 size 2000000000\n' "$i" $((i + 16)); done
} >"$scratch/matrix.cm"
incast=(incast --set measure.from=1ms --set 'expect=["jain > 0"]')

tm new-session -d -s server 'sleep 1000' # outlives the views
# All widths at once, each in a terminal of its own.
width() {
  local columns=$1
  begin "$columns" run "${incast[@]}" --set duration=20ms --set 'sweep={seed: 1..5000}' --out "$scratch/sweep-$columns"
  one_line '^sweep .* left, [1-9][0-9,]* of 5,000 points, '
  ((columns < 80)) || shows 'points/s, [0-9]+ running|s a point, [0-9]+ running' || fail "no rate: $(screen)"
  end
  begin "$columns" run --import cm "$scratch/matrix.cm" --out "$scratch/cm-$columns"
  one_line '^htsim: matrix.cm .* left, '
  end
}
widths=()
for columns in 60 80 100 200; do
  width "$columns" &
  widths+=($!)
done
for one in "${widths[@]}"; do wait "$one" || fail "a width failed"; done

# While the first points run.
columns=80
begin "$columns" run "${incast[@]}" --set duration=1000s --set 'sweep={seed: 1..2}'
one_line '^sweep .* 0 of 2 points, [12] running'
end

# A hole is a capture's empty frames: of this file, more than is read before the interrupt.
zcat -f "$(capture loss_rc_send_v4)" >"$scratch/captured"
truncate -s 30G "$scratch/captured"
begin "$columns" --json analyze --episodes --latency --jobs 1 captured
one_line '^captured .* left, [0-9.]+ GB, [0-9.]+ GB/s'
shows 'interrupted' && fail "interrupted too early: $(screen)"
end
shows '^note: captured: interrupted; the report covers what was read so far' || fail "after SIGINT: $(screen)"
assert_json "$scratch/report-$columns" '.opcodes | length > 0'
echo "terminals of 60, 80, 100 and 200 columns: one line of progress each"
