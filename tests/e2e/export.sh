#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The exporter and a real Prometheus server that scrapes it, on the loopback of $rx: nothing listens
# in the machine's own namespace. Queries give the values of `counters` and `streams`; Prometheus
# accepts every query of the dashboard and of the alert rules, and their metrics exist.
. "$(dirname "$0")/lib.sh"
need jq curl prometheus promtool nsenter setpriv
grafana=$here/../../tools/grafana
lane
ip -n "$rx" link set lo up

# In $rx, but with the caller's bpffs, which `ip netns exec` would hide.
inside() {
  nsenter --net="/run/netns/$rx" "$@"
}
# As a process of its own, that a signal reaches.
inside_in_background() {
  in_background nsenter --net="/run/netns/$rx" "$@"
}
metrics() {
  inside curl -sf --max-time 20 "http://$exporter/metrics"
}
# query PROMQL: the value of the only series that it gives.
query() {
  inside curl -sfG --max-time 20 "http://$server/api/v1/query" --data-urlencode "query=$1" >"$scratch/answer" ||
    fail "the query is refused: $1"
  jq -r 'if (.data.result | length) == 1 then .data.result[0].value[1] else "\(.data.result | length) series" end' \
    "$scratch/answer"
}
gives() {
  [[ $(query "$2") == "$1" ]]
}
# await EXPECTED PROMQL: scrapes come once a second.
await() {
  wait_for 20 gives "$1" "$2" || fail "$2: expected $1, got $(query "$2")"
}
# On a busy machine a scrape may fail, and its series are stale until the next one.
is_number() {
  [[ $(query "$1") =~ ^[0-9]+$ ]]
}
has_metric() {
  metrics >"$scratch/metrics" && grep -qF -- "$1" "$scratch/metrics"
}

# Once, to standard output, before there is a server; and the linter of the real one likes it.
xr attach rx0 --classes --follow >/dev/null
xr impair rx0 add opcode ack drop name thirds
replay "$(capture loss_rc_send_v4)"
xr --json counters rx0 >"$scratch/counters.json"
xr export rx0 --once >"$scratch/metrics"
promtool check metrics <"$scratch/metrics" >"$scratch/last.out" 2>&1 ||
  fail "promtool check metrics: $(cat "$scratch/last.out")"
assert_eq "" "$(cat "$scratch/last.out")" "what promtool remarks"
keep xr export rx0 nosuch0 --once || fail "a port that is not there ends it"
grep -qxF 'xdp_roce_port_attached{port="nosuch0"} 0' "$scratch/last.out" || fail "nosuch0 is attached?"
assert_sentence 'nosuch0.*no such interface' <"$scratch/last.err"
keep "$XDP_ROCE" export rx0 --listen nowhere && fail "--listen nowhere is taken"

# In the port's own namespace CAP_BPF is enough, but for libxdp's dispatcher, whose programs only
# CAP_SYS_ADMIN may look at.
[[ $(xr --json status rx0 | jq '.attachments[0].dispatcher') == false ]] && caps=-all,+bpf || caps=-all,+bpf,+sys_admin
inside setpriv --bounding-set "$caps" --inh-caps "$caps" "$XDP_ROCE" export rx0 --once >"$scratch/few" ||
  fail "export with $caps"
numbers() {
  grep -vE '^(#|process_|xdp_roce_scrape_duration)' "$1" | sed 's/netns="[^"]*"//'
}
diff <(numbers "$scratch/metrics") <(numbers "$scratch/few") >"$scratch/diff" ||
  fail "with $caps it exports: $(cat "$scratch/diff")"

# And for a reader that continues while the program is exchanged for another.
inside setpriv --bounding-set "$caps" --inh-caps "$caps" "$XDP_ROCE" --json counters rx0 --interval 0.3 --count 10 \
  >"$scratch/reading" 2>"$scratch/reading.err" &
reading=$!
background+=("$reading")
wait_for 10 test -s "$scratch/reading" || fail "it reads nothing"
xr impair rx0 add dest-qp 0x999999 ce name passing >/dev/null
xr impair rx0 del passing >/dev/null
status=0
wait "$reading" || status=$?
unset 'background[-1]'
assert_eq 0 "$status" "exit status of who reads on: $(cat "$scratch/reading.err")"

# Over HTTP.
inside_in_background "$XDP_ROCE" export rx0 --top-streams 1 --listen 127.0.0.1:0 2>"$scratch/exporter.err"
wait_for 10 grep -q http "$scratch/exporter.err" || fail "it does not listen: $(cat "$scratch/exporter.err")"
exporter=$(grep -o '127.0.0.1:[0-9]*' "$scratch/exporter.err")
refused 'EADDRINUSE' inside "$XDP_ROCE" export rx0 --listen "$exporter"
metrics >"$scratch/metrics"
promtool check metrics <"$scratch/metrics" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
inside curl -sf "http://$exporter/" | grep -q /metrics || fail "/ does not tell where the metrics are"
assert_eq 405 "$(inside curl -s -o /dev/null -w '%{http_code}' -d x "http://$exporter/metrics")" "POST"
assert_eq 404 "$(inside curl -s -o /dev/null -w '%{http_code}' "http://$exporter/nosuch")" "/nosuch"
# Connections that never ask do not keep others from being served.
for _ in 1 2 3 4; do
  inside_in_background timeout 30 bash -c "exec 3<>/dev/tcp/${exporter/://}; sleep 30"
done
metrics >/dev/null || fail "idle connections block it"

# Prometheus.
promtool check rules "$grafana/alerts.yaml" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
cp "$grafana/alerts.yaml" "$XR_DATA/alerts_test.yaml" "$scratch"
promtool test rules "$scratch/alerts_test.yaml" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
sed "s/127.0.0.1:9479/$exporter/; s/15s/1s/" "$grafana/prometheus.yml" >"$scratch/prometheus.yml"
promtool check config "$scratch/prometheus.yml" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
server=127.0.0.1:19090
inside_in_background prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
  --web.listen-address="$server" --log.level=warn >"$scratch/prometheus.log" 2>&1
wait_for 30 inside curl -sf -o /dev/null "http://$server/-/ready" || fail "$(cat "$scratch/prometheus.log")"
await 1 'up{job="xdp-roce"}'

# What counters and streams say is what a query returns.
for opcode in $(jq -r '.opcodes[].name' "$scratch/counters.json"); do
  for what in packets bytes; do
    await "$(jq ".opcodes[] | select(.name == \"$opcode\") | .$what" "$scratch/counters.json")" \
      "xdp_roce_${what}_total{port=\"rx0\",opcode=\"$opcode\"}"
  done
done
await "$(jq .aeth.nak_psn_sequence_error "$scratch/counters.json")" \
  'xdp_roce_aeth_packets_total{syndrome="nak_psn_sequence_error"}'
await "$(jq .frames.total "$scratch/counters.json")" 'sum(xdp_roce_frames_total)'
await "$(jq .bytes.total "$scratch/counters.json")" 'xdp_roce_frame_bytes_total'
xr --json streams rx0 --sort gaps >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams[0].gaps > 0'
for what in gaps rewinds; do
  await "$(jq "[.streams[].$what] | add" "$scratch/streams.json")" "xdp_roce_${what}_total"
  await "$(jq ".streams[0].$what" "$scratch/streams.json")" "xdp_roce_stream_${what}_total"
done
await "$(jq .streams[0].missing "$scratch/streams.json")" 'xdp_roce_stream_missing_psns'
await "$(($(jq '.streams | length' "$scratch/streams.json") - 1))" 'xdp_roce_streams_not_exported'
await "$(xr --json status rx0 | jq '.attachments[0].streams')" 'xdp_roce_streams_used'
await "$(xr --json impair rx0 list | jq '.rules[0].acted')" \
  'xdp_roce_rule_acted_packets_total{id="1",rule=~".*name thirds"}'
await 1 'count(process_resident_memory_bytes{job="xdp-roce"} > 1e6)'

# All that the dashboard and the rules ask for is there, and asked for rightly.
jq -r '.. | objects | .expr? // empty' "$grafana/xdp-roce.json" |
  sed 's/\$__rate_interval/5s/g; s/\$__range/1m/g; s/\$port/rx0/g' >"$scratch/dashboard"
sed "s/\$instance/$exporter/g" "$scratch/dashboard" >"$scratch/expressions"
sed -n 's/^ *expr: //p' "$grafana/alerts.yaml" >>"$scratch/expressions"
(($(wc -l <"$scratch/expressions") > 40)) || fail "only $(wc -l <"$scratch/expressions") expressions"
while IFS= read -r expression; do
  query "$expression" >/dev/null
  while IFS= read -r name; do
    wait_for 20 is_number "count($name)" || fail "no metric $name, for: $expression"
  done < <(grep -oE '\b(xdp_roce|process)_[a-z_]+' <<<"$expression")
done <"$scratch/expressions"
# The dashboard's show something: the capture has been counted, and the ports are there.
for metric in xdp_roce_port_attached xdp_roce_missing_psns; do
  expression="$metric{instance=~\"$exporter\",port=~\"rx0\"}"
  grep -qxF "$expression" "$scratch/expressions" || fail "the dashboard has no $expression"
  wait_for 20 is_number "$expression" || fail "$expression gives $(query "$expression")"
done
# Two hosts have ports of one name: each has its own series, and one can be looked at alone.
while IFS= read -r expression; do
  query "${expression//\$instance/.*}" >/dev/null
  jq -e --arg exporter "$exporter" 'all(.data.result[]; .metric.instance == $exporter)' "$scratch/answer" >/dev/null ||
    fail "does not tell whose it is: $expression"
  assert_eq '0 series' "$(query "${expression//\$instance/elsewhere}")" "of another exporter: $expression"
done <"$scratch/dashboard"

# Off and on again, with another program: nothing but attached = 0 in between.
program=$(xr --json status rx0 | jq -e '.attachments[0].program_id')
xr detach rx0 >/dev/null
await 0 'xdp_roce_port_attached{port="rx0"}'
await '0 series' 'xdp_roce_frame_bytes_total'
await 1 'up{job="xdp-roce"}'
xr attach rx0 >/dev/null
replay --stream --packets 70
await 1 'xdp_roce_port_attached{port="rx0"}'
await 70 'sum(xdp_roce_packets_total)'
await 1 "count(xdp_roce_port_info{program_id!=\"$program\"})"
grep -q 'rx0: not attached' "$scratch/exporter.err" || fail "it does not say: $(cat "$scratch/exporter.err")"

# And without the interface.
ip -n "$rx" link del rx0
await 0 'xdp_roce_port_attached{port="rx0"}'
metrics >"$scratch/metrics"
promtool check metrics <"$scratch/metrics" || fail "promtool check metrics, without the interface"

# Ends by a signal, with success. The exporter was the first in the background.
kill -TERM "${background[0]}"
ended=0
wait "${background[0]}" || ended=$?
assert_eq 0 "$ended" "exit status of export: $(cat "$scratch/exporter.err")"
