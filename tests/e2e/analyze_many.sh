#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several captures are one: a capture cut into files by editcap gives the report of the whole, in any order, as a
# directory and by several jobs; rows for other programs have the numbers of the report.
. "$(dirname "$0")/lib.sh"
need jq editcap capinfos python3

whole=$scratch/whole.pcapng
case $(capture loss_rc_send_v4) in
  *.gz) zcat "$(capture loss_rc_send_v4)" >"$scratch/plain.pcap" ;;
  *) cp "$(capture loss_rc_send_v4)" "$scratch/plain.pcap" ;;
esac
editcap -F pcapng "$scratch/plain.pcap" "$whole"
frames=$(capinfos -MTrc "$whole" | awk '{ print $NF }')
mkdir "$scratch/ring"
editcap -c $((frames / 5 + 1)) "$whole" "$scratch/ring/part.pcapng"
mapfile -t parts < <(find "$scratch/ring" -name '*.pcapng' | sort)
((${#parts[@]} == 5)) || fail "${#parts[@]} parts of $frames frames"

# What does not name files.
body() { "$XDP_ROCE" --json analyze --episodes "$@" | jq -S 'del(.source, .run) | .findings |= map(del(.file, .frame, .other_file, .other_frame))'; }
body "$whole" >"$scratch/expected"
jq -e '.episodes | length > 5' "$scratch/expected" >/dev/null || fail "the capture has no losses"
for how in "${parts[*]}" "${parts[4]} ${parts[1]} ${parts[0]} ${parts[3]} ${parts[2]}" "$scratch/ring" "--jobs 2 $scratch/ring" "--jobs 3 $whole"; do
  # shellcheck disable=SC2086 # several words
  body $how >"$scratch/got"
  cmp -s "$scratch/expected" "$scratch/got" || fail "analyze $how: $(diff "$scratch/expected" "$scratch/got" | head -n 5)"
done
"$XDP_ROCE" --json analyze "$scratch/ring" | jq -e '.source.name == "5 captures" and (.source.files | length) == 5' >/dev/null ||
  fail "the source of several captures"

# Rows, as Python's own readers see them.
"$XDP_ROCE" analyze "$scratch/ring" --rows csv --run first >"$scratch/streams.csv"
"$XDP_ROCE" analyze "$scratch/ring" --rows ndjson --episodes --table episodes >"$scratch/episodes.ndjson"
"$XDP_ROCE" analyze "$whole" --rows ndjson --table events >"$scratch/events.ndjson"
# The recipe of docs/captures.md for SQLite.
if command -v sqlite3 >/dev/null; then
  sums=$(sqlite3 :memory: -cmd ".import --csv $scratch/streams.csv streams" \
    "SELECT src, dst, sum(missing), sum(packets) FROM streams GROUP BY src, dst ORDER BY src, dst")
  assert_eq "$("$XDP_ROCE" --json analyze "$scratch/ring" | jq -r '.streams | group_by([.src, .dst])
    | map([.[0].src, .[0].dst, (map(.missing) | add), (map(.packets) | add)] | map(tostring) | join("|")) | join("\n")')" "$sums" "sums by sqlite3"
fi
python3 - "$scratch" <<'P'
import csv, json, sys
scratch = sys.argv[1]
expected = json.load(open(f"{scratch}/expected"))
streams = list(csv.DictReader(open(f"{scratch}/streams.csv")))
assert len(streams) == len(expected["streams"]), "streams"
for row, stream in zip(streams, expected["streams"]):
    assert row["run"] == "first" and row["host"], row
    for key in ("src", "dst", "dest_qp", "packets", "gaps", "missing", "rewinds"):
        assert row[key] == str(stream[key]), (key, row, stream)
episodes = [json.loads(line) for line in open(f"{scratch}/episodes.ndjson")]
assert [{k: v for k, v in row.items() if k not in ("host", "source", "run")} for row in episodes] == expected["episodes"], "episodes"
events = [json.loads(line) for line in open(f"{scratch}/events.ndjson")]
gaps = sum(row["type"] == "gap" for row in events)
assert 0 < gaps <= sum(stream["gaps"] for stream in expected["streams"]), gaps
assert [row["time"] for row in events] == sorted(row["time"] for row in events)
P
refused() { # WORDS COMMAND...
  local words=$1
  shift
  ! "$@" >"$scratch/out" 2>&1 || fail "$* was not refused"
  grep -q -- "$words" "$scratch/out" || fail "$*: $(cat "$scratch/out")"
}
refused 'no captures in this directory' "$XDP_ROCE" analyze "$(mkdir "$scratch/empty" && echo "$scratch/empty")"
refused 'table episodes needs --episodes' "$XDP_ROCE" analyze "$whole" --rows csv --table episodes
refused 'table latency needs --latency' "$XDP_ROCE" analyze "$whole" --rows csv --table latency

# Several jobs write what one writes, from standard input too.
without_run() { # FILE: removes the command line and its time
  [[ $(head -c 1 "$1") == "{" ]] || return 0
  jq 'del(.run)' "$1" >"$scratch/body"
  mv "$scratch/body" "$1"
}
same() { # NAME COMMAND...: with and without --jobs
  local jobs
  "${@:2}" >"$scratch/default" || fail "${*:2}"
  [[ -s $scratch/default ]] || fail "$1: nothing"
  without_run "$scratch/default"
  for jobs in 1 2 7; do
    "${@:2}" --jobs $jobs >"$scratch/jobs" || fail "${*:2} --jobs $jobs"
    without_run "$scratch/jobs"
    cmp "$scratch/default" "$scratch/jobs" || fail "$1: --jobs $jobs differs from the default"
  done
}
from_stdin() { "$XDP_ROCE" --json analyze - "$@" <"$whole"; }
same 'standard input' from_stdin
same events "$XDP_ROCE" analyze "$whole" --rows csv --table events
same connections "$XDP_ROCE" --json analyze --connections "$(capture rc_send_cm_v4)"
same tunnels "$XDP_ROCE" --json analyze --decap vxlan,erspan "$scratch/ring"
"$XDP_ROCE" analyze "$whole" --split-by stream --split-to "$scratch/split-one" >/dev/null
"$XDP_ROCE" analyze "$whole" --split-by stream --split-to "$scratch/split-three" --jobs 3 >/dev/null
diff -r "$scratch/split-one" "$scratch/split-three" || fail 'files by stream of three jobs differ'
echo "$frames frames in 5 files, 4 ways: the same report"
