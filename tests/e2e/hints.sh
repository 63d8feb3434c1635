#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every hint that is a command: the error is provoked in the situation that the hint is for, the hinted command is run as
# it is printed, and the first command then works. The sources are searched for such hints; one that is not tried here
# has a reason.
. "$(dirname "$0")/bridge_lib.sh"
need jq python3
lane3
mkdir "$scratch/bin"
ln -s "$XDP_ROCE" "$scratch/bin/xdp-roce"
PATH=$scratch/bin:$PATH
: >"$scratch/tried"

# The last command's hint, as the commands to run: without what a sentence has around them. IF2 is the user's choice.
hinted() {
  sed -n 's/^hint: //p' "$scratch/last.err" | tee -a "$scratch/tried" |
    sed -E 's/, then /\n/g; s/^(omit [^,]*|end it first|cnp drop;|take it off with the tool that attached it),? or:? //; s/ (first|cleans up|replaces it|also takes that program off|shows ids and names)$//; s/\bIF2\b/box1/g'
}

# A command that holds frames or watches runs until it is ended.
run_hint() {
  local line=$1
  if [[ $line == *" wire "* ]]; then
    # shellcheck disable=SC2086 # words
    in_background $line 2>"$scratch/wire.err" >/dev/null
    wait_for 15 wire_runs || fail "'$line' does not run: $(cat "$scratch/wire.err")"
    return
  fi
  # shellcheck disable=SC2086 # words
  $line >"$scratch/hint.out" 2>"$scratch/hint.err" || fail "the hint '$line' fails: $(cat "$scratch/hint.err")"
}
wire_runs() { xr --json link box0 show 2>/dev/null | jq -e '[.. | .running?] | any(. == true)' >/dev/null; }

# tries HINT COMMAND...: the command fails, its hint has the words, the hint's commands succeed, and then the command does.
tries() {
  local words=$1 line
  shift
  ! keep "$@" || fail "$*: succeeds"
  hinted >"$scratch/commands"
  grep -qE -- "$words" "$scratch/last.err" || fail "$*: no hint with '$words': $(cat "$scratch/last.err")"
  while IFS= read -r line; do
    run_hint "$line"
  done <"$scratch/commands"
  keep "$@" || fail "after '$(tr '\n' ';' <"$scratch/commands")': $*: $(cat "$scratch/last.err")"
}
fresh() {
  local i
  for ((i = ${#background[@]}; i > 0; i--)); do end_background INT; done
  xr detach --all >/dev/null 2>&1 || true
}
bridged() { xr --json status box0 | jq -e '.attachments[0].bridged_with == "box1"' >/dev/null || fail "box0 is on no bridge: $1"; }
has() { xr --json status box0 | jq -e ".attachments[0] | $1" >/dev/null || fail "not '$1': $(xr --json status box0)"; }
quietly() { "$@" >/dev/null 2>&1 || fail "$*"; }
in_box() { ip netns exec "$box" "$@"; }

# Not attached, attached already.
tries "attach box0 first" xr counters box0
tries "detach box0 first" xr attach box0
# What following needs: a port alone, on a bridge, in a tap of two ports. Its other options stay.
for what in episodes:--follow:follow latency:--latency:latency; do
  IFS=: read -r command option feature <<<"$what"
  fresh
  quietly xr attach box0 --udp-port 4792 --classes
  tries "detach box0, then .* attach box0 --udp-port 4792 --classes $option" xr "$command" box0
  has ".udp_port == 4792 and (.features | index(\"classes\") and index(\"$feature\"))"
  fresh
  quietly xr bridge box0 box1 --streams 1000
  tries "detach box0, then .* bridge box0 box1 --streams 1000 $option" xr "$command" box0
  bridged "$command"
  has ".stream_capacity == 1000 and (.features | index(\"$feature\"))"
  keep xr "$command" box1 || fail "$command of the other port"
  fresh
  quietly xr attach box0 box1 --one
  tries "detach box0 box1, then .* attach box0 box1 --one $option" xr "$command" box0
  has '.shared_with == ["box1"]'
  keep xr "$command" box1 || fail "$command of the other port"
done
# Both at once stay.
fresh
quietly xr bridge box0 box1 --follow --pairs 100
tries "bridge box0 box1 --follow --pairs 100 --latency" xr latency box0
has '.pair_capacity == 100 and (.features | index("follow"))'

# Rules: with --decap, without streams, without a bridge, without a wire.
fresh
quietly xr attach box0 --decap auto
tries "detach box0, then .* attach box0$" xr impair box0 add roce drop
fresh
quietly xr attach box0 --no-track
tries "detach box0, then .* attach box0$" xr impair box0 add qp 1 psn 1 drop
fresh
quietly xr bridge box0 box1 --no-track
tries "detach box0, then .* bridge box0 box1$" xr impair box0 add qp 1 psn 1 drop
bridged "rules of QPs"
for action in duplicate "opcode data cnp"; do
  fresh
  quietly xr attach box0
  # shellcheck disable=SC2086 # words
  tries "detach box0, then .* bridge box0 IF2" xr impair box0 add $action
done
fresh
quietly xr attach box0
tries "detach box0, then .* wire box0 IF2" xr impair box0 add roce delay 1ms
fresh
quietly xr attach box0
quietly xr impair box0 add name mine roce drop
tries "impair box0 del mine first" xr impair box0 add name mine roce drop
# A hint that shows something: it runs, and what it shows helps.
! keep xr impair box0 del 99 || fail "there is a rule 99"
run_hint "$(hinted)"
grep -q mine "$scratch/hint.out" || fail "list has no rule mine"
# A link: of a port that is not attached, and of one that is.
fresh
tries "bridge box0 IF2" xr link box0 show
fresh
quietly xr attach box0
tries "detach box0, then .* bridge box0 IF2" xr link box0 show

# capture: options of a port that is attached, episodes, streams.
short=(-w "$scratch/x.pcapng" --for 100ms)
fresh
quietly xr attach box0
tries "omit --udp-port, or .*detach box0 first" xr capture box0 "${short[@]}" --udp-port 4792
fresh
quietly xr bridge box0 box1
tries "omit --follow, or .*detach box0, then .* bridge box0 box1 --follow" xr capture box0 "${short[@]}" --follow
bridged "a capture"
fresh
quietly xr bridge box0 box1
tries "bridge box0 box1 --follow" xr capture box0 "${short[@]}" --around episode
bridged "a capture around episodes"
fresh
quietly xr attach box0
tries "attach box0 --follow" xr capture box0 "${short[@]}" --around episode
fresh
! keep xr capture box0 "${short[@]}" --around episode || fail "episodes without --follow"
assert_eq "add --follow" "$(hinted)" "hint of a port that the capture attaches"
keep xr capture box0 "${short[@]}" --around episode --follow || fail "capture --follow: $(cat "$scratch/last.err")"
fresh
quietly xr attach box0 --no-track
tries "attach box0$" xr capture box0 "${short[@]}" --around gap
# A capture has the port: attach ends it.
fresh
in_background "$XDP_ROCE" --netns "$box" capture box0 -w "$scratch/y.pcapng" >/dev/null 2>"$scratch/begun"
wait_for 15 grep -qs begun "$scratch/begun" || fail "capture has not begun: $(cat "$scratch/begun")"
tries "end it first, or .*detach box0" xr attach box0
wait "${background[-1]}" || true
unset 'background[-1]'

# Endpoints: a port of a bridge, a port that is down.
sending=(xr send box0 src 192.0.2.9 dst 192.0.2.1 dst-mac "$left_mac" qp 17 send size 64 messages 1)
fresh
quietly xr bridge box0 box1
tries "detach box0$" xr respond box0 --address 192.0.2.9 --for 100ms
fresh
ip -n "$box" link set box0 down
tries "ip -n $box link set box0 up" "${sending[@]}"

# An attachment that another tool took off, and another program on the hook.
fresh
quietly xr attach box0 --mode skb
ip -n "$box" link set dev box0 xdpgeneric off
! keep xr counters box0 || fail "counters of a stale attachment"
run_hint "$(hinted)"
quietly xr attach box0
fresh
if bpffs=$(mktemp -d) && mount -t bpf bpf "$bpffs" 2>/dev/null; then
  quietly xr attach box0 --mode skb
  tries "detach box0 first" env LIBXDP_BPFFS="$bpffs" "$XDP_ROCE" --netns "$box" attach box0 --mode skb
  LIBXDP_BPFFS=$bpffs xr detach --all >/dev/null 2>&1 || true
  umount "$bpffs"
fi
rmdir "$bpffs"

# Ports of one name, and what no port is needed for.
fresh
! keep xr attach box0 --one || fail "--one with one port"
run_hint "$(hinted | sed "s/^xdp-roce/& --netns $box/")"
has '.shared_with == ["box1"]'
xr status box0 | grep -q 'box1' || fail "status does not show --one"
# Detaching one of them: it says with which port the counts were shared, soon, and that port keeps them.
begun=$SECONDS
keep xr detach box0 || fail "detach: $(cat "$scratch/last.err")"
grep -q '^note: box0: its counters and streams were shared with box1, which keeps them$' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
((SECONDS - begun < 10)) || fail "detach of one port of two waits for maps that stay"
xr --json status box1 | jq -e '.attachments[0].shared_with == []' >/dev/null || fail "box1 is still shared"
! keep xr bridge box0 box0 || fail "a bridge of one port"
fresh
run_hint "$(hinted | sed "s/^xdp-roce/& --netns $box/")"
bridged "the hint of a bridge of one port"
fresh
for words in "cc list all" "run" "run xyzzy" "--json export" "--json watch box0"; do
  [[ $words != *export ]] || quietly xr attach box0
  # shellcheck disable=SC2086 # words
  ! keep xr $words || fail "$words: succeeds"
  # Two of them run until they are ended; the others end, however busy the machine is.
  if [[ $words == --json* ]]; then limit=3; else limit=60; fi
  # shellcheck disable=SC2046 # words
  keep timeout --foreground --preserve-status -s INT "$limit" $(hinted | sed -E "s/(, or| shows) .*//; s/\bIF\b/box0/; s/^xdp-roce/& --netns $box/") || fail "hint of $words: $(cat "$scratch/last.err")"
done
! keep "$XDP_ROCE" --netns "$box" compare box0 box1 || fail "compare without --for"
# shellcheck disable=SC2046 # words; status 1: the places have nothing in common
keep xr $(hinted | sed 's/.*: xdp-roce //; s/IF1/box0/; s/10s/100ms/') || grep -q 'no packet in common' "$scratch/last.err" ||
  fail "hint of compare: $(cat "$scratch/last.err")"

# Every place of the sources that makes a hint with a command, and what tried it above: words of a hint, or after # why not.
python3 - "$XR_DATA/../../userspace" "$scratch/tried" <<'END'
import pathlib
import re
import sys
PLACES = {
    "afxdp/bind.cpp": (2, "#send reads whether the port is up first"),
    "afxdp/zero_copy.cpp": (2, "#zero-copy needs a NIC: tests/kernels"),
    "cli/app.cpp": (1, "#commands.sh runs --help of every command"),
    "cli/attach.cpp": (1, "xdp-roce attach box0 IF2 --one"),
    "cli/bridge_output.cpp": (2, "xdp-roce bridge box0 IF2"),
    "cli/capture.cpp": (1, "#needs a terminal and Wireshark"),
    "cli/cc.cpp": (2, "xdp-roce cc list"),
    "cli/command_line.cpp": (1, "#commands.sh runs --help of every command"),
    "cli/compare.cpp": (1, "xdp-roce compare IF1 IF2 --for 10s"),
    "cli/experiments.cpp": (1, "xdp-roce run --list"),
    "cli/export.cpp": (1, "xdp-roce --json counters IF"),
    "cli/demo.cpp": (5, "#demo.sh runs the hint; three are commands that the demo prints"),
    "cli/export_rows.cpp": (1, "#export_rows.sh"),
    "cli/detach.cpp": (1, "#commands.sh runs --help of every command"),
    "cli/doctor.cpp": (1, "#commands.sh runs --help of every command"),
    "cli/impair.cpp": (1, "#commands.sh runs --help of every command"),
    "cli/run.cpp": (1, "xdp-roce run --list shows"),
    "cli/run_compare.cpp": (2, "#run_report.sh makes runs and compares them"),
    "cli/watch.cpp": (1, "xdp-roce --json counters box0 --interval"),
    "capture/left_out.cpp": (1, "#words of a comment, not of a hint"),
    "cli/status.cpp": (1, "#a note: wire_flap.sh"),
    "capture/libpcap_file.cpp": (1, "#bad_captures.sh: needs the compressor"),
    "datapath/attached_port.cpp": (1, "#a map that cannot be opened"),
    "datapath/bpffs.cpp": (3, "#a machine without a bpffs"),
    "datapath/detach.cpp": (1, "#status shows what is attached"),
    "datapath/attach.cpp": (1, "#a first port of --one that is not attached"),
    "datapath/exchange.cpp": (1, "#a configuration that cannot be read"),
    "datapath/feature_lease.cpp": (6, "omit --follow, or"),
    "datapath/found.cpp": (1, "attach box0 box1 --one --follow"),
    "live/page.cpp": (1, "#the title of the page"),
    "datapath/job.cpp": (1, "#job_port_test: commands read bursts of ports with --job only"),
    "datapath/join.cpp": (1, "#beside_other_xdp.sh: another tool's program"),
    "datapath/prepare.cpp": (2, "end it first, or"),
    "datapath/rules.cpp": (9, "impair box0 del mine first"),
    "datapath/status.cpp": (2, "cleans up"),
    "datapath/times.cpp": (1, "--latency"),
    "datapath/wire_reading.cpp": (1, "bridge box0 IF2"),
    "endpoint/port_facts.cpp": (1, "link set box0 up"),
    "endpoint/send.cpp": (1, "#plugins.sh: names where it runs"),
    "endpoint/send_live.cpp": (1, "#send_live.sh"),
    "endpoint/session.cpp": (2, "#shows the queues"),
    "endpoint/wire_prepare.cpp": (1, "#shows the queues"),
    "experiment/flows.cpp": (1, "#plugins.sh runs cc list"),
    "rate/plugin.cpp": (1, "#commands.sh runs --help of every command"),
    "host/flow_rules.cpp": (4, "#needs a NIC with flow rules: flow_rules_test"),
    "host/link.cpp": (1, "#a driver that leaves a setting as it is"),
    "host/netns.cpp": (2, "#commands.sh: shows the interfaces"),
    "host/roce_mode.cpp": (2, "#doctor.sh: no RDMA device here"),
    "places/port_checks.cpp": (1, "#run_ports.sh detaches the port"),
    "port_capture/port_capture.cpp": (2, "attach box0 --follow"),
}
PREFLIGHT = ("datapath/preflight.cpp", "doctor/")  # bridge_ports.sh and doctor.sh run what they print
MAKES = re.compile(r'\b(attach_again|make_bridge|command_for|ip_for|with_option)\(|"[^"]*(?<![a-z] )\b(xdp-roce (--json )?[a-z{][a-z}-]*|ip link|ip -n|ip \{\}link|ethtool -|mount -t|modprobe )')
# Help is a string by itself, and a command in it follows blanks or other words.
HELP = re.compile(r'^"(?!xdp-roce [a-z-]+ |xdp-roce --json |a port needs|peer IP)')
root, tried = pathlib.Path(sys.argv[1]), open(sys.argv[2], encoding="utf-8").read()
found = {}
for path in sorted(root.rglob("*.cpp")):
    name = "/".join(path.relative_to(root).parts[-2:])  # without the group
    if name.startswith(PREFLIGHT) or name == "datapath/remedy.cpp" or name.split("/")[0] in ("report", "watch", "plot", "metrics", "simulate"):
        continue
    for line in path.read_text(encoding="utf-8").splitlines():
        if MAKES.search(line) and not line.startswith("std::string ") and not (name.startswith("cli/") and HELP.match(line.strip())):
            found.setdefault(name, []).append(line.strip())
wrong = []
for name, lines in found.items():
    count, how = PLACES.get(name, (0, "#"))
    if len(lines) != count:
        wrong.append(f"{name}: {len(lines)} hints with a command, {count} known here:\n    " + "\n    ".join(lines))
for name, (count, how) in PLACES.items():
    if name not in found:
        wrong.append(f"{name}: no hint with a command any more")
    if not how.startswith("#") and how not in tried:
        wrong.append(f"{name}: '{how}' was not tried")
print("\n".join(wrong))
sys.exit(bool(wrong))
END
echo "$(sort -u "$scratch/tried" | wc -l) hints tried"
