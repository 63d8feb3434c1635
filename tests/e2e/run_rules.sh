#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules, changes of rules and captures in an experiment: what the captures show at each port is what the rules say, packet by
# packet; expectations see the rules' counts; in virtual time the same file hits the same packets; what a place cannot do is
# refused by name.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq tshark
before=$(kernel_objects)

cat >"$scratch/rules.yaml" <<'END'
experiment: rules
seed: 1
duration: 1s
measure: {from: 0s}
topology:
  star: {senders: 2, rate: 20mbit, delay: 200us}
queue: {words: "buffer 1MB"}
reliability: {timeout: 16}
flows:
  - {name: hurt, from: sender-1, to: receiver, words: "write size 20k rate 4mbit psn 1000"}
  - {name: spared, from: sender-2, to: receiver, words: "write size 20k rate 4mbit psn 5000"}
rules:
  - "qp 1 psn 30 iter 1 drop name lose"
  - {link: bottleneck, words: "qp 2 psn 40-49 ce force name mark"}
  - {link: "receiver:switch", words: "opcode cnp drop name swallow disabled"}
schedule:
  - {at: 400ms, do: "impair enable swallow"}
  - {at: 500ms, do: "impair add qp 2 psn all every 5 ce force name late"}
  - {at: 700ms, do: "impair disable late"}
capture: [left, {at: receivers, snap: 128}, senders, right]
expect:
  - "rule('lose').acted == 1"
  - "rule('mark').acted == 10"
  - "rule('late').acted between 5 and 40"
  - "rule('swallow').acted > 0"
  - "flow('hurt').naks == 1 and flow('spared').retransmitted == 0"
  - "sum(rules.refused) == 0"
END
measures 0 "$scratch/rules.yaml" --out "$scratch/out"
assert_json "$scratch/last.out" '[.rules[].name] == ["lose", "mark", "swallow", "late"] and .rules[0].link == "switch:receiver" and
  .rules[2].link == "receiver:switch" and (.rules[1].words | test("^qp 2 psn 40-49 ce force"))'

# captures_show DIR QPN QPN: those of the rules, as tshark reads them.
captures_show() {
  local out=$1 hurt=$2 spared=$3 port dropped marked
  for port in left receivers; do requests "$out/$port.pcapng" >"$scratch/$port"; done
  # The 30th packet is dropped where it entered, once, and goes again; the receivers see it after the next ones only.
  assert_eq 2 "$(psns_of "$hurt" <"$scratch/left" | grep -cx 1029)" "PSN 1029 before the rule"
  assert_eq 1 "$(psns_of "$hurt" <"$scratch/receivers" | grep -cx 1029)" "PSN 1029 after the rule"
  dropped=$(grep -n 'dropped' "$scratch/left")
  [[ $dropped == *$'\t'1029$'\t'* && $(wc -l <<<"$dropped") == 1 ]] || fail "dropped: $dropped"
  assert_eq 1030 "$(psns_of "$hurt" <"$scratch/receivers" | sed -n 30p)" "what came in place of the 30th packet"
  assert_eq 1029 "$(tshark -r "$out/senders.pcapng" -Y 'infiniband.aeth.syndrome.opcode == 3' -T fields -e infiniband.bth.psn 2>/dev/null)" \
    "PSNs of NAKs that came back"
  # The ten packets are marked, and no other one before the rule of the schedule.
  marked=$(awk -F '\t' '$3 == 3 { print $1, $2 }' "$scratch/receivers" | head -n 10 | paste -sd ,)
  assert_eq "$(for psn in {5039..5048}; do echo "$spared $psn"; done | paste -sd ,)" "$marked" "marked packets"
  assert_eq "$(jq '[.rules[] | select(.name == "mark" or .name == "late") | .acted] | add' "$out/result.json")" \
    "$(awk -F '\t' '$3 == 3' "$scratch/receivers" | wc -l)" "marks in all"
  # CNPs left the receivers until the end, and came to the senders until 400 ms.
  assert_eq "$(($(cnps "$out/right") - $(jq '.rules[2].acted' "$out/result.json")))" "$(cnps "$out/senders")" "CNPs that came"
  (($(cnps "$out/senders") > 0)) || fail "no CNP came before the rule was enabled"
  grep -q 'late' "$out/report.html" || fail "report.html has no rules"
}
cnps() { tshark -r "$1.pcapng" -Y 'infiniband.bth.opcode == 0x81' 2>/dev/null | wc -l; }
captures_show "$scratch/out" 0x000100 0x000101
nothing_left "after a run with rules and captures"

# This file in virtual time: the same packets are hit, and the captures say so. The one of all bytes has right iCRCs.
exits 0 "$XDP_ROCE" run "$scratch/rules.yaml" --out "$scratch/virtual"
captures_show "$scratch/virtual" 0x000011 0x000012
exact() { jq -c '[.rules[] | select(.name == "lose" or .name == "mark") | {name, link, words, matched, acted, refused, not_applicable}]' "$1/result.json"; }
assert_eq "$(exact "$scratch/out")" "$(exact "$scratch/virtual")" "rules for exact packets, in namespaces and in virtual time"
assert_eq "$(jq -c '[.flows[0] | .naks, .timeouts]' "$scratch/out/result.json")" \
  "$(jq -c '[.flows[0] | .naks, .timeouts]' "$scratch/virtual/result.json")" "recovery of the flow"
exits 0 "$XDP_ROCE" --json analyze "$scratch/virtual/left.pcapng"
assert_json "$scratch/last.out" '.icrc.checked > 500 and .icrc.bad == 0'
# The clock of a capture is the simulated time: the first packet comes after its 1098 bytes at 20 Mbit/s, and 200 us.
assert_eq 0.000639200 "$(tshark -r "$scratch/virtual/left.pcapng" -c 1 -T fields -e frame.time_epoch 2>/dev/null)" "time of the first packet"

# One turned round, and what is not possible, before anything runs.
short=(--set duration=200ms --set schedule=[] --set capture=[])
measures 3 "$scratch/rules.yaml" "${short[@]}" --set "expect=[\"rule('lose').acted == 0\"]"
assert_json "$scratch/last.out" '.expectations[0] | .row == "lose" and .value == 1 and .bound == 0'
for place in virtual namespaces; do
  misused 'a capture needs a directory' "$XDP_ROCE" run "$scratch/rules.yaml" --on "$place"
  refused 'there is no QP 3' "$XDP_ROCE" run "$scratch/rules.yaml" --on "$place" "${short[@]}" --set 'rules=[qp 3 psn 1 drop]' --set expect=[]
done
refused 'no rule is possible at switch:sender-1 with frames' "$XDP_ROCE" run "$scratch/rules.yaml" --on namespaces "${short[@]}" \
  --set 'rules=[{link: switch:sender-1, words: drop}]' --set expect=[]
misused "there is no rule 'loose'" "$XDP_ROCE" run "$scratch/rules.yaml" "${short[@]}" --set "expect=[\"rule('loose').acted == 1\"]"

# At a quarter of the rates the times of rules are four times as long: what is dropped for 50 ms takes 200 ms.
measures 0 "$scratch/rules.yaml" --scale 1/4 "${short[@]}" --set 'rules=["opcode data for 50ms drop name window"]' \
  --set reliability.timeout=12 --set "expect=[\"rule('window').acted > 5\", \"flow('spared').timeouts > 0\", \"sum(flows.bytes) > 10KB\"]"
nothing_left "after all"
