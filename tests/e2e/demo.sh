#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `demo` in a root directory that has nothing but the program, its libraries and the kernel's file systems: no shell, no
# ip, no share/. What it prints agrees with itself, and nothing is left, also after a signal and after kill -9. In a mount
# namespace of its own: the names of its network namespaces are not those of the machine.
. "$(dirname "$0")/lib.sh"
need nsenter unshare chroot ldd
need_root
root=$scratch/root
mkdir -p "$root"/{proc,sys,run,tmp,bpf,usr/sbin}
cp "$XDP_ROCE" "$root/usr/sbin/xdp-roce"
# A static program has none.
while IFS= read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done < <(ldd "$XDP_ROCE" 2>/dev/null | grep -o '/[^ ]*')
# Mounted in there only: what removes $scratch sees empty directories.
# shellcheck disable=SC2016 # the inner shell's
in_background unshare --mount bash -c 'mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
  mount -t tmpfs tmpfs "$1/run" && mount --bind "$XR_BPFFS" "$1/bpf" && touch "$1/tmp/ready" && exec sleep 1000' _ "$root"
holder=${background[-1]}
wait_for 10 test -e "$root/tmp/ready" || fail "the root directory is not ready"
inside() { exec nsenter --mount="/proc/$holder/ns/mnt" "$@"; }
# exec: a signal for the process reaches the program.
demo() { inside env LIBXDP_BPFFS=/bpf chroot "$root" /usr/sbin/xdp-roce demo "$@"; }
in_turn() { (demo "$@"); }
names() { (inside ls "$root/run/netns" 2>/dev/null) || true; }
before=$(kernel_objects)
nothing_left() {
  assert_eq "" "$(names)" "namespaces after $1"
  wait_for 5 nothing_since "$before" || fail "after $1 there is still: $(since "$before")"
}
# Neither a command of a demo nor one that is about to become it.
not_running() { ! pgrep -f "xdp-roce (--netns xr-demo-|demo --quick)" >/dev/null; }
# In the background up to the line with these words; its process is $running.
begin() {
  : >"$scratch/said" # what the one before said
  demo --quick >"$scratch/said" 2>"$scratch/err" &
  running=$!
  background+=("$running")
  wait_for 30 grep -q -- "$1" "$scratch/said" || fail "no '$1': $(tail -n 5 "$scratch/said" "$scratch/err")"
}
ended() {
  local status=0
  wait "$running" || status=$?
  unset 'background[-1]'
  assert_eq "$1" "$status" "exit status after $2: $(cat "$scratch/err")"
}

# All of it, with the experiment that the program has in itself.
exits 0 in_turn --out /tmp/page
cp "$scratch/last.out" "$scratch/said"
[[ -s $root/tmp/page/report.html ]] || fail "no page"
grep -qx '/tmp/page/report.html' "$scratch/said" || fail "the page's name is not printed"
cmp "$root/tmp/page/dcqcn-eight.yaml" "$here/../../tools/experiments/dcqcn-eight.yaml" || fail "another experiment"
nothing_left "the demo"

# The numbers. below WORDS: what the command below that heading printed.
below() {
  awk -v words="$1" 'index($0, words) == 1 {inside = 1; next} inside && /^(\$|  ip)/ && ++commands > 1 {exit} inside {print}' "$scratch/said"
}
# column N: the sum of column N of the lines.
column() { tr -d , | awk -v n="$1" '{sum += $n; lines++} END {if (!lines) exit 1; print sum}'; }
rules=$(below 'What the rules did')
lost=$(grep 'dest-qp 0x11-0x14' <<<"$rules" | column 4) || fail "no rule that loses"
marked=$(grep 'ecn ect red' <<<"$rules" | column 4) || fail "no rule that marks"
((lost > 0 && marked > 0)) || fail "lost $lost, marked $marked"
row='^192.0.2.1 *192.0.2.2 '
# packets FILTER: the sum of the column PACKETS of the rows, which are right-aligned below it.
packets() {
  awk -v row="$row" '/^SOURCE/ {end = index($0, "PACKETS") + 6} $0 ~ row {n = split(substr($0, 1, end), part, " "); gsub(",", "", part[n]); sum += part[n]; lines++}
    END {if (!lines) exit 1; print sum}'
}
entered=$(below 'What entered' | packets) || fail "no streams at the bridge"
below 'What came out' >"$scratch/came"
grep "$row" "$scratch/came" >"$scratch/arrived" || true
arrived=$(packets <"$scratch/came") || fail "no streams at the responder"
assert_eq 8 "$(wc -l <"$scratch/arrived")" "streams at the responder"
assert_eq "$lost" $((entered - arrived)) "packets that entered the bridge and did not arrive"
assert_eq "$marked" "$(below 'What the responder has' | grep 'marked CE  ' | grep -o 'marked CE.*' | column 3)" "marks at the responder"
# A retransmission that is lost too is no second gap.
gaps=$(column 4 <"$scratch/arrived")
again=$(below 'On the left' | sed -n 's/^On the way: \([0-9,]*\) packets.*/\1/p' | tr -d ,)
((gaps == lost || (gaps < lost && again > lost))) || fail "$lost lost, $gaps gaps"
((gaps * 10 >= lost * 8)) || fail "$lost lost, $gaps gaps"
naks=$(below 'And back' | grep 'NAK PSN sequence error' | column 5) || fail "no NAKs"
assert_eq "$naks" "$(below 'On the left' | grep 'NAKs PSN sequence error' | column 5)" "NAKs at the requester"
assert_eq "$naks" "$(below 'What the responder has' | grep -o 'NAKs .*' | column 2)" "NAKs of the responder"
echo "$entered packets entered, $lost lost, $arrived arrived with $gaps gaps, $marked marked, $naks NAKs"

# Another at the same time; then a signal in its midst.
begin 'send wire'
refused 'another demo is running' in_turn --quick
kill -TERM "$running"
ended 1 SIGTERM
grep -q 'demo: interrupted; what it made is removed' "$scratch/err" || fail "it says: $(cat "$scratch/err")"
nothing_left SIGTERM

# Killed: the namespaces stay, the responder ends. The next one says so, and its hint removes them.
begin 'send wire'
kill -KILL "$running"
ended 137 SIGKILL
wait_for 30 not_running || fail "a command of the killed demo runs"
assert_eq "xr-demo-a xr-demo-b xr-demo-box" "$(names | paste -sd ' ')" "namespaces after SIGKILL"
refused 'xr-demo-[a-z]* exists already' in_turn --quick
grep -qx 'hint: xdp-roce demo --remove' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
exits 0 in_turn --remove
grep -q '^removed .*xr-demo-box' "$scratch/last.out" || fail "$(cat "$scratch/last.out")"
nothing_left "demo --remove"

# Nobody reads on.
{ in_turn --quick 2>"$scratch/err" || echo $? >"$scratch/status"; } | head -n 4 >/dev/null
[[ ! -e $scratch/status ]] || fail "exit status when the reader goes: $(cat "$scratch/status" "$scratch/err")"
nothing_left "a closed pipe"
