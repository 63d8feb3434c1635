#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# doctor agrees with the kernel's own tools about this machine and a veth; a simulated file tree
# covers other machines; without privilege; exit status.
. "$(dirname "$0")/lib.sh"
need jq setpriv prlimit nsenter ethtool bpftool
lane

status_of() { jq -r --arg c "$1" '[.checks[] | select(.check == $c)][0].status' "$scratch/report"; }
text_of() { jq -r --arg c "$1" '.checks[] | select(.check == $c) | .text' "$scratch/report"; }
hint_of() { jq -r --arg c "$1" '.checks[] | select(.check == $c) | .hint' "$scratch/report"; }
doctor() { xr --json doctor "$@" >"$scratch/report" 2>"$scratch/last.err"; }

# The kernel alone.
"$XDP_ROCE" --json doctor >"$scratch/report" || fail "doctor fails on a machine where all else works"
assert_json "$scratch/report" '.schema == 1 and ([.checks[] | has("group", "check", "status", "text", "hint")] | all)'
assert_eq "$(uname -r)" "$(text_of version)" "version"
case $(cat /proc/sys/net/core/bpf_jit_enable) in
0) assert_eq warn "$(status_of jit)" "JIT" ;;
*) assert_eq ok "$(status_of jit)" "JIT" ;;
esac
for trial in load rules sockets capture; do assert_eq ok "$(status_of $trial)" "$trial: $(text_of $trial)"; done
# Not bpftool's probe of freplace: it asks for words of the verifier that later kernels do not use. By what attach gets.
expected=info
xr attach rx0 >/dev/null
[[ $(bpftool -j prog show id "$(ip -n "$rx" -d -j link show rx0 | jq '.[0].xdp.prog.id')" | jq -r .name) != xdp_dispatcher ]] || expected=ok
xr detach rx0 >/dev/null
assert_eq "$expected" "$(status_of dispatcher)" "dispatcher"
"$XDP_ROCE" doctor | grep -q '^ok .*version' || fail "the text has no line of the version"
# nothing stays
before=$(kernel_objects)
"$XDP_ROCE" doctor >/dev/null
wait_for 5 nothing_since "$before" || fail "doctor left something in the kernel"

# A veth: native XDP if the kernel reports it, no hardware, its other end's tags.
doctor rx0 || fail "doctor rx0: $(cat "$scratch/last.err")"
assert_eq veth "$(text_of driver)" "driver"
assert_eq "up, with carrier" "$(text_of link)" "link"
assert_eq unknown "$(status_of place)" "RDMA in another namespace"
[[ -n $(text_of pfc) ]] || fail "nothing of PFC in another namespace"
assert_eq "" "$(text_of peer_mode)" "a peer that was not asked about"
doctor rx0 --peer-mode v1
assert_eq unknown "$(status_of peer_mode)" "a peer's mode, in another namespace"
case $(status_of native) in ok | unknown) ;; *) fail "native: $(text_of native)" ;; esac
text_of mtu | grep -q '^MTU 1500: packets of PMTU 1024 fit' || fail "mtu: $(text_of mtu)"
if ip netns exec "$rx" ethtool -k rx0 | grep -q '^generic-receive-offload: on'; then
  text_of gro | grep -q 'comes after XDP' || fail "GRO is on and not told"
else
  [[ -z $(text_of gro) ]] || fail "GRO is off and told to be on"
fi
assert_eq "no XDP program is on it" "$(text_of hook)" "empty hook"
# Each command that it gives is one that mends: tags of the other end.
if ip netns exec "$tx" ethtool -k tx0 | grep -q '^tx-vlan-offload: on'; then
  assert_eq warn "$(status_of frames)" "tags of the other end"
  hint=$(hint_of frames)
  bash -c "$hint" || fail "the hint does not work: $hint"
  doctor rx0
  assert_eq ok "$(status_of frames)" "after: $hint"
  # --fix runs what the hint says, once.
  ip netns exec "$tx" ethtool -K tx0 txvlan on tx-vlan-stag-hw-insert on
  doctor rx0 --fix || fail "--fix: $(cat "$scratch/last.err")"
  text_of fixed | grep -qF "changed, as \`$hint\` does" || fail "--fix does not say what it did: $(text_of fixed)"
  grep -q '1 setting changed' "$scratch/last.err" || fail "--fix: $(cat "$scratch/last.err")"
  assert_eq ok "$(status_of frames)" "after --fix"
  ip netns exec "$tx" ethtool -k tx0 | grep -q '^tx-vlan-offload: off' || fail "--fix changes nothing"
  doctor rx0 --fix
  grep -q '0 settings changed' "$scratch/last.err" || fail "a second --fix: $(cat "$scratch/last.err")"
fi
misused '--fix needs IF' "$XDP_ROCE" doctor --fix
# How frames come in: a veth is no device, and its driver has none of this.
for what in numa interrupts coalescing rss steering; do
  assert_eq info "$(status_of $what)" "$what of a veth"
  text_of $what | grep -q '^no ' || fail "$what: $(text_of $what)"
done
ip -n "$tx" link set tx0 down
doctor rx0 || fail "a link that is down is no failure"
assert_eq warn "$(status_of link)" "link whose other end is down"
bash -c "$(hint_of link)"
doctor rx0
assert_eq ok "$(status_of link)" "after its hint"

# Who is on the hook.
xr attach rx0
doctor rx0
text_of hook | grep -q 'xdp-roce is on it' || fail "hook: $(text_of hook)"
xr detach rx0

refused 'nosuch0.*no such interface' xr doctor nosuch0

# Without privilege, checks that need it say so, and nothing fails.
install -m 755 "$XDP_ROCE" "$scratch/xdp-roce"
chmod 755 "$scratch"
setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/xdp-roce" --json doctor lo >"$scratch/report" ||
  fail "doctor without privilege"
assert_eq unknown "$(status_of load)" "load, untried"
assert_eq warn "$(status_of privileges)" "privileges"
assert_eq "" "$(hint_of queues)" "a command for queues, where the device has none" # lo
text_of privileges | grep -q CAP_BPF || fail "the missing capability is not named"

# Memory of AF_XDP sockets counts against the limit of a user's locked memory: what doctor calls enough
# is enough, and no KiB less. A user of this scenario's own, whose locked memory nobody else counts.
# limited KIB MORE-CAPABILITIES COMMAND...
limited() {
  local limit=$(($1 * 1024)) caps=+net_admin,+net_raw,+bpf,+perfmon,+dac_override$2 user=$((100000 + $$))
  shift 2
  nsenter --net="/run/netns/$rx" prlimit --memlock="$limit:$limit" setpriv --reuid "$user" --regid "$user" --clear-groups \
    --inh-caps "$caps" --ambient-caps "$caps" "$scratch/xdp-roce" "$@"
}
respond=(respond rx0 --address 192.0.2.2 --for 100ms)
send=(send rx0 src 192.0.2.2 dst 192.0.2.1 dst-mac 02:00:00:00:00:01 qp 17 messages 1)
limited 64 '' --json doctor >"$scratch/report" || fail "doctor with 64 KiB of locked memory"
assert_eq warn "$(status_of memlock)" "64 KiB of locked memory"
[[ $(text_of memlock) =~ ' respond needs '([0-9]+)' KiB'.*' send without --reliable '([0-9]+)$ ]] ||
  fail "memlock: $(text_of memlock)"
to_respond=${BASH_REMATCH[1]} to_send=${BASH_REMATCH[2]}
refused 'ENOBUFS' limited $((to_send - 1)) '' "${send[@]}"
keep limited "$to_send" '' "${send[@]}" || fail "send with $to_send KiB: $(cat "$scratch/last.err")"
refused 'ENOBUFS' limited "$to_send" '' "${respond[@]}"
cases=("64:,+ipc_lock")
# Only who may raise the limit can go there.
if setpriv --dump | grep -q '^Capability bounding set:.*sys_resource'; then
  refused 'ENOBUFS' limited $((to_respond - 1)) '' "${respond[@]}"
  cases+=("$to_respond:" "64:,+sys_resource")
fi
for case in "${cases[@]}"; do
  limited "${case%%:*}" "${case#*:}" --json doctor >"$scratch/report"
  assert_eq ok "$(status_of memlock)" "locked memory: $case"
  keep limited "${case%%:*}" "${case#*:}" "${respond[@]}" || fail "respond, $case: $(cat "$scratch/last.err")"
done

# A tree with a hardware device on the port.
tree=$scratch/tree
port=$tree/sys/class/infiniband/mlx5_0/ports/1
cm=$tree/sys/kernel/config/rdma_cm/mlx5_0/ports/1
mkdir -p "$port"/{gid_attrs/{types,ndevs},gids,hw_counters} "$cm" "$tree"/sys/devices/0000:3b:00.0 \
  "$tree"/sys/drivers/mlx5_core "$tree"/proc/sys/kernel
ln -s ../../../devices/0000:3b:00.0 "$tree/sys/class/infiniband/mlx5_0/device"
ln -s ../../drivers/mlx5_core "$tree/sys/devices/0000:3b:00.0/driver"
echo rx0 >"$port/gid_attrs/ndevs/0"
echo 'RoCE v2' >"$port/gid_attrs/types/0"
echo ::ffff:10.77.0.1 >"$port/gids/0"
echo 7 >"$port/hw_counters/packet_seq_err"
echo 'RoCE v2' >"$cm/default_roce_mode"
echo 0 >"$cm/default_roce_tos"
doctor rx0 --root "$tree" --peer-mode v1 || fail "doctor on a tree"
text_of place | grep -q 'mlx5_0/1 (mlx5).*bypass' || fail "place: $(text_of place)"
assert_eq warn "$(status_of peer_mode)" "v2 here, v1 there"
text_of hw_counters | grep -q 'packet_seq_err 7' || fail "hw_counters: $(text_of hw_counters)"
keep "$XDP_ROCE" doctor --root "$tree" --set-roce-mode v1 --rdma-dev mlx5_0 --rdma-port 1 ||
  fail "set-roce-mode"
assert_eq 'IB/RoCE v1' "$(cat "$cm/default_roce_mode")" "what the kernel takes"
doctor rx0 --root "$tree" --peer-mode v1
assert_eq ok "$(status_of peer_mode)" "v1 and v1"
keep "$XDP_ROCE" doctor --root "$tree" --set-roce-mode v2 --set-roce-tos 106 --rdma-dev mlx5_0 --rdma-port 1 ||
  fail "set-roce-tos"
assert_eq "RoCE v2, 106" "$(cat "$cm/default_roce_mode"), $(cat "$cm/default_roce_tos")" "mode and type of service at once"
keep "$XDP_ROCE" doctor --root "$tree" --set-roce-tos 0 --rdma-dev mlx5_0 --rdma-port 1 || fail "set-roce-tos alone"
assert_eq "RoCE v2, 0" "$(cat "$cm/default_roce_mode"), $(cat "$cm/default_roce_tos")" "the type of service alone"
# Its state; an InfiniBand port, whose GIDs are "IB/RoCE v1"; a port without a device.
echo '1: DOWN' >"$port/state"
echo '3: Disabled' >"$port/phys_state"
echo '100 Gb/sec (4X EDR)' >"$port/rate"
echo 16.35.2000 >"$tree/sys/class/infiniband/mlx5_0/fw_ver"
doctor rx0 --root "$tree"
assert_eq warn "$(status_of rdma_port)" "a port that is down"
text_of rdma_port | grep -q 'DOWN, Disabled, 100 Gb/sec (4X EDR), firmware 16.35.2000' || fail "rdma_port: $(text_of rdma_port)"
echo 'IB/RoCE v1' >"$port/gid_attrs/types/0"
echo InfiniBand >"$port/link_layer"
doctor rx0 --root "$tree"
text_of place | grep -q 'InfiniBand port: no RoCE' || fail "place: $(text_of place)"
assert_eq "" "$(text_of gids)" "GIDs of InfiniBand"
echo other0 >"$port/gid_attrs/ndevs/0"
doctor rx0 --root "$tree"
assert_eq 'rdma link add rxe_rx0 type rxe netdev rx0' "$(hint_of place)" "a port without an RDMA device"
rm "$port/link_layer"
refused 'no such RDMA device' "$XDP_ROCE" doctor --root "$tree" --set-roce-mode v1 --rdma-dev mlx5_9 --rdma-port 1
rm -r "$tree/sys/kernel"
refused 'configfs is not mounted' "$XDP_ROCE" doctor --root "$tree" --set-roce-mode v1 --rdma-dev mlx5_0 --rdma-port 1

# A check that fails: a kernel that is too old.
echo 5.4.0 >"$tree/proc/sys/kernel/osrelease"
status=0
doctor rx0 --root "$tree" || status=$?
assert_eq 1 "$status" "exit status of a check that failed"
assert_eq fail "$(status_of version)" "a kernel of 5.4"
status=0
keep xr doctor rx0 --peer-mode v3 || status=$?
assert_eq 2 "$status" "exit status of a wrong mode"
