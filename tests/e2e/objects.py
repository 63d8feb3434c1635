#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""objects.py list|remember: BPF objects of one scenario, whatever else the machine runs. lib.sh sets the environment:

XR_BPFFS    the bpffs of the scenario; all pins in it are its own
XR_MARK     is in the environment of its processes
XR_NETNS    its namespaces begin with that; XR_MACHINE=ours: all namespaces and processes are its own (a guest)
XR_MEMORY   a file for ids

What keeps an object in the kernel is a pin, a hook of an interface or a process. `list` prints a line for each that is the
scenario's, and one for each object that `remember` found there before, that nothing of these keeps now and that is not freed."""
import ctypes
import json
import os
import platform
import subprocess
import sys

BPF_OBJ_GET = 7
SYSCALL = 321 if platform.machine() == "x86_64" else 280
KINDS = ("map_id", "prog_id", "link_id")


def ids_of(fdinfo):
    """What kind of object a file descriptor is, and its ids: a link has its program's too."""
    try:
        with open(fdinfo, encoding="ascii", errors="replace") as lines:
            pairs = (line.split(":", 1) for line in lines if ":" in line)
            return {key: int(value) for key, value in pairs if key in KINDS}
    except (OSError, ValueError):
        return {}


def pinned(path):
    class Attributes(ctypes.Structure):
        _fields_ = [("pathname", ctypes.c_uint64), ("fd", ctypes.c_uint32), ("flags", ctypes.c_uint32)]

    name = ctypes.create_string_buffer(path.encode())
    attributes = Attributes(ctypes.addressof(name), 0, 0)
    fd = ctypes.CDLL(None).syscall(SYSCALL, BPF_OBJ_GET, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if fd < 0:
        return {}
    try:
        return ids_of(f"/proc/self/fdinfo/{fd}")
    finally:
        os.close(fd)


def pins(bpffs):
    for folder, _, files in os.walk(bpffs):
        for file in files:
            path = os.path.join(folder, file)
            if path in (f"{bpffs}/maps.debug", f"{bpffs}/progs.debug"):
                continue  # the kernel's own, in each bpffs
            yield f"pin {os.path.relpath(path, bpffs)}", pinned(path)


def is_ours(pid):
    if os.environ.get("XR_MACHINE") == "ours":
        return True
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return f"XR_MARK={os.environ['XR_MARK']}".encode() in environ.read().split(b"\0")
    except OSError:
        return False


def held():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid() or not is_ours(pid):
            continue
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if not os.readlink(f"/proc/{pid}/fd/{fd}").startswith("anon_inode:bpf"):
                    continue
                ids = ids_of(f"/proc/{pid}/fdinfo/{fd}")
                yield f"process {pid} " + " ".join(f"{key} {value}" for key, value in ids.items()), ids
        except OSError:
            continue  # it has ended, or closed the descriptor


def namespaces():
    """A namespace of `run` is its process's; where that is dead, the caller's: it was not removed."""
    for name in sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else []:
        run = name.split("-")[2] if name.startswith("xr-run-") else None
        if os.environ.get("XR_MACHINE") == "ours" or name.startswith(os.environ["XR_NETNS"]):
            yield name, False
        elif run and run.isdigit() and (not os.path.exists(f"/proc/{run}") or is_ours(run)):
            yield name, True


def bpftool(*words, netns=None):
    inside = ["nsenter", f"--net=/run/netns/{netns}"] if netns else []
    done = subprocess.run([*inside, "bpftool", "-j", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return []  # the namespace has gone


def hooks():
    where = list(namespaces())
    if os.environ.get("XR_MACHINE") == "ours":
        where.append((None, False))
    for netns, of_run in where:
        if of_run:
            yield f"namespace {netns}", {}
        for kinds in bpftool("net", "show", netns=netns):
            for kind in ("xdp", "tc"):
                for hook in kinds.get(kind, []):
                    ids = {"prog_id": hook["id"]} if "id" in hook else {}
                    yield f"hook {netns or ''} {hook.get('devname')} {kind} prog {hook.get('id')}", ids


def remembered():
    try:
        with open(os.environ["XR_MEMORY"], encoding="ascii") as lines:
            return {(kind, int(number)) for kind, number in (line.split() for line in lines)}
    except FileNotFoundError:
        return set()


def main():
    roots = list(pins(os.environ["XR_BPFFS"])) + list(hooks()) + list(held())
    programs = {program["id"]: program for program in bpftool("prog", "list")}
    kept = {(key, number) for _, ids in roots for key, number in ids.items() if key != "link_id"}
    for key, number in list(kept):
        if key == "prog_id":
            kept |= {("map_id", of) for of in programs.get(number, {}).get("map_ids", [])}
    if sys.argv[1] == "remember":
        with open(os.environ["XR_MEMORY"], "a", encoding="ascii") as memory:
            memory.writelines(f"{kind} {number}\n" for kind, number in sorted(kept - remembered()))
        return
    lines = {line for line, _ in roots}
    alive = {("prog_id", number) for number in programs}
    alive |= {("map_id", of["id"]) for of in bpftool("map", "list")}
    lines |= {f"alive {kind} {number}" for kind, number in (remembered() - kept) & alive}
    print("\n".join(sorted(lines)))


main()
