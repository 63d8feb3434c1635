#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `send ... cc dcqcn` through a bridge that marks by RED (a rule of the kernel's program): rates fall,
# are fair among 8 QPs, and rise again when the marks end; every CNP that was sent arrives. Without
# ECN they stay at the line's rate. Wide limits, because the machine is shared.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
bridge --follow
# shellcheck disable=SC2034 # for traffic_lib.sh
sender_netns=$left sender_port=left0

# A queue of 100 Mbit/s: it marks what comes beyond that.
bottleneck() { keep xr impair box0 add ecn ect0 red 20k 120k 10% rate 100mbit || fail "$(cat "$scratch/last.err")"; }
no_bottleneck() { keep xr impair box0 clear || fail "$(cat "$scratch/last.err")"; }
marked() { xr --json impair box0 list | jq '[.rules[].acted] | add'; }

# Eight QPs of 40 Mbit/s at most; DCQCN's times and steps for a line so slow.
flow=("${v4[@]}" "${at[@]}" write size 64k pmtu 1024 qp 0x100 qps 8 cc dcqcn preset paper line 40mbit
  rai=500kbit rhai=1mbit min-rate=1mbit rate-timer=2ms alpha-timer=2ms byte-counter=2M g=1/16)
streams_of() { xrx --json streams right0 | jq -c '[.streams[] | select(.kind == "request") | .bytes]'; }
xrx() { "$XDP_ROCE" --netns "$right" "$@"; }
jain='def jain: (add * add) / (length * (map(. * .) | add)); jain'

bottleneck
respond on "$right" right0 --address "$to" --cnp-interval 2ms --cnp-mode window
send "${flow[@]}" for 6s --series "$scratch/series.csv" --sample 10ms
streams_of >"$scratch/bytes"
end_respond
cnps=$(sent_of .answers.cnps)
((cnps > 100)) || fail "only $cnps CNPs"
assert_eq "$(jq .answered.cnps "$scratch/respond.json")" "$cnps" "CNPs sent and received"
assert_eq "$cnps" "$(sent_of '[.rates[].cnps] | add')" "CNPs of the QPs"
assert_sent '.rates | length == 8 and all(.[]; .cuts > 10 and .increases_fast > 0 and .mean_bps < 30e6)'
# The queue's rate is used, and not much more is offered.
assert_sent '[.rates[].mean_bps] | add > 70e6 and add < 130e6'
assert_sent '.jain >= 0.98'
jq -e "$jain >= 0.98" "$scratch/bytes" >/dev/null || fail "what arrived is not fair: $(cat "$scratch/bytes")"
grep -q '^t_ns,kind,name,column,value$' "$scratch/series.csv" || fail "series: $(head -n 2 "$scratch/series.csv")"
(($(grep -c ',qp,0x107,rate_bps,' "$scratch/series.csv") > 400)) || fail "series: $(wc -l "$scratch/series.csv")"
marks=$(marked)
((marks >= cnps)) || fail "$marks marks, and $cnps CNPs"
# The marks are the bridge's own, made after the frames were followed: they explain the CNPs.
xr --json episodes box0 >"$scratch/episodes.json"
assert_json "$scratch/episodes.json" '[.findings[].finding] | index("cnp_without_ce") == null'
assert_json "$scratch/episodes.json" '([.pairs[].cnps] | add) > 100'

# The bottleneck goes away: every QP comes back to the line's rate.
respond on "$right" right0 --address "$to" --cnp-interval 2ms
in_background send "${flow[@]}" for 5s --series "$scratch/series.csv" --sample 10ms
sending=${background[-1]}
sleep 2
# Other commands show the rates while it runs.
COLUMNS=120 LINES=40 xt watch left0 --once --interval 0.2 >"$scratch/watched" || fail "watch"
grep -qE '^RATES +send  8 QPs .*bit/s.*cuts [0-9]' "$scratch/watched" || fail "no rates in: $(cat "$scratch/watched")"
xt export left0 --once >"$scratch/metrics" || fail "export"
awk '/^xdp_roce_cc_qps[{].*command="send"/ { qps = $2 } /^xdp_roce_cc_rate_bits_per_second/ { rate = $2 }
  /^xdp_roce_cc_cuts_total/ { cuts = $2 } /^xdp_roce_cc_qp_rate_bits_per_second/ { rows++; sum += $2 }
  END { exit !(qps == 8 && rate > 0 && rate < 8 * 40e6 && cuts > 8 && rows == 8 && sum > 0.99 * rate && sum < 1.01 * rate) }' \
  "$scratch/metrics" || fail "rates: $(grep '^xdp_roce_cc' "$scratch/metrics")"
no_bottleneck
wait "$sending" || fail "send: $(cat "$scratch/last.err")"
end_respond
assert_sent '.rates | all(.[]; .rate_bps == 40e6 and .cuts > 0)'
awk -F, '$4 == "rate_bps" && $5 < 20e6 { low = 1 } END { exit !low }' "$scratch/series.csv" || fail "no rate fell"

# With reliable flows: completes, and retransmissions obey the rate.
bottleneck
respond on "$right" right0 --address "$to" --cnp-interval 2ms
send --reliable "${flow[@]}" for 3s
end_respond
assert_sent '.recovery.failed_qps // 0 | . == 0'
assert_sent '.sent.messages > 0 and (.rates | length == 8 and all(.[]; .cuts > 0))'
assert_eq "$(jq .answered.cnps "$scratch/respond.json")" "$(sent_of .answers.cnps)" "CNPs sent and received, reliable"

# Without ECN nothing is marked: no CNP comes, and the rate stays.
respond on "$right" right0 --address "$to"
send "${flow[@]}" ecn not-ect for 1s
end_respond
assert_sent '.answers.cnps // 0 | . == 0'
assert_sent '.rates | all(.[]; .rate_bps == 40e6 and .mean_bps == 40e6 and .cuts == 0)'

# What does not go together is refused.
misused 'timely needs' xt send left0 "${v4[@]}" "${at[@]}" qp 1 write cc timely line 1gbit
misused "'ria' is not a parameter" xt send left0 "${v4[@]}" "${at[@]}" qp 1 write cc dcqcn line 1gbit ria=1
