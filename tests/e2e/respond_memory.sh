#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# respond --memory: what WRITEs carry is what READ responses carry, seen by tshark; a wrong R_Key, an
# address outside and an access that is not allowed are refused, counted, and the QP is in error.
. "$(dirname "$0")/traffic_lib.sh"
need jq tshark mergecap python3
lane 4200

# payloads OPCODES: the payload bytes of these opcodes, in order, each packet once.
payloads() {
  tshark -r "$scratch/seen.pcap" -Y "infiniband.bth.opcode in {$1}" -T fields -e infiniband.bth.psn \
    -e infiniband.payload -e data.data 2>/dev/null | python3 -c '
import sys
seen = {}
for line in sys.stdin:
    fields = line.rstrip("\n").split("\t")
    seen.setdefault(int(fields[0]), "".join(fields[1:]).replace(":", ""))
print("".join(seen.values()))'
}

respond --address "$to" --memory 1MB --rkey 0x77 --va 0x200000
watch_ports "$tx" tx0 "$rx" rx0
# 5,000 bytes in five packets; their RDMA READ comes from another QP.
send --reliable "${v4[@]}" write pmtu 1024 size 5000 messages 1 qp 0x11 psn 100 rkey 0x77 va 0x200010
send --reliable "${v4[@]}" read pmtu 1024 size 5000 messages 1 qp 0x12 psn 500 rkey 0x77 va 0x200010
seen_ports "$scratch/seen.pcap"
written=$(payloads 6,7,8,10) read=$(payloads 13,14,15,16)
assert_eq 10000 "${#written}" 'hexadecimal digits written'
assert_eq "$written" "$read" 'what was written, and what was read'
assert_eq 0 "$(tshark -r "$scratch/seen.pcap" -Y 'infiniband.aeth.syndrome.opcode == 3' 2>/dev/null | wc -l)" 'NAKs'

# refused_by WORDS...: one message fails by a NAK remote access error.
refused_by() {
  exits 1 xt --json send "$sender_port" --reliable --retries 0 "${v4[@]}" messages 1 "$@"
  assert_json "$scratch/last.out" '.answers.access_naks == 1 and .recovery.failed_qps == 1'
  grep -q 'NAKs remote access error' "$scratch/last.err" || fail "why it failed: $(cat "$scratch/last.err")"
}
refused_by write size 64 qp 0x21 rkey 0x78 va 0x200000
refused_by write size 64 qp 0x22 rkey 0x77 va 0x2f4201
refused_by read size 64 qp 0x23 psn 9 rkey 0x77 va 0x1fffff
# The QP of the last one is in error: nothing answers.
exits 1 xt --json send "$sender_port" --reliable --retries 1 --timeout 10 "${v4[@]}" messages 1 write size 8 \
  qp 0x23 psn 9 rkey 0x77 va 0x200000
assert_json "$scratch/last.out" '.recovery.timeouts == 2 and .answers.acks == 0'
# Words that are not aligned: invalid request.
exits 1 xt --json send "$sender_port" --reliable --retries 0 "${v4[@]}" messages 1 fetch-add qp 0x24 rkey 0x77 va 0x200004
assert_json "$scratch/last.out" '.answers.invalid_naks == 1'
# A hundred additions of 1 by each of 4 QPs to one word of 0; the 401st finds 400.
send --reliable "${v4[@]}" fetch-add messages 100 qp 0x30 qps 4 rkey 0x77 va 0x240000
watch_ports "$tx" tx0 "$rx" rx0
send --reliable "${v4[@]}" fetch-add messages 1 qp 0x40 rkey 0x77 va 0x240000
seen_ports "$scratch/seen.pcap"
assert_eq 400 "$(($(tshark -r "$scratch/seen.pcap" -Y 'infiniband.bth.opcode == 18' -T fields \
  -e infiniband.atomicacketh.origremdt 2>/dev/null)))" 'what the last addition found'
end_respond
assert_respond '.memory == {bytes: 1000000, va: 2097152, rkey: 119, access: "read,write,atomic"} and .answered.naks == 4
  and (.refused | .bad_rkey == 1 and .out_of_bounds == 2 and .no_access == 0 and .qps_in_error == 3
       and .dropped_in_error == 2 and .invalid == 1)'

respond --address "$to" --memory 4KiB --access read,atomic
refused_by write size 8
end_respond
assert_respond '.refused.no_access == 1 and .memory.access == "read,atomic"'

misused 'is not a number of bytes' xr respond rx0 --address "$to" --memory 9000T
(($(awk '/^MemFree:/ {print $2}' /proc/meminfo) >= 8000000)) ||
  refused 'does not fit' xr respond rx0 --address "$to" --memory 4294967295
misused 'multiple of 8' xr respond rx0 --address "$to" --memory 1MB --va 3
misused "'execute' is not an access" xr respond rx0 --address "$to" --memory 1MB --access execute
exits 2 xr respond rx0 --address "$to" --rkey 3
