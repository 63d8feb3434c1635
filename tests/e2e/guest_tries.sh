#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/guest.sh starts a guest again that panics or ends before its agent answers, and says what happened. With
# a QEMU of this scenario's own: on its n-th start it does the n-th word of $PLAN.
. "$(dirname "$0")/lib.sh"
need python3 setpriv
tree=$scratch/tree cache=$scratch/tree/build/kernels
mkdir -p "$tree/tests/kernels" "$cache/fake" "$scratch/bin"
cp "$here"/../kernels/{guest.sh,client.py} "$tree/tests/kernels"
touch "$cache/userland.cpio" "$cache"/fake/{modules.cpio,vmlinuz}
cat >"$scratch/bin/qemu-system-x86_64" <<'QEMU'
#!/bin/bash
for word; do
  case $word in
  file:*) serial=${word#file:} ;;
  user,*) port=${word##*127.0.0.1:} port=${port%%-*} ;;
  esac
done
echo >>"$STARTS"
start=$(wc -l <"$STARTS")
panic() { printf '[    4.1] Kernel panic - not syncing: start %s\r\n[    4.3] Kernel Offset: disabled\r\n' "$start" >"$serial"; }
case $(cut -d ' ' -f "$start" <<<"$PLAN") in
panics) panic ;;
panics_and_hangs)
  panic
  exec sleep 60
  ;;
refuses) echo 'qemu: no such machine' >&2 ;;
hangs)
  echo 'Booting' >"$serial"
  exec sleep 60
  ;;
answers) exec python3 -I -c '
import http.server, sys
class Agent(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"\n[exit status 0]\n")
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Agent).serve_forever()' "$port" ;;
esac
QEMU
chmod +x "$scratch/bin/qemu-system-x86_64"

# boots PLAN STATUS NOTE LOGS: what guest_boot returns and says, and the logs of single tries that it keeps.
boots() {
  : >"$scratch/starts"
  # shellcheck disable=SC2016 # the inner shell's
  PATH=$scratch/bin:$PATH PLAN=$1 STARTS=$scratch/starts XR_ACCEL=tcg bash -uc '
    . "$1/tests/kernels/guest.sh"
    trap guest_stop EXIT
    guest_boot fake "$1/dir" 3
    echo "$? $guest_note"' boots "$tree" >"$scratch/last.out" 2>"$scratch/last.err" || true
  assert_eq "$2 $3" "$(sed 's/in [0-9]* s:/in N s:/' "$scratch/last.out")" "status and note of: $1"
  assert_eq "$4" "$(find "$tree/dir" -name 'serial-*.log' -printf '%f\n' | sort | paste -sd ' ')" "logs of: $1"
}
panic='Kernel panic - not syncing: start'
boots 'answers' 0 '' ''
boots 'panics panics answers' 0 "booted at try 3: $panic 1; $panic 2" 'serial-1.log serial-2.log'
grep -q 'Kernel Offset' "$tree/dir/serial-1.log" || fail "the first try's log is not whole"
boots 'panics_and_hangs answers' 0 "booted at try 2: $panic 1" 'serial-1.log'
boots 'panics panics panics answers' 1 "did not boot at try 3: $panic 1; $panic 2; $panic 3" 'serial-1.log serial-2.log serial-3.log'
boots 'refuses refuses refuses' 1 'did not boot at try 3: qemu: no such machine' ''
# Not again: each try would take as long.
boots 'hangs answers' 1 'did not boot at try 1: no answer in N s: Booting' 'serial-1.log'
