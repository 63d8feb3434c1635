#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The numbers of the first sentences, counted again from the fields that tshark reads: data packets, PSNs that did not come
# with those around them, packets whose PSN had passed, NAKs, marks, CNPs.
. "$(dirname "$0")/lib.sh"
need jq python3 tshark

# Without reordering (a late packet also jumps), without READs and atomics (their answers have PSNs of requests that may be lost).
for name in loss_rc_send_v4 loss2_rc_psnwrap_v4 loss_uc_write_only_v4 corrupt_rc_send_v4 rc_write_4096_v4 \
  rc_write_ect_v4 rc_send_4096_v6 uc_send_4096_v4; do
  file=$(capture "$name")
  "$XDP_ROCE" --json analyze "$file" >"$scratch/report.json"
  tshark -r "$file" -Y 'infiniband.bth.opcode' -T fields -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn \
    -e infiniband.aeth.syndrome.opcode -e ip.dsfield.ecn -e ipv6.tclass.ecn >"$scratch/fields" 2>/dev/null
  python3 - "$scratch/report.json" "$scratch/fields" "$name" <<'END' || fail "$name: tshark has other numbers"
import json, sys
report, name = json.load(open(sys.argv[1])), sys.argv[3]
said = {fact["name"]: fact["value"] for fact in report["summary"]["facts"]}
seen = dict.fromkeys(["data", "lost", "sent_again", "naks", "ce", "ect", "cnps"], 0)
ahead, last = {}, {}
for line in open(sys.argv[2]):
    opcode, qp, psn, aeth, ecn4, ecn6 = line.rstrip("\n").split("\t")
    opcode, psn, ecn = int(opcode, 0), int(psn), int(ecn4 or ecn6 or "0", 0)
    if opcode == 0x81:
        seen["cnps"] += 1
    elif opcode == 0x11:
        seen["naks"] += aeth not in ("", "0", "1")
    elif opcode >> 5 in (0, 1):
        seen["data"] += 1
        seen["ce"] += ecn == 3
        seen["ect"] += ecn != 0
        if qp in ahead:
            def forward(base):
                step = psn - base & 0xffffff
                return step - (1 << 24) if step & 1 << 23 else step
            seen["lost"] += max(forward(last[qp]), 0)
            if forward(ahead[qp]) < 0:
                seen["sent_again"] += 1
        last[qp] = psn + 1 & 0xffffff
        if qp not in ahead or (last[qp] - ahead[qp] & 0xffffff) < 1 << 23:
            ahead[qp] = last[qp]
wrong = {key: (value, said[key]) for key, value in seen.items() if key not in ("data", "lost") and value != said[key]}
# Lost at the begin of a round, nothing is skipped; what is skipped and may be acknowledged is unsure.
if not said["lost"] - seen["naks"] <= seen["lost"] <= said["lost_most"]:
    wrong["lost"] = (seen["lost"], said["lost"], said["lost_most"])
lost = next(fact for fact in report["summary"]["facts"] if fact["name"] == "lost")
if lost["of"] != seen["data"] + said["lost"]:
    wrong["of"] = (seen["data"] + said["lost"], lost["of"])
if seen["lost"] and not any(words in report["summary"]["text"] for words in (f"{said['lost']:,} of ", f"Between {said['lost']:,} and ")):
    wrong["text"] = report["summary"]["text"]
print(name, seen, wrong or "agrees")
sys.exit(bool(wrong))
END
done
