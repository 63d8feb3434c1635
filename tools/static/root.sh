#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# root.sh ARCH DIR: what a static xdp-roce for ARCH (amd64 or arm64) is linked from, in DIR/root: libraries and headers of
# Debian 12 with its security updates, unpacked, and from its source packages what it has no static library of. DIR/packages
# has a line for each file: PATH-IN-ROOT PACKAGE SOURCE VERSION. Nothing is installed on this machine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
arch=$1
mkdir -p "$2"
dir=$(readlink -f "$2")
# shellcheck disable=SC2034 # for archive.sh
cache=$(cd "$here/../.." && pwd)/build/archive
case $arch in
  amd64) triple=x86_64-linux-gnu ;;
  arm64) triple=aarch64-linux-gnu ;;
  *)
    echo "$0: there is no architecture '$arch'; there are: amd64 arm64" >&2
    exit 2
    ;;
esac
# shellcheck disable=SC2034 # for archive.sh
archive_arch=$arch archive_also='security sources'
# shellcheck source=tools/archive.sh
. "$here/../archive.sh"

suite=bookworm
# With static libraries, or headers only; the last two are for the unit programs (tools/test arm64).
binary=(
  libbpf-dev libxdp-dev libelf-dev zlib1g-dev libssl-dev libncurses-dev libcrypt-dev
  libcli11-dev nlohmann-json3-dev linux-libc-dev libgtest-dev libgmock-dev
)
source=(libmnl libisal libpcap yaml-cpp fmtlib spdlog prometheus-cpp cpp-httplib)
root=$dir/root prefix=$dir/root/usr

die() { printf 'release: %s\n' "$*" >&2; exit 1; }
# made PACKAGE COMMAND...: builds a source package and installs it in the root.
made() {
  local package=$1 log=$dir/$1.log version
  shift
  version=$(archive_apt $suite apt-cache showsrc --only-source "$package" | sed -n 's/^Version: //p' | head -n 1)
  touch "$dir/before"
  "$@" "$package" >"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; die "$package: $* failed"; }
  find "$root" -type f -cnewer "$dir/before" -printf "%P\t$package\t$package\t$version\n" >>"$dir/packages"
}

made_by=$(sha256sum <"$here/root.sh")
archive_open $suite || die "${why:-}"
mapfile -t files < <(archive_files $suite "${binary[@]}")
((${#files[@]} == ${#binary[@]})) || die "some of these cannot be downloaded: ${binary[*]}"
wanted=$(printf '%s\n' "$made_by" "${files[@]##*/}"
  for package in "${source[@]}"; do archive_apt $suite apt-cache showsrc --only-source "$package" | sed -n 's/^Version: //p'; done)
[[ ! -e $dir/made || $(<"$dir/made") != "$wanted" ]] || exit 0

rm -rf "$dir"
mkdir -p "$root" "$dir/build"
archive_unpack "$root" "${files[@]}"
for file in "${files[@]}"; do
  package=$(dpkg-deb -f "$file" Package) from=$(dpkg-deb -f "$file" Source) version=$(dpkg-deb -f "$file" Version)
  [[ $from ]] || from=$package
  [[ $from != *\ \(* ]] || { version=${from##*\(} version=${version%\)} from=${from% \(*}; }
  dpkg-deb --fsys-tarfile "$file" | tar -t | sed -n "s|^\./||; /\/\$/!s|\$|\t$package\t$from\t$version|p" >>"$dir/packages"
done
# Headers of one architecture are where a compiler for another machine finds them, too.
cp -rn "$prefix/include/$triple/." "$prefix/include/"
sed -n "s|^usr/include/$triple/|usr/include/|p" "$dir/packages" >"$dir/headers"
cat "$dir/headers" >>"$dir/packages"
# A program that finds no shared library takes the static one.
find "$root" -name '*.so*' \( -type f -o -type l \) -delete
archive_sources $suite "$dir/source" "${source[@]}" || die "the sources cannot be had"

jobs=$(nproc)
# Equal bytes wherever it is built.
export SOURCE_DATE_EPOCH=0 ARFLAGS=Dcr
flags="-O2 -g1 -fPIC -ffunction-sections -fdata-sections -ffile-prefix-map=$dir=."
export CFLAGS=$flags CXXFLAGS=$flags CC=$triple-gcc CXX=$triple-g++ AR=$triple-ar RANLIB=$triple-ranlib
export PKG_CONFIG_LIBDIR=$prefix/lib/$triple/pkgconfig:$prefix/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root

# by_configure OPTION... NAME
by_configure() {
  cd "$dir/source/${!#}" &&
    { [[ -e configure ]] || autoreconf -fi; } &&
    ./configure --host="$triple" --prefix=/usr --libdir="/usr/lib/$triple" --enable-static --disable-shared "${@:1:$#-1}" &&
    make -j "$jobs" && make install DESTDIR="$root"
}
# by_cmake OPTION... NAME
by_cmake() {
  cmake -G Ninja -S "$dir/source/${!#}" -B "$dir/build/${!#}" -DCMAKE_TOOLCHAIN_FILE="$here/$arch.cmake" -DXR_ROOT="$root" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$triple" -DBUILD_SHARED_LIBS=OFF "${@:1:$#-1}" &&
    ninja -C "$dir/build/${!#}" -j "$jobs" && DESTDIR=$root ninja -C "$dir/build/${!#}" install
}
# Its build makes two files of the one header.
httplib() {
  # shellcheck disable=SC2086 # words
  cd "$dir/source/cpp-httplib" && python3 ./split.py -o split &&
    $CXX $flags -std=c++11 -DCPPHTTPLIB_OPENSSL_SUPPORT -DCPPHTTPLIB_ZLIB_SUPPORT -I"$prefix/include" -I"$prefix/include/$triple" \
      -c split/httplib.cc -o httplib.o &&
    $AR Dcr "$prefix/lib/$triple/libcpp-httplib.a" httplib.o && cp split/httplib.h "$prefix/include/" || return
  cat >"$prefix/lib/$triple/pkgconfig/cpp-httplib.pc" <<PC
Name: cpp-httplib
Description: A C++ HTTP/HTTPS server and client library
Version: $(sed -n 's/^#define CPPHTTPLIB_VERSION "\(.*\)"/\1/p' httplib.h)
Requires.private: libssl libcrypto zlib
Cflags: -I/usr/include -DCPPHTTPLIB_OPENSSL_SUPPORT -DCPPHTTPLIB_ZLIB_SUPPORT
Libs: -L/usr/lib/$triple -lcpp-httplib
PC
}

made libmnl by_configure
made libisal by_configure
# Only its file formats and filters are used.
made libpcap by_configure --disable-dbus --disable-usb --disable-bluetooth --disable-rdma --without-libnl --disable-universal
made yaml-cpp by_cmake -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_BUILD_SHARED_LIBS=OFF
made fmtlib by_cmake -DFMT_TEST=OFF -DFMT_DOC=OFF
made spdlog by_cmake -DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF -DSPDLOG_BUILD_TESTS=OFF
made prometheus-cpp by_cmake -DENABLE_PULL=OFF -DENABLE_PUSH=OFF -DENABLE_TESTING=OFF -DENABLE_COMPRESSION=OFF -DUSE_THIRDPARTY_LIBRARIES=OFF
made cpp-httplib httplib
find "$root" -name '*.la' -delete
printf '%s\n' "$wanted" >"$dir/made"
