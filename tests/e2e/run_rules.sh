#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules, changes of rules and captures in an experiment: what the captures show at each port is what the rules say, packet by
# packet; expectations see the rules' counts; what a place cannot do is refused by name.
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
for port in left receivers; do requests "$scratch/out/$port.pcapng" >"$scratch/$port"; done
# The 30th packet is dropped where it entered, once, and goes again; the receivers see it after the next ones only.
assert_eq 2 "$(psns_of 0x000100 <"$scratch/left" | grep -cx 1029)" "PSN 1029 before the rule"
assert_eq 1 "$(psns_of 0x000100 <"$scratch/receivers" | grep -cx 1029)" "PSN 1029 after the rule"
dropped=$(grep -n 'dropped' "$scratch/left")
[[ $dropped == *$'\t'1029$'\t'* && $(wc -l <<<"$dropped") == 1 ]] || fail "dropped: $dropped"
assert_eq 1030 "$(psns_of 0x000100 <"$scratch/receivers" | sed -n 30p)" "what came in place of the 30th packet"
assert_eq 1029 "$(tshark -r "$scratch/out/senders.pcapng" -Y 'infiniband.aeth.syndrome.opcode == 3' -T fields -e infiniband.bth.psn 2>/dev/null)" \
  "PSNs of NAKs that came back"
# The ten packets are marked, and no other one before the rule of the schedule.
marked=$(awk -F '\t' '$3 == 3 { print $1, $2 }' "$scratch/receivers" | head -n 10 | paste -sd ,)
assert_eq "$(for psn in {5039..5048}; do echo "0x000101 $psn"; done | paste -sd ,)" "$marked" "marked packets"
assert_eq "$(jq '[.rules[] | select(.name == "mark" or .name == "late") | .acted] | add' "$scratch/last.out")" \
  "$(awk -F '\t' '$3 == 3' "$scratch/receivers" | wc -l)" "marks in all"
# CNPs left the receivers until the end, and came to the senders until 400 ms.
cnps() { tshark -r "$scratch/out/$1.pcapng" -Y 'infiniband.bth.opcode == 0x81' 2>/dev/null | wc -l; }
assert_eq "$(($(cnps right) - $(jq '.rules[2].acted' "$scratch/last.out")))" "$(cnps senders)" "CNPs that came"
(($(cnps senders) > 0)) || fail "no CNP came before the rule was enabled"
grep -q 'late' "$scratch/out/report.html" || fail "report.html has no rules"
nothing_left "after a run with rules and captures"

# One turned round, and what is not possible, before anything runs.
short=(--set duration=200ms --set schedule=[] --set capture=[])
measures 3 "$scratch/rules.yaml" "${short[@]}" --set "expect=[\"rule('lose').acted == 0\"]"
assert_json "$scratch/last.out" '.expectations[0] | .row == "lose" and .value == 1 and .bound == 0'
refused "a rule of 'impair' is not possible in virtual time" "$XDP_ROCE" run "$scratch/rules.yaml"
grep -q '^hint: --on namespaces$' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
refused 'a capture needs a directory' "$XDP_ROCE" run "$scratch/rules.yaml" --on namespaces
refused 'no rule is possible at switch:sender-1 in namespaces' "$XDP_ROCE" run "$scratch/rules.yaml" --on namespaces "${short[@]}" \
  --set 'rules=[{link: switch:sender-1, words: drop}]' --set expect=[]
refused 'there is no QP 3' "$XDP_ROCE" run "$scratch/rules.yaml" --on namespaces "${short[@]}" --set 'rules=[qp 3 psn 1 drop]' --set expect=[]
refused "there is no rule 'loose'" "$XDP_ROCE" run "$scratch/rules.yaml" "${short[@]}" --set "expect=[\"rule('loose').acted == 1\"]"

# At a quarter of the rates the times of rules are four times as long: what is dropped for 50 ms takes 200 ms.
measures 0 "$scratch/rules.yaml" --scale 1/4 "${short[@]}" --set 'rules=["opcode data for 50ms drop name window"]' \
  --set reliability.timeout=12 --set "expect=[\"rule('window').acted > 5\", \"flow('spared').timeouts > 0\", \"sum(flows.bytes) > 10KB\"]"
nothing_left "after all"
