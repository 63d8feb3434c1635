#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd.sh [DIR]: the units of the package under a real systemd: boots Debian 12 with its own kernel from a disk, and runs
# systemd/checks.sh there, over a reboot. The tree is what `cmake --install` makes of build/release.
# Results, a line each, are in DIR/results.tsv (build/test/systemd):
#   pass|skip|fail  debian12  -  systemd  CHECK  SECONDS  REASON
# XR_STATIC: a static program instead of the one of build/release. XR_KEEP: the disk is left in DIR.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$root/build/test/systemd}
cache=$root/build/kernels
. "$here/../../tools/archive.sh"
. "$here/guest.sh"
mkdir -p "$out" "$cache/debs/partial"
exec 9>"$cache/lock" # prepare.sh downloads there, too
rm -f "$out"/*.{tsv,log}
disk=$out/disk stage=$out/stage boot=$out/boot
limit=1200 # seconds, for both boots

packages=(
  systemd systemd-sysv udev dbus kmod iproute2 bash dash coreutils util-linux mount grep sed gawk curl jq base-passwd
  base-files libbpf1 libxdp1 linux-image-cloud-amd64
)
# What was built on this machine may need the newest C and C++ libraries.
runtime=(libc6 libc-bin libgcc-s1 libstdc++6)

result() { printf '%s\tdebian12\t-\tsystemd\t%s\t%s\t%s\n' "$@" >>"$out/results.tsv"; }
give_up() {
  result "$1" boot 0 "$2"
  printf 'debian12: boot: %s: %s\n' "$1" "$2"
  rm -rf "$stage" "$boot"
  [[ $1 == skip ]]
  exit
}

# unpacked DIR: Debian 12 and its kernel, by no maintainer script.
unpacked() {
  local list files
  archive_open bookworm || return 1
  list=$(archive_closure bookworm "${packages[@]}" 2>>"$out/prepare.log") || { why="the guest's packages cannot be had"; return 1; }
  mapfile -t files <<<"$list"
  rm -rf "$1"
  mkdir -p "$1"/usr/{bin,sbin,lib,lib64}
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$1/$dir"; done
  archive_unpack "$1" "${files[@]}" || { why="the guest's packages cannot be unpacked"; return 1; }
  if [[ ! ${XR_STATIC:-} ]] && ! grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release; then
    archive_open trixie || return 1
    list=$(archive_files trixie "${runtime[@]}" 2>>"$out/prepare.log") || { why="Debian 13's C library cannot be had"; return 1; }
    mapfile -t files <<<"$list"
    archive_unpack "$1" "${files[@]}" || { why="Debian 13's C library cannot be unpacked"; return 1; }
  fi
  rm -rf "$1"/usr/share/{doc,man,locale,info,zoneinfo,i18n}
}

# What the packages' scripts would have done.
set_up() {
  cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
  cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
  printf 'messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\n' >>"$1/etc/passwd"
  printf 'messagebus:x:100:\n' >>"$1/etc/group"
  ln -sf dash "$1/usr/bin/sh"
  ln -sf gawk "$1/usr/bin/awk"
  echo guest >"$1/etc/hostname"
  echo '5dd0a5f2a0c34b6c9d0e5c3b7c1f4a11' >"$1/etc/machine-id"
  echo '/dev/vda / ext4 defaults 0 0' >"$1/etc/fstab"
  mkdir -p "$1"/{dev,proc,sys,run,tmp,root,checks} "$1/var/log/journal"
  PATH=/usr/sbin:/sbin:$PATH depmod -b "$1" "$2" || return 1
  cp "$here"/systemd/10-* "$1/etc/systemd/network/"
  cp "$here"/systemd/checks.sh "$1/checks/"
  cp "$here"/systemd/checks.service "$1/etc/systemd/system/"
  systemctl --root="$1" -q enable checks.service systemd-networkd.service || return 1
  # What a guest without a console and the net need not wait for.
  systemctl --root="$1" -q mask systemd-networkd-wait-online.service systemd-resolved.service systemd-timesyncd.service \
    getty@tty1.service serial-getty@ttyS0.service serial-getty@ttyS1.service
}

# install_in DIR: the program, its libraries and its units.
install_in() {
  local name path
  DESTDIR=$1 cmake --install "$root/build/release" --prefix /usr >>"$out/prepare.log" 2>&1 || return 1
  if [[ ${XR_STATIC:-} ]]; then
    cp "$XR_STATIC" "$1/usr/bin/xdp-roce"
  else
    ldd "$1/usr/bin/xdp-roce" | awk '$2 == "=>" && $3 ~ "/" { print $1, $3 }' | while read -r name path; do
      [[ -e $1/usr/lib/x86_64-linux-gnu/$name ]] || install -D -m 644 "$path" "$1/usr/lib/x86_64-linux-gnu/$name"
    done
  fi
  strip "$1/usr/bin/xdp-roce"
  for name in one two; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1/checks/$name.key" -out "$1/checks/$name.pem" \
      -days 3650 -subj "/CN=$name" -addext 'subjectAltName = IP:127.0.0.1' 2>>"$out/prepare.log" || return 1
  done
  # The password is geheim.
  cat >"$1/checks/web.yml" <<'S'
tls_server_config: {cert_file: server.pem, key_file: server.key}
basic_auth_users:
  alice: $2b$04$oPm9a8DRQ88jjOtadqgLHu6zJopW8ZDjRqnpHvOfCvtqhoB2cRMgy
S
}

# initrd FROM VERSION: busybox, and the modules of the disk's driver.
initrd() {
  local file module busybox
  rm -rf "$boot"
  mkdir -p "$boot"/{bin,dev,disk,modules}
  busybox=$(archive_files bookworm busybox-static 2>>"$out/prepare.log") && archive_unpack "$boot" "$busybox" || return 1
  rm -rf "${boot:?}/usr"
  for module in virtio_pci virtio_blk; do
    PATH=/usr/sbin:/sbin:$PATH modprobe -d "$1" -S "$2" -D "$module"
  done | sed -n 's/^insmod //p' | awk '!seen[$1]++ { print $1 }' | while read -r file; do
    cp "$file" "$boot/modules/" && basename "$file" >>"$boot/modules/order"
  done
  [[ -s $boot/modules/order ]] || return 1
  install -m 755 "$here/systemd/initrd" "$boot/init"
  (cd "$boot" && find . -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R +0:+0 --quiet) >"$out/initrd"
}

# The files of the disk are root's, for any caller.
make_disk() {
  local as=()
  ((EUID == 0)) || as=(unshare --map-root-user)
  rm -f "$disk"
  PATH=/usr/sbin:/sbin:$PATH "${as[@]}" mke2fs -q -t ext4 -d "$stage" "$disk" 1536M >>"$out/prepare.log" 2>&1
}

[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || give_up skip "guests are provided for amd64 with Debian's dpkg only"
trap guest_stop EXIT
trap 'exit 143' INT TERM HUP
begun=$SECONDS
flock 9
unpacked "$stage" || give_up skip "$why"
version=$(cd "$stage/usr/lib/modules" && echo *)
set_up "$stage" "$version" || give_up fail "the guest's tree cannot be made: see $out/prepare.log"
install_in "$stage" || give_up fail "cmake --install: see $out/prepare.log"
initrd "$stage" "$version" || give_up fail "the initrd cannot be made"
cp "$stage/boot/vmlinuz-$version" "$out/vmlinuz"
exec 9>&-
make_disk || give_up fail "the disk cannot be made: $(tail -n 1 "$out/prepare.log")"
rm -rf "$stage" "$boot"

accel=${XR_ACCEL:-$(guest_accel)} cpu=max,cx16=off
if [[ $accel == kvm ]]; then cpu=host; else accel=tcg,thread=single,tb-size=512; fi # see guest_start
guest_dir=$out
: >"$out/serial.log"
: >"$out/checks.log"
setpriv --pdeathsig KILL qemu-system-x86_64 -name xdp-roce-systemd -machine q35 -accel "$accel" -cpu "$cpu" -smp 2 -m 2048 \
  -nodefaults -no-user-config -display none -serial "file:$out/serial.log" -serial "file:$out/checks.log" \
  -kernel "$out/vmlinuz" -initrd "$out/initrd" \
  -append "console=ttyS0 panic=0 mitigations=off nokaslr quiet net.ifnames=0 systemd.unit=multi-user.target systemd.show_status=0" \
  -device virtio-rng-pci -drive "file=$disk,format=raw,if=none,id=disk,cache=unsafe" -device virtio-blk-pci,drive=disk \
  -netdev user,id=port,restrict=on -device virtio-net-pci,netdev=port,romfile= </dev/null >"$out/qemu.log" 2>&1 &
guest_pid=$!
while kill -0 "$guest_pid" 2>/dev/null && ((SECONDS - begun < limit)) && ! guest_panic >/dev/null; do sleep 1; done
tr -d '\r' <"$out/checks.log" >"$out/checks"
while IFS=$'\t' read -r _ kind check took reason; do
  result "$kind" "$check" "$took" "$reason"
  [[ $kind == pass ]] || printf 'debian12: %s: %s: %s\n' "$check" "$kind" "$reason"
done < <(grep -a $'^RESULT\t' "$out/checks")
sed -n 's/^FIGURE\t\([^\t]*\)\t/debian12: \1: /p' "$out/checks"
if ! grep -aqx END "$out/checks"; then
  why=$(guest_why | paste -sd ' ' | cut -c -200)
  result fail "the end" 0 "not reached in $((SECONDS - begun)) s: $why"
  printf 'debian12: the end was not reached: see %s\n' "$out/checks.log"
elif kill -0 "$guest_pid" 2>/dev/null; then
  result fail "power off" 0 "the guest does not end"
fi
guest_stop
[[ ${XR_KEEP:-} ]] || rm -f "$disk" "$out/initrd" "$out/vmlinuz"
! grep -q '^fail' "$out/results.tsv"
