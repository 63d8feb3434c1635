#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A fleet: three network namespaces as hosts, each with ports, pins and an exporter of its own, and one Prometheus that
# scrapes them. The sums of tools/grafana/fleet-rules.yaml are the sums of what the hosts count, and its worst streams
# are the worst of all hosts.
. "$(dirname "$0")/bridge_lib.sh"
need jq curl prometheus promtool nsenter
grafana=$here/../../tools/grafana
lane3
before=$(kernel_objects)
server=127.0.0.1:19090
# Addresses for the scrapes, in the middle host those of Prometheus.
ip -n "$box" link set lo up
ip -n "$box" address add 192.0.2.3/32 dev lo
ip -n "$box" route add 192.0.2.1/32 dev box0 src 192.0.2.3
ip -n "$box" route add 192.0.2.2/32 dev box1 src 192.0.2.3
declare -A ports=([$left]=left0 [$box]="box0 box1" [$right]=right0)
declare -A address=([$left]=192.0.2.1 [$box]=127.0.0.1 [$right]=192.0.2.2)

# What the harness detaches at the end is found by the pins of its host.
program=$XDP_ROCE
XDP_ROCE=$scratch/on-host
cat >"$XDP_ROCE" <<END
#!/bin/bash
[[ \$1 != --netns ]] || export LIBXDP_BPFFS=$XR_BPFFS/\${2##*-}
exec $program "\$@"
END
chmod +x "$XDP_ROCE"

# on HOST WORDS...: the program on that host, with the host's pins.
on() {
  local host=$1
  shift
  LIBXDP_BPFFS=$XR_BPFFS/${host##*-} nsenter --net="/run/netns/$host" "$program" "$@"
}
exporter() {
  local host=$1
  shift
  LIBXDP_BPFFS=$XR_BPFFS/${host##*-} exec nsenter --net="/run/netns/$host" "$program" export "$@"
}
for host in "${!ports[@]}"; do
  mkdir "$XR_BPFFS/${host##*-}"
  for port in ${ports[$host]}; do
    keep on "$host" attach "$port" || fail "attach $port: $(cat "$scratch/last.err")"
  done
done
# Each sees its own: two files of pins never mix.
for host in "${!ports[@]}"; do
  assert_eq "${ports[$host]}" "$(on "$host" --json status | jq -r '[.attachments[].interface] | sort | join(" ")')" "ports of $host"
done

# Different traffic at each port; losses on two hosts, marks and CNPs somewhere.
at() { ip netns exec "$1" "$XR_REPLAY" --ifname "$2" "${@:3}" >"$scratch/sent"; }
at "$left" left0 "$(capture loss_rc_send_v4)"
at "$right" right0 "$(capture rc_write_ect_v4)"
at "$box" box0 --stream --packets 700 --flows 2 --skip-every 50
at "$left" left0 "$(capture synthetic_every_opcode)"
at "$box" box1 --stream --packets 300 --skip-every 10 --first-qp 0x77
# One document of all: [{host, counters, streams}].
counts() {
  local host port
  for host in "${!ports[@]}"; do
    for port in ${ports[$host]}; do
      jq -n --arg port "$port" --slurpfile counters <(on "$host" --json counters "$port") \
        --slurpfile streams <(on "$host" --json streams "$port") '{$port, counters: $counters[0], streams: $streams[0].streams}'
    done
  done | jq -s 'sort_by(.port)' >"$scratch/fleet.json"
}
settled() {
  local packets
  packets=$(jq '[.[].counters.opcodes[].packets] | add' "$scratch/fleet.json")
  sleep 0.3
  counts
  [[ $packets == "$(jq '[.[].counters.opcodes[].packets] | add' "$scratch/fleet.json")" ]]
}
counts
wait_for 10 settled || fail "it is not quiet"
assert_json "$scratch/fleet.json" '[.[] | select([.streams[].gaps] | add > 0)] | length >= 2'
assert_json "$scratch/fleet.json" '[.[].counters.frames.cnp] | add > 0'
assert_json "$scratch/fleet.json" 'all([.counters.opcodes[].packets] | add > 0)'

# The exporters and Prometheus, which scrapes every second.
for host in "${!ports[@]}"; do
  in_background exporter "$host" --listen "${address[$host]}:9479" --insecure 2>"$scratch/exporter${host##*-}"
  wait_for 10 grep -q 'http://' "$scratch/exporter${host##*-}" || fail "no exporter: $(cat "$scratch/exporter${host##*-}")"
done
promtool check rules "$grafana/fleet-rules.yaml" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
cp "$grafana"/{alerts,fleet-rules}.yaml "$XR_DATA/fleet_test.yaml" "$scratch"
promtool test rules "$scratch/fleet_test.yaml" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
targets=$(printf '"%s:9479", ' "${address[@]}")
sed "s/\"127.0.0.1:9479\"/${targets%, }/; s/15s/1s\n  evaluation_interval: 1s/; s/^  - alerts.yaml/&\n  - fleet-rules.yaml/" \
  "$grafana/prometheus.yml" >"$scratch/prometheus.yml"
promtool check config "$scratch/prometheus.yml" >"$scratch/last.out" 2>&1 || fail "$(cat "$scratch/last.out")"
inside() { nsenter --net="/run/netns/$box" "$@"; }
in_background nsenter --net="/run/netns/$box" prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
  --web.listen-address="$server" --log.level=warn >"$scratch/prometheus.log" 2>&1
wait_for 30 inside curl -sf -o /dev/null "http://$server/-/ready" || fail "$(cat "$scratch/prometheus.log")"
ask() {
  inside curl -sfG --max-time 20 "http://$server/api/v1/query" --data-urlencode "query=$1" >"$scratch/answer" || fail "refused: $1"
}
gives() {
  ask "$2"
  [[ $(jq -r 'if (.data.result | length) == 1 then .data.result[0].value[1] else "\(.data.result | length) series" end' "$scratch/answer") == "$1" ]]
}
await() { wait_for 20 gives "$1" "$2" || fail "$2: expected $1, got $(jq -c .data.result "$scratch/answer")"; }
# sums RULE FILTER: the rule's value is what the filter makes of all hosts' counts.
sums() {
  local wanted
  wanted=$(jq "$2" "$scratch/fleet.json")
  await "$wanted" "$1"
  echo "$1 = $wanted"
}
await 3 'fleet:xdp_roce_hosts_up:sum'
await 4 'fleet:xdp_roce_ports_attached:sum'
sums 'fleet:xdp_roce_packets_total:sum' '[.[].counters.opcodes[].packets] | add'
sums 'fleet:xdp_roce_gaps_total:sum' '[.[].streams[].gaps] | add'
sums 'fleet:xdp_roce_rewinds_total:sum' '[.[].streams[].rewinds] | add'
sums 'fleet:xdp_roce_cnps_total:sum' '[.[].counters.frames.cnp] | add'
sums 'fleet:xdp_roce_duplicate_packets_total:sum' '[.[].streams[].duplicates] | add'
for codepoint in not_ect ect0 ect1 ce; do
  sums "fleet:xdp_roce_ecn_packets_total:sum{codepoint=\"$codepoint\"}" "[.[].counters.ecn.$codepoint] | add"
done

# The worst streams: of all hosts, largest first; each with its host and port.
worst='[.[] | .port as $port | .streams[] | select(.gaps > 0) | {$port, dest_qp, src, gaps}] | sort_by(-.gaps, .port, .dest_qp) | .[:10]'
jq "$worst" "$scratch/fleet.json" >"$scratch/wanted"
same_worst() {
  ask 'fleet:xdp_roce_stream_gaps_total:top10'
  jq '[.data.result[] | {port: .metric.port, dest_qp: (.metric.dest_qp | tonumber), src: .metric.src, gaps: (.value[1] | tonumber)}] |
    sort_by(-.gaps, .port, .dest_qp)' "$scratch/answer" >"$scratch/got"
  cmp -s "$scratch/wanted" "$scratch/got"
}
wait_for 20 same_worst || fail "worst streams: $(diff "$scratch/wanted" "$scratch/got")"
jq -e '[.data.result[].metric.instance] | unique | length >= 2' "$scratch/answer" >/dev/null || fail "of one host only"
# Every rule has a value, or nothing to say about this traffic.
while IFS= read -r record; do
  ask "$record"
  jq -e '.data.result | length > 0' "$scratch/answer" >/dev/null || missing+=" $record"
done < <(sed -n 's/^ *- record: //p' "$grafana/fleet-rules.yaml")
[[ -z ${missing:-} ]] || echo "no value yet:$missing"

# A host that is gone: its counts are no part of the sums any more.
wanted=$(jq '[.[] | select(.port != "right0") | .counters.opcodes[].packets] | add' "$scratch/fleet.json")
on "$right" detach right0 >/dev/null
await 3 'fleet:xdp_roce_ports_attached:sum'
await "$wanted" 'fleet:xdp_roce_packets_total:sum'
end_all_background
for host in "$left" "$box"; do
  on "$host" detach --all >/dev/null
done
wait_for 5 nothing_since "$before" || fail "it left: $(since "$before")"
