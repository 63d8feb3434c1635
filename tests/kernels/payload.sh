#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# payload.sh FILE [BUILD]: a cpio of what the guests test: the programs of BUILD (build/release), stripped, the libraries
# they load here, and the scenarios, all at the paths they have here. XR_KERNELS_ALL: with the tests of the label `bpf`,
# and what `export` is tested with.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
file=$1 build=${2:-$root/build/release}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

programs=(userspace/cli/xdp-roce tests/e2e/replay)
if [[ ${XR_KERNELS_ALL:-} ]]; then
  mapfile -O 2 -t programs < <(cd "$build" && find tests/bpf -maxdepth 1 -type f -name '*_test')
fi
for program in "${programs[@]}"; do
  mkdir -p "$stage$root/build/release/$(dirname "$program")"
  strip -o "$stage$root/build/release/$program" "$build/$program"
done
mkdir -p "$stage$root/tests/kernels"
cp -a "$root"/tests/{e2e,data} "$stage$root/tests/"
cp -a "$here/scenarios" "$stage$root/tests/kernels/"
if [[ ${XR_KERNELS_ALL:-} ]]; then
  mkdir -p "$stage$root/tools"
  cp -a "$root/tools/grafana" "$stage$root/tools/"
fi

# Another XDP program beside ours.
mkdir -p "$stage$root/build/release/tests/kernels"
"${BPF_CLANG:-clang}" -O2 -g -target bpf "-I/usr/include/$(uname -m)-linux-gnu" -c "$here/scenarios/other.bpf.c" \
  -o "$stage$root/build/release/tests/kernels/other.bpf.o"
rm "$stage$root/tests/kernels/scenarios/other.bpf.c"

# The userland has the C library and those of libxdp's world; the rest comes along.
for program in "${programs[@]}"; do ldd "$build/$program"; done | awk '$2 == "=>" && $3 ~ "/" { print $1, $3 }' |
  sort -u | grep -vE '^(libc|libm|libgcc_s|libstdc\+\+|libxdp|libbpf|libelf|libz|libzstd|ld-linux[^.]*)\.so' |
  while read -r name path; do install -D -m 644 "$path" "$stage/usr/lib/x86_64-linux-gnu/$name"; done
(cd "$stage" && find . -mindepth 1 -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R +0:+0 --quiet) >"$file.new"
mv "$file.new" "$file"
