# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Packages of any suite of Debian or (ubuntu/SUITE) of Ubuntu, without touching the packages of this machine: an apt with a sources
# list, lists, cache and (empty) status of its own for each suite and architecture, under $cache/apt. Sourced; set before:
#   archive_arch    amd64 by default
#   archive_also    security: the suite's security updates, too; sources: source packages, too
# shellcheck disable=SC2034,SC2154 # $cache comes from, and $why is for, the script that sources this

archive_ubuntu=http://archive.ubuntu.com/ubuntu
archive_arch=${archive_arch:-amd64} archive_also=${archive_also:-}

# The mirror that this machine's own sources name for Debian, or with `security` for its security updates.
archive_mirror() {
  # shellcheck disable=SC2016 # apt's own fields
  apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null | awk -v security="${1:-}" '
    security && $2 ~ /debian-security/ { print $2; exit }
    !security && $2 !~ /debian-security|debian-debug/ && ($1 == "Debian" || $2 ~ "/debian/$") { print $2; exit }'
}

# archive_home SUITE
archive_home() {
  local kind=$archive_also
  [[ $archive_arch == amd64 ]] || kind="$archive_arch $kind"
  printf '%s\n' "$cache/apt/$1${kind:+/${kind// /-}}"
}

# archive_apt SUITE PROGRAM ARGUMENT...: apt-get or apt-cache of that suite.
archive_apt() {
  local home program=$2 apart
  home=$(archive_home "$1")
  apart=(-o Dir::Etc::sourcelist="$home/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null
    -o Dir::State="$home" -o Dir::State::status="$home/status" -o Dir::Cache="$home")
  shift 2
  "$program" "${apart[@]}" -o Dir::Cache::archives="$cache/debs" -o "APT::Architecture=$archive_arch" \
    -o "APT::Architectures=$archive_arch" -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=3 -o Debug::NoLocking=1 "$@" </dev/null
}

# The keys of Ubuntu's archive: Debian 13 has them as a package, signed by Debian's.
archive_ubuntu_keys() {
  local file
  keys=$cache/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg
  [[ ! -e $keys ]] || return 0
  archive_open trixie || return 1
  if ! file=$(archive_files trixie ubuntu-keyring) || ! archive_unpack "$cache/keys" "$file" || [[ ! -e $keys ]]; then
    why="the keys of Ubuntu's archive cannot be had"
    return 1
  fi
}

# archive_open SUITE: its lists, a week old at most where the mirror answers. On failure $why has the reason.
archive_open() {
  local suite=$1 home mirror more keys=/usr/share/keyrings/debian-archive-keyring.gpg
  home=$(archive_home "$1")
  mkdir -p "$home/lists/partial" "$cache/debs/partial"
  [[ -z $(find "$home/updated" -mtime -7 2>/dev/null) ]] || return 0
  if [[ $suite == ubuntu/* ]]; then
    mirror=$archive_ubuntu
    archive_ubuntu_keys || return 1
  else
    mirror=$(archive_mirror)
    [[ $mirror ]] || { why="no Debian mirror among this machine's apt sources"; return 1; }
    [[ -e $keys ]] || { why="no $keys (package debian-archive-keyring)"; return 1; }
  fi
  printf 'deb [signed-by=%s] %s %s main\n' "$keys" "$mirror" "${suite#ubuntu/}" >"$home/sources.list"
  if [[ $archive_also == *security* ]] && more=$(archive_mirror security) && [[ $more ]]; then
    printf 'deb [signed-by=%s] %s %s-security main\n' "$keys" "$more" "$suite" >>"$home/sources.list"
  fi
  [[ $archive_also != *sources* ]] || sed -i 'p; s/^deb /deb-src /' "$home/sources.list"
  : >"$home/status"
  if archive_apt "$suite" apt-get update -q -o APT::Update::Error-Mode=any >"$home/log" 2>&1; then
    touch "$home/updated"
  elif [[ ! -e $home/updated ]]; then
    why="suite $suite cannot be had: $(grep -E '^(E|W|Err)' "$home/log" | tail -n 1)"
    return 1
  fi
}

# archive_files SUITE PACKAGE...: downloads just these, and prints their files.
archive_files() {
  local suite=$1 package file
  shift
  for package; do
    file=$cache/debs/$(archive_apt "$suite" apt-cache show --no-all-versions "$package" 2>/dev/null |
      sed -n 's/^Package: /1 /p; s/^Version: /2 /p; s/^Architecture: /3 /p' | sort | cut -d ' ' -f 2 |
      paste -sd _ | sed 's/:/%3a/').deb # apt's name for it
    [[ $file != */.deb ]] || { echo "no package $package in $suite" >&2; return 1; }
    [[ -s $file ]] || (cd "$cache/debs" && archive_apt "$suite" apt-get download -q "$package" >&2) || return 1
    echo "$file"
  done
}

# archive_closure SUITE PACKAGE...: downloads these and all they depend on, and prints the files.
archive_closure() {
  local suite=$1
  shift
  archive_apt "$suite" apt-get install -q -y --download-only "$@" >&2 &&
    archive_apt "$suite" apt-get install -s "$@" | sed -nE \
      "s|^Inst ([^ ]+) \(([^ ]+) .*\[([^ ]+)\]\).*|\1_\2_\3.deb|p" | sed "s|:|%3a|; s|^|$cache/debs/|"
}

# archive_unpack DIR FILE...: contents only; nothing is installed, no maintainer script runs.
archive_unpack() {
  local dir=$1 file
  shift
  mkdir -p "$dir"
  for file; do
    dpkg-deb --fsys-tarfile "$file" | tar -x --keep-directory-symlink --no-same-owner -C "$dir" || return 1
  done
}

# archive_fetch DIR URI FILE SHA256: from Ubuntu's pool where the mirror does not have it, as some lack a few; the sum decides.
archive_fetch() {
  local uri
  for uri in "$2" "$archive_ubuntu/pool/${2##*/pool/}"; do
    ! printf '%s  %s\n' "$4" "$1/$3" | sha256sum --check --status 2>/dev/null || return 0
    /usr/lib/apt/apt-helper download-file "$uri" "$1/$3" "SHA256:$4" >/dev/null 2>&1 || rm -f "$1/$3"
  done
  printf '%s  %s\n' "$4" "$1/$3" | sha256sum --check --status 2>/dev/null
}

# archive_sources SUITE DIR PACKAGE...: downloads these source packages (sources in $archive_also) and unpacks each as DIR/PACKAGE,
# with Debian's patches where they can be had.
archive_sources() {
  local suite=$1 dir=$2 from=$cache/sources package uri file sum dsc orig patches
  shift 2
  mkdir -p "$from"
  for package; do
    dsc='' orig='' patches=''
    while read -r uri file _ sum; do
      archive_fetch "$from" "${uri//\'/}" "$file" "${sum#SHA256:}" || { echo "no $file" >&2; continue; }
      case $file in
        *.dsc) dsc=$file ;;
        *.orig.tar.*) orig=$file ;;
        *.debian.tar.*) patches=$file ;;
      esac
    done < <(archive_apt "$suite" apt-get source --print-uris --only-source "$package" | grep "^'http" | grep -v '[.]asc ')
    [[ $orig ]] || return 1
    rm -rf "${dir:?}/$package"
    if [[ $dsc && $patches ]]; then
      dpkg-source --no-check -x "$from/$dsc" "$dir/$package" >/dev/null || return 1
    else
      mkdir -p "$dir/$package" && tar -xf "$from/$orig" --strip-components 1 -C "$dir/$package" || return 1
    fi
  done
}
