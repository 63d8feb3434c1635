#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Metric tags; then PATCH of `serve`: flows change, come and go while others run, and what is sent arrives. XR_CHANGES: so many changes.
. "$(dirname "$0")/otg_lib.sh"
need python3
lane3
direct
before=$(kernel_objects)
judged_server tags.py "$left/direct0" "$right/direct1"
end_serve
judged_server changes.py "$left/direct0" "$right/direct1" "${XR_CHANGES:-1000}"
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
