#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A capture divided by streams and by time: tshark and capinfos find each frame once, in its file, with its comment; the
# files together give the report of the whole.
. "$(dirname "$0")/lib.sh"
need jq editcap capinfos tshark

whole=$scratch/whole.pcapng
zcat "$(capture loss_rc_send_v4)" >"$scratch/plain.pcap"
editcap -F pcapng -a '1:the first' -a '3000:in the middle, "quoted"' "$scratch/plain.pcap" "$whole"
frames_of() { tshark -r "$1" -T fields -e frame.time_epoch -e frame.len -e frame.md5_hash -o frame.generate_md5_hash:TRUE -e frame.comment 2>/dev/null; }
frames_of "$whole" >"$scratch/expected"
grep -q 'in the middle' "$scratch/expected" || fail "tshark shows no comment"

"$XDP_ROCE" --json analyze "$whole" --split-by stream --split-to "$scratch/streams" >"$scratch/report.json"
assert_json "$scratch/report.json" '.split.files == (.streams | length) + 1 and .split.left_out == 0'
for file in "$scratch"/streams/*_request.pcapng; do
  qp=$(basename "$file" | cut -d _ -f 3)
  tshark -r "$file" -T fields -e infiniband.bth.destqp 2>/dev/null | sort -u >"$scratch/qps"
  (($(cat "$scratch/qps") == qp)) || fail "$file has QPs $(cat "$scratch/qps")"
done
"$XDP_ROCE" analyze "$whole" --split-by time --every 200ms --split-to "$scratch/times" >"$scratch/last.out"
for how in streams times; do
  for file in "$scratch/$how"/*; do frames_of "$file"; done | sort >"$scratch/got"
  sort "$scratch/expected" | cmp -s - "$scratch/got" || fail "$how: $(sort "$scratch/expected" | diff - "$scratch/got" | head -n 3)"
  "$XDP_ROCE" --json analyze "$scratch/$how" | jq -S .streams >"$scratch/$how.json"
  jq -S .streams "$scratch/report.json" | cmp -s - "$scratch/$how.json" || fail "the report of $how differs"
done
previous=0
for file in "$scratch"/times/*; do
  first=$(capinfos -aMTrS "$file" | cut -f 2)
  awk -v a="$previous" -v b="$first" 'BEGIN { exit !(b >= a) }' || fail "$file begins at $first"
  previous=$(capinfos -eMTrS "$file" | cut -f 2)
done

refused() { # WORDS OPTION...
  local words=$1
  shift
  ! "$XDP_ROCE" analyze "$whole" "$@" >"$scratch/out" 2>&1 || fail "$* was not refused"
  grep -q -- "$words" "$scratch/out" || fail "$*: $(cat "$scratch/out")"
}
refused 'has captures already' --split-by stream --split-to "$scratch/streams"
refused 'needs a directory' --split-by stream
refused 'has intervals' --split-by time --split-to "$scratch/new"
refused 'has intervals' --split-by stream --every 1s --split-to "$scratch/new"
refused 'are for --split-by' --split-to "$scratch/new"
[[ ! -e $scratch/new ]] || fail "a refused command made its directory"
