#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""other_abi.py PINS: an attached port becomes one of the next ABI, by the configuration in its folder of pins. The kernel freezes a
configuration, so another map takes its place."""
import json
import os
import subprocess
import sys

pin = os.path.join(sys.argv[1], "rodata")
new = pin + "_made"
entry = json.loads(subprocess.check_output(["bpftool", "-j", "map", "dump", "pinned", pin]))[0]
value = [int(byte, 16) for byte in entry["value"]]
value[0] += 1  # struct roce_config begins with it
subprocess.check_call(["bpftool", "map", "create", new, "type", "array", "key", "4", "value", str(len(value)), "entries", "1", "name", "rodata"])
subprocess.check_call(["bpftool", "map", "update", "pinned", new, "key", *"0000", "value", *map(str, value)])
os.remove(pin)
os.rename(new, pin)
