#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/distributions/run.sh NAME CHROOT RESULTS: in the distribution NAME (debian13, ubuntu2404, ubuntu2604), as a new user has it:
# tools/setup --test, the build, and the tests labelled unit and bpf, with its GCC, libbpf, libxdp and each of its clangs. Needs root.
#
# CHROOT is made by debootstrap at the first run, from the archive that this machine's apt uses, or Ubuntu's. It
# is kept, with its packages, its build and its ccache, for the next run. ctest's results are
# RESULTS/LABEL-NAME.xml. All is mounted in a mount namespace of its own, so that nothing stays
# mounted however this ends.
set -euo pipefail

tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=$1
case $name in
  debian13) suite=trixie ;;
  ubuntu2404) suite=ubuntu/noble ;;
  ubuntu2604) suite=ubuntu/resolute ;;
  *)
    echo "$0: there is no distribution '$name'; there are: debian13 ubuntu2404 ubuntu2604" >&2
    exit 2
    ;;
esac
mkdir -p "$2" "$3"
chroot=$(readlink -f "$2") results=$(readlink -f "$3")
[[ ${XR_MOUNTS:-} == own ]] ||
  XR_MOUNTS=own exec unshare --mount --propagation private bash "${BASH_SOURCE[0]}" "$name" "$chroot" "$results"

say() { printf '%s\n' "$*"; }
# quietly NAME COMMAND...: shows what the command printed only when it fails.
quietly() {
  local log=$results/$name-$1.log
  shift
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 60 "$log"
  return 1
}

# Where apt takes this machine's own release from: in either format of its lists.
debian_archive() {
  local release
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  {
    awk -v release="$release" '
      FNR == 1 || /^[[:space:]]*$/ { uri = "" }
      $1 == "URIs:" { uri = $2 }
      $1 == "Suites:" { for (i = 2; i <= NF; i++) if ($i == release) print uri }
    ' /dev/null /etc/apt/sources.list.d/*.sources 2>/dev/null || true
    sed -nE "s/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+${release}[[:space:]].*/\2/p" \
      /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true
  } | grep -m 1 .
}

if [[ ! -e $chroot/.installed ]]; then
  say "$name: installing ${suite#ubuntu/}"
  rm -rf --one-file-system "$chroot"
  mkdir -p "$chroot"
  if [[ $suite == ubuntu/* ]]; then
    # shellcheck disable=SC2034 # archive.sh reads it
    cache=$tree/build/kernels
    . "$tree/tools/archive.sh"
    archive_ubuntu_keys || { say "$name: ${why:-}"; exit 1; }
    # Its script is the same for all releases since gutsy; debootstrap does not know the name of a release younger than itself.
    from=(--keyring="$keys" "--components=main,universe")
    of=("${suite#ubuntu/}" "$chroot" "$archive_ubuntu" gutsy)
  else
    mirror=$(debian_archive) || { say "$name: apt's lists name no archive of Debian"; exit 1; }
    from=()
    of=("$suite" "$chroot" "$mirror")
  fi
  quietly debootstrap debootstrap --variant=minbase --include=ca-certificates "${from[@]}" "${of[@]}"
  touch "$chroot/.installed"
fi

printf '#!/bin/sh\nexit 101\n' >"$chroot/usr/sbin/policy-rc.d" # no service starts in a chroot
chmod 755 "$chroot/usr/sbin/policy-rc.d"
apt-config dump | grep -E '^Acquire::https?::' >"$chroot/etc/apt/apt.conf.d/90machine" || true
cp -L /etc/resolv.conf "$chroot/etc/resolv.conf"
mkdir -p "$chroot/tree" "$chroot/var/build" "$chroot/var/cache/ccache"
mount --bind "$chroot" "$chroot" # ip-netns(8) needs a root that is a mount point
mount -t proc proc "$chroot/proc"
mount -t sysfs sysfs "$chroot/sys"
mount -t bpf bpf "$chroot/sys/fs/bpf"
mount --rbind /dev "$chroot/dev"
mount -t tmpfs tmpfs "$chroot/run"
mount --bind "$tree" "$chroot/tree"
mount -o remount,bind,ro "$chroot/tree"

# inside COMMAND: by the chroot's shell, in the tree.
inside() {
  chroot "$chroot" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR=/tree \
    CCACHE_NOHASHDIR=1 sh -c "cd /tree && $1"
}

say "$name: tools/setup --test"
quietly setup inside 'bash tools/setup --test'
# Beside the default one, each clang of this archive from 14 on: tests/bpf/CMakeLists.txt finds them.
# shellcheck disable=SC2016
quietly clangs inside '
  clangs=$(apt-cache pkgnames clang- | grep -xE "clang-(1[4-9]|2[0-9])")
  dpkg-query -W $clangs >/dev/null 2>&1 || apt-get install -q -y --no-install-recommends $clangs
  apt-get clean'
# shellcheck disable=SC2016
say "$name: $(inside '
  echo "$(gcc --version | sed -n 1p), libbpf $(pkg-config --modversion libbpf)," \
    "libxdp $(pkg-config --modversion libxdp), $(ls /usr/bin | grep -xE "clang-[0-9]+" | xargs)"')"

say "$name: building"
quietly build inside "
  cmake -S . -B /var/build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DXDP_ROCE_TESTS=ON \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache &&
  cmake --build /var/build -j $(nproc)"

status=0
for label in ${DISTRIBUTION_LABELS:-unit bpf}; do
  jobs=$(nproc)
  [[ $label == unit ]] || jobs=1
  rm -f "$chroot/var/build/$label.xml" "$results/$label-$name.xml"
  quietly "$label" inside "ctest --test-dir /var/build -L '^$label\$' -j $jobs --output-on-failure \
    --no-tests=error --output-junit /var/build/$label.xml" || status=1
  sed "s/<testcase name=\"/&$name./" "$chroot/var/build/$label.xml" >"$results/$label-$name.xml"
done
exit "$status"
