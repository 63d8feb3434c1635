# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A guest: guest_boot, guest_run, guest_stop. Sourced; one guest a shell. Set beforehand, if need be:
#   guest_netns    the network namespace that QEMU runs in (where its taps are); the agent is reached from there
#   guest_devices  an array of further QEMU arguments: NICs, and what they are connected to
#   guest_memory   MiB; guest_cpus
#   guest_append   further words of the kernel's command line
#   guest_qemu     an array: QEMU's command; guest_newest_qemu makes it that of build/kernels/qemu
#   XR_ACCEL       kvm or tcg; else KVM where it works

kernels_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kernels_root=$(cd "$kernels_here/../.." && pwd)
guest_devices=()
guest_qemu=(qemu-system-x86_64)
guest_pid=

guest_newest_qemu() {
  local qemu=$kernels_root/build/kernels/qemu/usr
  local libraries=$qemu/lib/x86_64-linux-gnu
  guest_qemu=(env "QEMU_MODULE_DIR=$libraries/qemu" "$qemu/lib64/ld-linux-x86-64.so.2" --library-path "$libraries"
    "$qemu/bin/qemu-system-x86_64" -L "$qemu/share/qemu" -L "$qemu/share/seabios")
}

guest_in_netns() {
  if [[ ${guest_netns:-} ]]; then ip netns exec "$guest_netns" "$@"; else "$@"; fi
}

# KVM with a processor's virtualization, and a virtual machine can be made: that the device opens says little.
guest_accel() {
  [[ -d /sys/module/kvm_intel || -d /sys/module/kvm_amd ]] &&
    python3 -c 'import fcntl; fcntl.ioctl(open("/dev/kvm", "r+b", 0), 0xAE01, 0)' 2>/dev/null && echo kvm || echo tcg
}

# guest_start NAME DIR CPIO...: the kernel NAME of build/kernels with the userland and these archives; logs in DIR.
guest_start() {
  local kernel=$kernels_root/build/kernels/$1 dir=$2 accel cpu=max,cx16=off inside=()
  shift 2
  mkdir -p "$dir"
  guest_dir=$dir
  cat "$kernels_root/build/kernels/userland.cpio" "$kernel/modules.cpio" "$@" >"$dir/initrd" || return 1
  guest_port=$(guest_in_netns python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  accel=${XR_ACCEL:-$(guest_accel)}
  # Under TCG 6.12 double-faults after cmpxchg16b; with a thread for each processor, a processor may
  # execute the int3 of a text patch (of BPF's dispatcher) after the kernel has removed it, and panics.
  if [[ $accel == kvm ]]; then cpu=host; else accel=tcg,thread=single,tb-size=512; fi
  # Without a function in between, so that $! is QEMU; it ends with this shell, however that ends.
  [[ ! ${guest_netns:-} ]] || inside=(ip netns exec "$guest_netns")
  "${inside[@]}" setpriv --pdeathsig KILL "${guest_qemu[@]}" -name "xdp-roce-$(basename "$kernel")" -machine q35 -accel "$accel" -cpu "$cpu" \
    -smp "${guest_cpus:-2}" -m "${guest_memory:-3072}" -nodefaults -no-user-config -display none -no-reboot \
    -serial "file:$dir/serial.log" -kernel "$kernel/vmlinuz" -initrd "$dir/initrd" \
    -append "console=ttyS0 panic=-1 mitigations=off nokaslr quiet ${guest_append:-}" -device virtio-rng-pci \
    -netdev "user,id=control,restrict=on,hostfwd=tcp:127.0.0.1:$guest_port-10.0.2.15:8000" \
    -device virtio-net-pci,netdev=control,mac=52:54:00:aa:00:01,romfile= \
    "${guest_devices[@]}" </dev/null >"$dir/qemu.log" 2>&1 &
  guest_pid=$!
}

# The kernel's own line of a panic, if there was one.
guest_panic() { tr -d '\r' 2>/dev/null <"$guest_dir/serial.log" | grep -aom 1 'Kernel panic - not syncing.*'; }

# Seconds of processor time that QEMU has used.
guest_used() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) / hz) }' "/proc/$guest_pid/stat" 2>/dev/null || echo 0; }

# guest_wait SECONDS: until the agent answers; 1: no answer in SECONDS of processor time or four times as many of the clock's, as
# a busy machine slows the guest; 2: the guest panicked or ended before it answered.
guest_wait() {
  local begun=$SECONDS
  # A connection to a guest that hangs stays open; one that is closed too soon still costs the guest time.
  until guest_in_netns timeout 60 python3 -I "$kernels_here/client.py" "$guest_port" run - <<<true >/dev/null 2>&1; do
    if guest_panic >/dev/null || ! kill -0 "$guest_pid" 2>/dev/null; then return 2; fi
    (($(guest_used) < $1 && SECONDS - begun < 4 * $1)) || return 1
    sleep 0.5
  done
  rm -f "$guest_dir/initrd"
}

# Why the guest did not come up: the panic's line, or the last one that it or QEMU wrote.
guest_why() { guest_panic || tail -qn 1 "$guest_dir/serial.log" "$guest_dir/qemu.log" 2>/dev/null | tr -d '\r' | grep -a . || echo "no output"; }

# guest_boot NAME DIR SECONDS CPIO...: starts a guest and waits for its agent. One that panics or ends before that is
# started again, for 3 tries in all: under TCG a kernel rarely panics while it boots. $guest_note: how tries failed, or
# empty; their logs are kept as serial-TRY.log and qemu-TRY.log.
# shellcheck disable=SC2034 # $guest_note is for the script that sources this
guest_boot() {
  local name=$1 dir=$2 seconds=$3 try status why begun notes=''
  shift 3
  rm -f "$dir"/{serial,qemu}*.log
  for try in 1 2 3; do
    guest_note=${notes:+"booted at try $try: $notes"}
    guest_start "$name" "$dir" "$@" || { guest_note="cannot be started: no room in $dir, or no archive"; return 1; }
    status=0 begun=$SECONDS
    guest_wait "$seconds" || status=$?
    ((status)) || return 0
    guest_stop
    why=$(guest_why | paste -sd ' ' | cut -c -200)
    ((status == 2)) || why="no answer in $((SECONDS - begun)) s: $why"
    mv "$dir/serial.log" "$dir/serial-$try.log" 2>/dev/null # not there where QEMU refused
    mv "$dir/qemu.log" "$dir/qemu-$try.log"
    # A note is written once.
    [[ "; $notes; " == *"; $why; "* ]] || notes+=${notes:+; }$why
    ((status == 2)) || break
  done
  guest_note="did not boot at try $try: $notes"
  return 1
}

# guest_run FILE|-: a bash script, in the guest; its output and exit status. 255: the guest is gone.
guest_run() { guest_in_netns python3 -I "$kernels_here/client.py" "$guest_port" run "$1"; }
guest_put() { guest_in_netns python3 -I "$kernels_here/client.py" "$guest_port" put "$@"; }
guest_get() { guest_in_netns python3 -I "$kernels_here/client.py" "$guest_port" get "$@"; }

guest_stop() {
  [[ $guest_pid ]] || return 0
  kill -KILL "$guest_pid" 2>/dev/null # nothing of it is kept
  wait "$guest_pid" 2>/dev/null
  guest_pid=
  rm -f "$guest_dir/initrd"
}
