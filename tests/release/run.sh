#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/release/run.sh DIST RESULTS [ROOT...]: tries what tools/release made in DIST. Each ROOT is the userland of a distribution
# (roots() below), unpacked in build/roots from its archive; its kernel is this machine's. A line for each check in
# RESULTS/release.tsv: pass|skip|fail, ROOT, CHECK, SECONDS, REASON; table.py makes the table of docs/installing.md. Needs root.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
dist=$(readlink -f "$1")
mkdir -p "$2"
results=$(readlink -f "$2")
shift 2
cache=$tree/build/archive
. "$tree/tools/archive.sh"
version=$(sed -n 's/^project(xdp-roce VERSION \([0-9.]*\).*/\1/p' "$tree/CMakeLists.txt")
scratch=$(mktemp -d /tmp/xr-release.XXXXXX)
trap 'rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 143' INT TERM

# NAME SUITE TEXT
roots() {
  cat <<'LIST'
debian11 bullseye Debian 11
debian12 bookworm Debian 12
debian13 trixie Debian 13
ubuntu2204 ubuntu/jammy Ubuntu 22.04
ubuntu2404 ubuntu/noble Ubuntu 24.04
musl musl musl and busybox
LIST
}
wanted=("$@")
((${#wanted[@]})) || mapfile -t wanted < <(roots | cut -d ' ' -f 1)

# result KIND ROOT CHECK SECONDS [REASON]
result() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${5:-}" >>"$results/release.tsv"
  printf '%s: %s: %s%s\n' "$2" "$3" "$1" "${5:+: $5}"
}
# check ROOT CHECK COMMAND...
check() {
  local root=$1 name=$2 begin=$SECONDS status=0 reason
  shift 2
  "$@" >"$scratch/said" 2>&1 </dev/null || status=$?
  reason=$(tail -n 1 "$scratch/said")
  case $status in
    0) result pass "$root" "$name" $((SECONDS - begin)) ;;
    77) result skip "$root" "$name" $((SECONDS - begin)) "${reason#SKIP: }" ;;
    *)
      tail -n 30 "$scratch/said"
      result fail "$root" "$name" $((SECONDS - begin)) "$reason"
      ;;
  esac
  return "$status"
}

# make_root NAME SUITE: in $tree/build/roots/NAME.
make_root() {
  local name=$1 suite=$2 dir=$tree/build/roots/$1 files applet wanted
  [[ ! -e $dir/.made ]] || return 0
  rm -rf --one-file-system "$dir"
  mkdir -p "$dir"/{proc,sys,run,tmp,dev,root,etc}
  if [[ $name == musl ]]; then
    suite=bookworm
    wanted=(archive_files bookworm busybox-static musl)
  else
    [[ $suite == bullseye ]] || for applet in bin sbin lib lib64; do mkdir -p "$dir/usr/$applet" && ln -s "usr/$applet" "$dir/$applet"; done
    wanted=(archive_closure "$suite" base-files bash coreutils dash findutils grep sed gzip tar libc-bin ncurses-base)
  fi
  archive_open "$suite" && files=$("${wanted[@]}") || return
  # shellcheck disable=SC2086 # paths without spaces, a line each
  archive_unpack "$dir" $files || return
  if [[ $name == musl ]]; then
    # Alpine's layout: one C library, which is not glibc, and one program for all tools.
    for applet in $("$dir/bin/busybox" --list); do [[ -e $dir/bin/$applet ]] || ln -s busybox "$dir/bin/$applet"; done
  fi
  cp "$dir"/usr/lib/os-release "$dir/etc/os-release" 2>/dev/null
  touch "$dir/.made"
}

# The program as a command of this machine, run in a root: $scratch/ROOT/xdp-roce. What is mounted here is there as well, at that moment.
wrapper() {
  local dir=$1 file=$2
  cat >"$file" <<WRAPPER
#!/bin/bash
exec unshare --mount --propagation private bash -c '
  dir=\$1 where=\$PWD
  shift
  for mount in proc sys dev run tmp; do mount --rbind "/\$mount" "\$dir/\$mount"; done
  mkdir -p "\$dir$tree" && mount --rbind "$tree" "\$dir$tree"
  exec chroot "\$dir" /usr/local/bin/xdp-roce "\$@"' in-root "$dir" "\$@"
WRAPPER
  chmod 755 "$file"
}

# in_root DIR COMMAND...: in its /tmp.
in_root() {
  # shellcheck disable=SC2016 # the inner shells'
  env -i HOME=/root TERM=xterm PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin unshare --mount --propagation private bash -c '
    dir=$1
    shift
    mount -t proc proc "$dir/proc"
    exec chroot "$dir" /bin/sh -c "cd /tmp; exec \"\$@\"" in-root "$@"' in-root "$@"
}
install_in() {
  rm -rf "$1/root/xdp-roce"* "${1:?}/usr/local/"*
  tar -xzf "$dist/xdp-roce-$version-linux-x86_64.tar.gz" -C "$1/root" &&
    in_root "$1" "/root/xdp-roce-$version/install.sh" && in_root "$1" xdp-roce --version | grep -F "$version"
}
doctor_in() {
  # Its findings are about this machine; that it ends with them is what counts.
  in_root "$1" xdp-roce --json doctor >"$scratch/doctor" || (($? == 1))
  jq -e '.checks | length > 0' "$scratch/doctor"
}
analyze_in() {
  cp "$tree/tests/data/rc_send_cm_v4.pcap" "$1/tmp/capture.pcap" &&
    in_root "$1" xdp-roce --json analyze capture.pcap >"$scratch/there" &&
    (cd "$1/tmp" && "$scratch/here/bin/xdp-roce" --json analyze capture.pcap) >"$scratch/on_host" &&
    diff <(jq -S 'del(.run)' "$scratch/there") <(jq -S 'del(.run)' "$scratch/on_host") &&
    jq -e '.frames.total > 0' "$scratch/there"
}
run_in() {
  rm -rf "$1/tmp/out"
  in_root "$1" xdp-roce run third-flow --out out && [[ -s $1/tmp/out/report.html ]]
}
remove_in() {
  in_root "$1" "/root/xdp-roce-$version/install.sh" --remove || return
  [[ -z $(find "$1/usr/local" -name '*xdp-roce*') ]] || { find "$1/usr/local" -name '*xdp-roce*'; return 1; }
}
# package_in DIR FILE: by dpkg, with the scripts of the package; purged, it leaves nothing.
package_in() {
  local db=$1/var/lib/dpkg
  # What a run that failed left.
  dpkg --root="$1" --no-triggers --purge xdp-roce >"$scratch/purged" 2>&1 || true
  mkdir -p "$db/info" "$db/updates" && touch "$db/status" && find "$1" -name '*xdp-roce*' ! -path "$1/root/*" | sort >"$scratch/before"
  dpkg --root="$1" --no-triggers -i "$2" &&
    in_root "$1" xdp-roce --version | grep -F "$version" && in_root "$1" xdp-roce run --list | grep third-flow &&
    dpkg --root="$1" --no-triggers --purge xdp-roce &&
    find "$1" -name '*xdp-roce*' ! -path "$1/root/*" | sort | comm -13 "$scratch/before" - >"$scratch/left" && cat "$scratch/left" &&
    [[ ! -s $scratch/left ]]
}
packages_are_well_made() {
  local file
  for file in "$dist"/xdp-roce_"$version"*.deb; do lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$file" || return; done
  for file in "$dist"/xdp-roce-"$version"*.rpm; do
    rpm -qp --qf '%{NAME} %{VERSION} %{ARCH}\n' "$file" | grep -F "xdp-roce $version" || return
    # It is static on purpose, has the licence of each library, and is not signed.
    rpmlint "$file" >"$scratch/rpmlint" 2>&1 ||
      ! grep -E ': E: ' "$scratch/rpmlint" | grep -vE 'statically-linked-binary|files-duplicated-waste|no-signature' || return
  done
  mkdir -p "$scratch/rpm" &&
    rpm --root "$scratch/rpm" --nodeps --noscripts --ignorearch -i "$dist/xdp-roce-$version-1.x86_64.rpm" && "$scratch/rpm/usr/bin/xdp-roce" --version
}
# scenario NAME: one of tests/e2e, with the program that $XDP_ROCE names.
scenario() { ctest_environment bash "$tree/tests/e2e/$1" "${@:2}"; }
ctest_environment() { env XR_REPLAY="$tree/build/release/tests/e2e/replay" XR_DATA="$tree/tests/data" XR_BUILD="$tree/build/release" "$@"; }

# Static, position-independent, small and quick to start.
program_is_static() {
  local kind bytes
  kind=$(file -b "$1")
  echo "$kind"
  [[ $kind == *pie* && $kind != *interpreter* ]] || return
  ldd "$1" 2>&1 | grep -qE 'statically linked|not a dynamic' || return
  bytes=$(stat -c %s "$2")
  echo "$bytes bytes"
  ((bytes <= 12000000))
}

: >"$results/release.tsv"
archive=$dist/xdp-roce-$version-linux-x86_64.tar.gz
[[ -e $archive ]] || { result fail all archive 0 "there is no $archive: tools/release x86_64"; exit 1; }
mkdir "$scratch/unpacked"
tar -xzf "$archive" -C "$scratch/unpacked"
ln -s "unpacked/xdp-roce-$version" "$scratch/here"
check all "static, and its archive at most 12 MB" program_is_static "$scratch/here/bin/xdp-roce" "$archive"
sums_are_right() (cd "$dist" && sha256sum --check --quiet SHA256SUMS)
check all "its sums are right" sums_are_right

while read -r name suite text; do
  [[ " ${wanted[*]} " == *" $name "* ]] || continue
  dir=$tree/build/roots/$name why=''
  if ! make_root "$name" "$suite" >"$scratch/root.log" 2>&1; then
    result skip "$text" "its userland" 0 "${why:-$(tail -n 1 "$scratch/root.log")}"
    continue
  fi
  check "$text" "installed, --version" install_in "$dir" || continue
  check "$text" "doctor" doctor_in "$dir"
  check "$text" "analyze" analyze_in "$dir"
  check "$text" "run third-flow" run_in "$dir"
  wrapper "$dir" "$scratch/xdp-roce"
  export XDP_ROCE=$scratch/xdp-roce
  check "$text" "attach, counters" scenario capture_on_the_wire.sh rc_send_cm_v4
  check "$text" "rules" scenario impair_exact.sh
  unset XDP_ROCE
  check "$text" "removed" remove_in "$dir"
  deb=$dist/xdp-roce_$version-1_amd64.deb
  if [[ $name == musl ]]; then
    result skip "$text" "as a package" 0 "it has no dpkg"
  elif [[ ! -e $deb ]]; then
    result skip "$text" "as a package" 0 "there is no $deb"
  else
    check "$text" "as a package" package_in "$dir" "$deb"
  fi
done < <(roots)

if [[ -e $dist/xdp-roce-$version-1.x86_64.rpm ]]; then check all "lintian, rpmlint" packages_are_well_made; fi
# The image: both architectures, one of them here.
image=$dist/xdp-roce-$version-oci.tar
if [[ ! -e $image ]]; then
  result skip "image" "as an exporter, by podman" 0 "there is no $image"
else
  check "image" "as an exporter, by podman" ctest_environment XDP_ROCE="$tree/build/release/userspace/cli/xdp-roce" \
    bash "$here/image.sh" "$image" "$version"
fi
! grep -q '^fail' "$results/release.tsv"
