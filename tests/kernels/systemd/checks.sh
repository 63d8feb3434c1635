#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the guest, as a unit: the units of xdp-roce as they are installed, over a reboot. Each check is a line
# `RESULT pass|fail NAME SECONDS [REASON]` on the second serial line, `END` is the last one; systemd then switches the guest off.
set -uo pipefail
export LC_ALL=C.UTF-8
port='xdp-roce@port\x2d0' # port-0
work=/var/lib/checks
mkdir -p "$work"

fail() {
  printf 'FAIL: %s\n' "$*"
  exit 1
}
# wait_for SECONDS COMMAND...: an emulated processor is slow.
wait_for() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < until)) || return 1
    sleep 0.5
  done
}
# check NAME COMMAND...: in a subshell; `fail` ends it.
check() {
  local name=$1 begun=$SECONDS result=pass reason=
  shift
  if ! ("$@") >"$work/log" 2>&1; then
    result=fail reason=$(grep '^FAIL: ' "$work/log" | tail -n 1 | cut -c 7-)
    [[ $reason ]] || reason=$(tail -n 1 "$work/log")
    sed "s/^/$name: /" "$work/log"
    journalctl -b --no-pager -o cat -u 'xdp-roce*' -n 20 | sed "s/^/$name: journal: /"
  fi
  printf 'RESULT\t%s\t%s\t%s\t%s\n' "$result" "$name" $((SECONDS - begun)) "$(tr '\n\t' '  ' <<<"$reason" | cut -c -300)"
}

active() { systemctl is-active -q "$1"; }
attached() { [[ $(xdp-roce --json status "$1" 2>/dev/null | jq -r '.attachments[0].state') == attached ]]; }
begins() {
  wait_for 120 active "$1" || fail "$1 is not active: $(systemctl show -P Result "$1"), $(journalctl -b --no-pager -o cat -u "$1" -n 3 | paste -sd ' ')"
}
begins_on() { # UNIT PORT
  begins "$1"
  wait_for 30 attached "$2" || fail "$1 is active, and status of $2 says: $(xdp-roce --json status "$2" 2>&1 | jq -c '.attachments[0].state')"
}
# No process of the unit ended by a signal or with an error since this boot.
never_failed() {
  local said
  journalctl -b "${2:-0}" --no-pager -o cat -u "$1" >"$work/journal"
  # An attach that waits too long for another one is started again.
  ! grep -q 'does not finish' "$work/journal" || sed -i '/status=1\/FAILURE/d; /Failed with result .exit-code/d' "$work/journal"
  said=$(grep -E 'Failed with result|Main process exited|Control process exited|not permitted' "$work/journal") || return 0
  fail "$1: $(paste -sd ' ' <<<"$said")"
}
metrics() { curl -sf -m 20 "$@" http://127.0.0.1:9479/metrics; }
shows() { [[ $(metrics) == *"port=\"$1\""* ]]; }
counted() { metrics | awk -v port="$1" '/^xdp_roce_frames_total/ && index($0, "port=\"" port "\"") { sum += $NF } END { print sum + 0 }'; }
some_counted() { (($(counted "$1") > 0)); }

attach() {
  systemctl enable --now xdp-roce@eth0 "$port" || fail "enable --now ends with $?"
  begins_on xdp-roce@eth0 eth0
  begins_on "$port" port-0
}
exporter() {
  systemctl enable --now xdp-roce-exporter || fail "enable --now ends with $?"
  begins xdp-roce-exporter
  wait_for 60 shows eth0 || fail "the exporter does not show eth0: $(metrics -S 2>&1 | tail -n 1)"
  shows port-0 || fail "the exporter does not show port-0"
}
counts() {
  xdp-roce send port-1 --preset ipv4_rocev2_rc_send --rate 100pps --for 2s pmtu 1024 >"$work/sent" 2>&1 || fail "send: $(tail -n 1 "$work/sent")"
  wait_for 30 some_counted port-0 || fail "no frame of port-0 is counted"
}

# TLS and a user; a new certificate and a file that cannot be used, at reload.
over_tls() { curl -sf -m 20 --cacert "/checks/$1.pem" -u alice:geheim https://127.0.0.1:9479/metrics >"$work/metrics"; }
use_certificate() {
  install -m 644 "/checks/$1.pem" /etc/xdp-roce/server.pem
  install -m 600 "/checks/$1.key" /etc/xdp-roce/server.key
}
reload() {
  local drop_in=/etc/systemd/system/xdp-roce-exporter.service.d
  mkdir -p /etc/xdp-roce "$drop_in"
  use_certificate one
  install -m 600 /checks/web.yml /etc/xdp-roce/web.yml
  printf '[Service]\nEnvironment="OPTIONS=--listen [::]:9479 --web.config.file /etc/xdp-roce/web.yml"\n' >"$drop_in/web.conf"
  systemctl daemon-reload
  systemctl restart xdp-roce-exporter
  wait_for 60 over_tls one || fail "no answer over TLS: $(curl -sS -m 20 --cacert /checks/one.pem -u alice:geheim https://127.0.0.1:9479/metrics 2>&1 | tail -n 1)"
  local pid
  pid=$(systemctl show -P MainPID xdp-roce-exporter)
  use_certificate two
  systemctl reload xdp-roce-exporter || fail "reload ends with $?"
  wait_for 60 over_tls two || fail "the new certificate is not used after reload"
  ! over_tls one || fail "the old certificate is still used after reload"
  echo nonsense >/etc/xdp-roce/web.yml
  systemctl reload xdp-roce-exporter
  sleep 1
  over_tls two || fail "a file that cannot be used ends the exporter"
  [[ $pid == "$(systemctl show -P MainPID xdp-roce-exporter)" ]] || fail "reload started another process"
  rm -r "$drop_in"
  systemctl daemon-reload
  systemctl restart xdp-roce-exporter
  wait_for 60 shows eth0 || fail "no answer without the file"
}

otg() { curl -sf -m 60 "$@"; }
serve() {
  systemctl start xdp-roce-serve || fail "start ends with $?"
  begins xdp-roce-serve
  wait_for 60 otg http://127.0.0.1:8443/capabilities/version || fail "no answer: $(journalctl -b --no-pager -o cat -u xdp-roce-serve -n 3 | paste -sd ' ')"
  otg --data '{"ports": [{"name": "p", "location": "port-1"}]}' http://127.0.0.1:8443/config || fail "port-1 cannot be used"
  systemctl stop xdp-roce-serve
  [[ $(systemctl show -P Result xdp-roce-serve) == success ]] || fail "it ends with $(systemctl show -P Result xdp-roce-serve)"
}
wire() {
  local i
  for i in 0 1; do
    ip link add "wire$i" type veth peer name "far$i"
    ip link set "wire$i" up
    ip link set "far$i" up
  done
  mkdir -p /etc/xdp-roce
  echo 'PORTS=wire0 wire1' >/etc/xdp-roce/lab.wire
  systemctl start xdp-roce-wire@lab || fail "start ends with $?"
  wait_for 60 attached wire0 || fail "wire0 is not attached: $(journalctl -b --no-pager -o cat -u xdp-roce-wire@lab -n 3 | paste -sd ' ')"
  active xdp-roce-wire@lab || fail "it is not active"
  systemctl stop xdp-roce-wire@lab
  [[ $(systemctl show -P Result xdp-roce-wire@lab) == success ]] || fail "it ends with $(systemctl show -P Result xdp-roce-wire@lab)"
  ! attached wire0 || fail "wire0 is still attached"
  ip link del wire0
  ip link del wire1
}

# A port that goes takes its unit along; the unit starts when the port comes back.
gone() { [[ $(systemctl is-active "$port") == inactive ]]; }
device() {
  ip link del port-0
  wait_for 60 gone || fail "the unit of a port that is gone is $(systemctl is-active "$port")"
  ip link add port-0 type veth peer name port-1
  ip link set port-0 up
  ip link set port-1 up
  begins_on "$port" port-0
  wait_for 30 shows port-0 || fail "the exporter does not show port-0 again"
  [[ $(xdp-roce --json status | jq '[.attachments[] | select(.interface == "port-0")] | length') == 1 ]] || fail "$(xdp-roce status)"
}

# An attach that another one keeps waiting for too long is started again.
held() {
  systemctl stop xdp-roce@eth0
  flock -x /run/xdp-roce/lock sleep 24 &
  systemctl start --no-block xdp-roce@eth0
  begins_on xdp-roce@eth0 eth0
  journalctl -b --no-pager -o cat -u xdp-roce@eth0 | grep -q 'does not finish' || fail "it did not have to wait"
}

# exposed UNIT LIMIT: in tenths, of what systemd computes.
exposed() {
  local exposure
  exposure=$(systemd-analyze security --no-pager "$1" | sed -n 's/.*Overall exposure level for [^:]*: \([0-9.]*\).*/\1/p')
  printf 'FIGURE\texposure of %s\t%s\n' "$1" "$exposure" >/dev/ttyS1
  [[ $exposure ]] || fail "systemd-analyze security says nothing of $1"
  ((${exposure/./} <= $2)) || fail "$1: exposure $exposure, at most ${2%?}.${2: -1}"
}

# By a system call that is not allowed.
killed() { journalctl -b --no-pager -o cat -u "$1" | grep 'status=31/SYS'; }
# All units again, where a system call that is not allowed kills the process instead of failing.
denied() {
  local unit
  for unit in xdp-roce@ xdp-roce-wire@ xdp-roce-exporter xdp-roce-serve; do
    mkdir -p "/etc/systemd/system/$unit.service.d"
    printf '[Service]\nSystemCallErrorNumber=kill\nRestart=no\n' >"/etc/systemd/system/$unit.service.d/kill.conf"
  done
  systemctl daemon-reload
  systemctl restart xdp-roce@eth0 "$port" xdp-roce-exporter
  begins_on xdp-roce@eth0 eth0
  begins_on "$port" port-0
  begins xdp-roce-exporter
  wait_for 60 shows port-0 || fail "the exporter does not show port-0"
  counts
  reload
  serve
  wire
  ! killed 'xdp-roce*' || fail "$(killed 'xdp-roce*' | tail -n 1)"
  # That a denied one would be found.
  systemd-run -q --wait --unit denied -p 'SystemCallFilter=~uname' -p SystemCallErrorNumber=kill uname
  wait_for 20 killed denied.service || fail "a system call that is not allowed kills nothing"
}

no_failure() {
  local unit boot=$1
  for unit in 'xdp-roce@*' 'xdp-roce-*'; do never_failed "$unit" "$boot"; done
}
booted() {
  local failed
  systemctl is-system-running --wait >/dev/null || true
  failed=$(systemctl --failed --plain --no-legend | grep xdp-roce) || return 0
  fail "$(paste -sd ' ' <<<"$failed")"
}
again() {
  begins_on xdp-roce@eth0 eth0
  begins_on "$port" port-0
}
exporter_again() {
  begins xdp-roce-exporter
  wait_for 60 shows eth0 || fail "the exporter does not show eth0"
  wait_for 60 shows port-0 || fail "the exporter does not show port-0"
}

check "boot" booted
if [[ ! -e $work/before ]]; then
  check "attach by its unit" attach
  check "exporter" exporter
  check "counts" counts
  check "reload of the exporter" reload
  check "serve" serve
  check "wire" wire
  check "a port that goes and comes back" device
  check "a lock that another program holds" held
  check "rights: exporter" exposed xdp-roce-exporter.service 20
  check "rights: serve" exposed xdp-roce-serve.service 35
  check "rights: port" exposed xdp-roce@eth0.service 32
  check "rights: wire" exposed xdp-roce-wire@lab.service 35
  check "no unit failed" no_failure 0
  touch "$work/before"
  sync
  systemctl reboot
else
  check "attached again after a reboot" again
  check "exporter after a reboot" exporter_again
  check "counts after a reboot" counts
  check "no unit failed at the shutdown" no_failure -1
  check "no system call is denied" denied
  check "no unit failed after the reboot" no_failure 0
  echo END
  systemctl poweroff
fi
