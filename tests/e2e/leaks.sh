#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The harness's own check: what a scenario leaves in the kernel is found, whatever keeps it there; what another one has at the
# same time is not its concern.
. "$(dirname "$0")/lib.sh"
need jq bpftool python3 clang
lane
before=$(kernel_objects)
assert_eq "" "$before" "objects of a scenario that made none"

# left WORDS: exactly one line is new, and has the words.
left() {
  local found
  found=$(since "$before")
  assert_eq 1 "$(grep -c . <<<"$found")" "lines: $found"
  [[ $found == *"$1"* ]] || fail "'$1' is not in: $found"
  ! nothing_since "$before" || fail "nothing is found though there is: $found"
}
none_left() { wait_for 30 nothing_since "$before" || fail "still found $1: $(since "$before")"; }
map() { bpftool map create "$1" type array key 4 value 8 entries 1 name xr_leak; }

# A pin, in any folder of the scenario's bpffs.
mkdir "$XR_BPFFS/folder"
map "$XR_BPFFS/folder/leak"
left 'pin folder/leak'

# What was remembered and is pinned where nobody looks.
remember
elsewhere=$(mktemp -d "$scratch/elsewhere.XXXXXX")
mount -t bpf bpf "$elsewhere"
id=$(bpftool -j map show pinned "$XR_BPFFS/folder/leak" | jq .id)
bpftool map pin id "$id" "$elsewhere/leak"
rm "$XR_BPFFS/folder/leak"
left "alive map_id $id"
umount "$elsewhere"
none_left "after the pin"

# A process of the scenario that has one, also one that is nobody's child any more.
holder() {
  exec python3 - <<'PY'
import ctypes, os, platform, time
attributes = (ctypes.c_uint32 * 18)(2, 4, 8, 1)  # BPF_MAP_CREATE: an array of one value
nr = 321 if platform.machine() == "x86_64" else 280
if ctypes.CDLL(None).syscall(nr, 0, ctypes.byref(attributes), ctypes.sizeof(attributes)) < 0:
    raise SystemExit("no map")
print(os.getpid(), flush=True)
time.sleep(60)
PY
}
(holder >"$scratch/holder" &)
wait_for 5 test -s "$scratch/holder" || fail "no process that holds a map"
pid=$(<"$scratch/holder")
left "process $pid map_id"
kill "$pid"
none_left "after the process"

# A program on a hook, without a pin.
cat >"$scratch/pass.bpf.c" <<'C'
__attribute__((section("xdp"))) int pass(void *context) { return 2; }
char _license[] __attribute__((section("license"))) = "GPL";
C
clang -O2 -target bpf -c "$scratch/pass.bpf.c" -o "$scratch/pass.bpf.o"
bpftool prog load "$scratch/pass.bpf.o" "$XR_BPFFS/pass" type xdp
ip netns exec "$tx" bpftool net attach xdpdrv pinned "$XR_BPFFS/pass" dev tx0
rm "$XR_BPFFS/pass"
left "hook $tx tx0 xdp"
ip -n "$tx" link set tx0 xdpdrv off
none_left "after the hook"

# An attached port: all of it is found, and nothing after detach.
xr attach rx0 >/dev/null
nothing_since "$before" && fail "an attached port is not found"
since "$before" | grep -q "^hook $rx rx0 xdp" || fail "no hook in: $(since "$before")"
since "$before" | grep -q '^pin xdp-roce/' || fail "no pins in: $(since "$before")"
xr detach rx0 >/dev/null
(($(wc -l <"$XR_MEMORY") > 5)) || fail "what was attached is not remembered: $(cat "$XR_MEMORY")"
none_left "after detach"

# Another scenario at work: its port, its pins and its processes are its own.
other=xr-other-$$
other() { env XR_MARK=other LIBXDP_BPFFS="$scratch/others" "$@"; }
# As in bridge_lib.sh: its namespace and its bpffs go too.
tidy_up_other() {
  local status=$?
  set +e
  ip netns del "$other" 2>/dev/null
  umount -l "$scratch/others" 2>/dev/null
  (exit "$status")
  tidy_up
}
trap tidy_up_other EXIT
mkdir "$scratch/others"
mount -t bpf bpf "$scratch/others"
ip netns add "$other"
ip -n "$other" link add other0 type veth peer name other1
ip -n "$other" link set other0 up
other "$XDP_ROCE" --netns "$other" attach other0 >/dev/null
in_background env XR_MARK=other LIBXDP_BPFFS="$scratch/others" "$XDP_ROCE" --netns "$other" counters other0 --interval 0.1 >/dev/null
wait_for 5 pgrep -P $$ xdp-roce >/dev/null || fail "no process of the other one"
[[ $(find "$scratch/others" -type f) ]] || fail "the other one pinned nothing"
nothing_since "$before" || fail "the other one's: $(since "$before")"
end_background INT
other "$XDP_ROCE" --netns "$other" detach other0 >/dev/null
echo "pins, processes, hooks and freed objects: found; another one's: not"
