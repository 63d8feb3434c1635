#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh VERSION WORK FILE: an OCI image for amd64 and arm64 of the programs staged in WORK, made by buildah without a daemon, as
# an archive of OCI's layout. Root runs in it, as pins and XDP are root's; what it may do is what `podman run --cap-add` names.
set -euo pipefail
version=$1 work=$2 file=$3
store=$work/containers
export BUILDAH_ISOLATION=chroot
in_store=(buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs)
rm -rf "$store" "$file"
list=xdp-roce-$version
"${in_store[@]}" manifest create "$list"
for arch in amd64 arm64; do
  tree=$work/$arch/image
  rm -rf "$tree"
  mkdir -p "$tree"/{etc,run/xdp-roce,tmp,usr/share/terminfo}
  cp -a "$work/$arch/stage/usr/bin" "$tree/usr/bin"
  cp -a "$work/$arch/stage/usr/share/xdp-roce" "$tree/usr/share/xdp-roce"
  mkdir -p "$tree/usr/share/doc/xdp-roce"
  cp -a "$work/$arch/stage/usr/share/doc/xdp-roce/"{copyright,licences} "$tree/usr/share/doc/xdp-roce/"
  # The terminals that `watch` may find itself in.
  for terminal in xterm xterm-256color screen screen-256color tmux tmux-256color linux vt100; do
    infocmp -x "$terminal" 2>/dev/null | tic -x -o "$tree/usr/share/terminfo" - 2>/dev/null || true
  done
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  container=$("${in_store[@]}" from --arch "$arch" scratch)
  "${in_store[@]}" copy "$container" "$tree" /
  "${in_store[@]}" config --arch "$arch" --os linux --user 0:0 --env PATH=/usr/bin --env TERM=xterm --workingdir / \
    --entrypoint '["/usr/bin/xdp-roce"]' --cmd '["--help"]' --port 9479 \
    --label org.opencontainers.image.title=xdp-roce --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses="Apache-2.0 AND GPL-2.0-only" \
    --label "org.xdp-roce.capabilities.export=CAP_BPF" \
    --label "org.xdp-roce.capabilities.attach=CAP_BPF CAP_NET_ADMIN CAP_PERFMON CAP_SYS_ADMIN" \
    --label "org.xdp-roce.capabilities.send=CAP_BPF CAP_NET_ADMIN CAP_NET_RAW CAP_PERFMON CAP_SYS_ADMIN" "$container"
  "${in_store[@]}" commit --timestamp "$SOURCE_DATE_EPOCH" --rm --manifest "$list" "$container"
done
"${in_store[@]}" manifest push --all "$list" "oci:$store/layout:xdp-roce:$version"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$store/layout" -cf "$file" .
rm -rf "$store"
