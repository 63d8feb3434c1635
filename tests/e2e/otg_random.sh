#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Configurations by chance from OTG's published model, and changes of one that is right: `serve` accepts them or says what is wrong and where, and
# nothing else. XR_SECONDS: so long.
. "$(dirname "$0")/otg_lib.sh"
need python3
lane3
direct
before=$(kernel_objects)
judged_server random_config.py "$left/direct0" "$right/direct1" "${XR_SECONDS:-20}"
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
