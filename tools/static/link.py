#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""link.py BUILD ROOT PROGRAM: links what BUILD has compiled with the static libraries of ROOT (tools/static/root.sh) instead of this
machine's shared ones. A release compiles all again, with its own flags; this takes seconds, for a test of what is static about it."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

build, root, program = (pathlib.Path(path).resolve() for path in sys.argv[1:])
libraries = root / "usr/lib/x86_64-linux-gnu"

# The libraries that a static program has another way (XR_STATIC of their CMakeLists.txt): their files, or they are one (unity builds).
commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "userspace/cli/xdp-roce"], check=True, capture_output=True,
                          text=True).stdout.splitlines()
others = []
for line in commands:
    if " -c " not in line or not re.search("/xr_(rate|otg_grpc).dir/", line):
        continue
    words = [word for word in shlex.split(line) if not word.endswith("ccache")]
    others.append(program.with_suffix(f".{len(others)}.o"))
    words[words.index("-o") + 1] = str(others[-1])
    subprocess.run(words + ["-DXR_STATIC"], check=True, cwd=build)
if not others:
    sys.exit("link.py: nothing of xr_rate and xr_otg_grpc was compiled")

link = shlex.split(next(line for line in reversed(commands) if re.search(r" -o userspace/cli/xdp-roce ", line)))
link = [word for word in link if word not in (":", "&&") and not word.startswith("-Wl,-rpath")]
link[link.index("-o") + 1] = str(program)
static, shared = [], 0
for word in link:
    name = re.match(r"/usr/lib/.*/(lib[\w+-]+(?:\.[\d.]+)?)\.so", word)
    if name:
        shared += 1
        word = str(libraries / f"{re.sub(r'[.].*', '', name.group(1))}.a")
        if not os.path.exists(word):
            sys.exit(f"link.py: there is no static form of {name.group(0)}")
    static.append(word)
if not shared:
    sys.exit("link.py: nothing was shared")
ours = [word for word in static if word.endswith(".a") and not word.startswith(str(root))]
first = static.index(ours[0])
# Archives refer to each other in any order.
theirs = [str(libraries / f"lib{name}.a") for name in ("bpf", "xdp", "elf", "z", "tinfo", "ssl", "crypto", "crypt", "fmt", "yaml-cpp")]
subprocess.run(static[:first] + ["-static-pie", *map(str, others), "-Wl,--start-group"] + static[first:] + theirs + ["-Wl,--end-group"], check=True,
               cwd=build)
for other in others:
    other.unlink()
