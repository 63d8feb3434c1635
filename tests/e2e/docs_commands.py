#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs_commands.py ROOT PROGRAM PREFIX WORK [PAGE|WORDS]: runs every command of README.md and of the pages in docs, block by block,
in network namespaces whose names begin with PREFIX and in the directory WORK; a few pages at once, each with namespaces and a
directory of its own (docs_commands.py ... --page PAGE). The ports that a block names are made for it, with
traffic. Durations are cut short. A command must end with status 0; one that goes on is interrupted, and must then do so.
Fails too where a command needs a file or a way of its own that this test does not know."""
import concurrent.futures
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

root, program, prefix, work = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
BOX, LEFT, RIGHT = (prefix + name for name in ("box", "left", "right"))
PATIENCE = float(os.environ.get("XR_PATIENCE", "1"))
FIRST = re.compile(r"(xdp-roce|gcc|ip|for|until|curl|kill|tools/otg/\S+) ")
# What other tests do, or what is for a machine of its own.
ELSEWHERE = re.compile(r"^(tools/|tar |podman |(sudo )?(apt|dnf) |\(cd build|cmake|git |helm |kubectl )")

# Words of the pages -> what is there, or what is shorter.
EDITS = [(r"--for \d+s", "--for 1s"), (r"\bfor \d+s\b", "for 1s"), (r"/tmp/incast", "incast"),
         (r"--at 20\S+Z", "--at +3s"), (r"DIR\.\.\.", "swept"), (r"--jobs 4", "--jobs 2"),
         (r"gcc (.*) /usr/share/doc/xdp-roce/plugins/", r"gcc -I include \1 tools/plugins/"),  # package_inside.sh runs it as it is
         (r"run ring-1024", "run ring-1024 --set collective.ranks=64"),  # run_installed.sh runs it as it is
         (r"duration=200ms --set measure\.from=100ms", "duration=20ms --set measure.from=10ms"),
         (r"127\.0\.0\.1:9479", "127.0.0.1:PORT"), (r"(run incast --on namespaces)", r"\1 --set duration=1ms --set measure.from=0s --set expect=[]"),
         (r"(--import lumina) FILE (--on namespaces)", r"\1 lumina.yml \2 --set duration=4ms --set expect=[]"),
         (r"--import hpcc config\.txt", "--import hpcc hpcc/config.txt"),
         (r"run FILE --share 2/8 --out DIR", "run swept.yaml --share 2/8 --out share"),
         (r"run FILE (--on ports left=eth1,right=eth2) ", r"run theirs.yaml \1 "),
         (r"run FILE (--on ports send=eth1,respond=eth2)", r"run ours.yaml \1"),
         (r"run FILE (--on ports left=eth1,right=eth2,send)", r"run theirs.yaml \1"),
         (r"run compare A B", "run compare first second"), (r"\bDIR\b", "out-N"), (r"\bFILE\b", "ours.yaml")]
BACKGROUND = re.compile(r"xdp-roce (export .*--listen|respond)")
FILES = ["capture.pcap", "before.pcap", "after.pcap", "tap.pcapng", "mirrored.pcap", "brokered.pcap", "captures/"]
faults, numbers = [], {"commands": 0, "directory": 0}


def blocks(page):
    """The blocks of indented lines that have commands: lists of commands without comments."""
    found, block, open_line = [], [], ""
    # Between fences there are files, not commands.
    for line in re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S).splitlines() + [""]:
        if not line.startswith("    "):
            if block:
                found.append(block)
            block = []
            continue
        text = open_line + re.sub(r"(^|\s)#( .*)?$", "", line.strip()).strip()
        if text.endswith("\\"):
            open_line = text[:-1]
            continue
        open_line = ""
        if FIRST.match(text):
            block.append(text)
        elif "xdp-roce" in text and not ELSEWHERE.match(text):
            faults.append(f"{page.name}: '{text}' is not run by this test")
    return found


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def veth(here, name, there, far, address, mtu=1500):
    ip("-n", here, "link", "add", name, "type", "veth", "peer", "name", far, "netns", there, "address", address)
    for netns, port in ((here, name), (there, far)):
        ip("-n", netns, "link", "set", port, "mtu", str(mtu), "up")
        subprocess.run(["ip", "netns", "exec", netns, "ethtool", "-K", port, "gro", "on"], check=False, capture_output=True)


class Lab:
    """Ports of those names; two are the ends of one wire where one of them sends or answers."""

    def __init__(self, text):
        self.traffic = []
        for netns in (BOX, LEFT, RIGHT):
            ip("netns", "add", netns)
        names = sorted(set(re.findall(r"\b(?:ens|tap|eth|box)\d\b", text)))
        if names == ["ens1"]:
            names.append("ens2")
        elif names == ["box0"]:
            names.append("box1")
        ends = re.search(r"\b(send|respond)[ =](ens|eth)\d", text) is not None
        if re.search(r"left=eth1,right=eth2,send", text):  # of which this process has the wire
            names, ends = names[:2], False
        self.names = names
        for i in range(0, len(names), 2):
            if ends:
                veth(BOX, names[i], BOX, names[i + 1], "02:00:00:00:00:02", 9000 if "--preset" in text else 1500)
                ip("-n", BOX, "address", "add", "192.0.2.1/24", "dev", names[i])
                continue
            veth(BOX, names[i], LEFT, "l0" if i == 0 else f"l{i}", "02:00:00:00:00:01")
            if i + 1 < len(names):
                veth(BOX, names[i + 1], RIGHT, f"r{i}", "02:00:00:00:00:02")
        if not names or ends:
            return
        # To two taps the same packets.
        for netns, port in ((LEFT, "l0"), (RIGHT, "r0"))[:2 if "tap2" in names else 1]:
            self.traffic.append(subprocess.Popen(
                [program, "--netns", netns, "send", port, "src", "192.0.2.1", "dst", "192.0.2.2", "src-mac", "02:00:00:00:00:01", "dst-mac",
                 "02:00:00:00:00:02", "qp", "0x11", "qps", "4", "psn", "1", "write", "size", "4k", "rate", "10mbit"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def end(self):
        for sender in self.traffic:
            sender.send_signal(signal.SIGINT)
            sender.wait()
        subprocess.run([program, "--netns", BOX, "detach", "--all"], capture_output=True, check=False)
        for netns in (BOX, LEFT, RIGHT):
            subprocess.run(["ip", "netns", "del", netns], check=False)


def start(command, environment):
    return subprocess.Popen(["bash", "-o", "pipefail", "-c", "exec " + command if re.match(r"xdp-roce [^|;&]*$", command) else command],
                            cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                            start_new_session=True)


def wait_until_it_runs(command, process):
    """`respond` and `export` say what they do when they do it; others are given 2 s."""
    if BACKGROUND.match(command):
        select.select([process.stdout], [], [], 20 * PATIENCE)
    else:
        time.sleep(2 * PATIENCE)


def finish(process, command, seconds):
    """Waits for its end, or ends it: status and output."""
    try:
        output, _ = process.communicate(timeout=seconds * PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=30 * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return 1, output + "\nit did not end after SIGINT"
    return process.returncode, output


LATE = re.compile(r"xdp-roce (run .*--on|send|compare \w+\d )|curl")
ENDLESS = re.compile(r"xdp-roce (watch|events|wire|connections|export .*--rows|send ens1 (--preset|dst 192.0.2.2 qp 17 size|replay))|--around")


def run_block(page, block, environment):
    text = "\n".join(block)
    lab, background = Lab(text), []
    # What the page has shown before.
    if re.search(r"xdp-roce (impair|link|events|streams|episodes) ", text) and not re.search(r"xdp-roce (bridge|wire|attach) ", text):
        before = f"xdp-roce bridge {lab.names[0]} {lab.names[1]} --fix"
        finish(start(before, environment), before, 30)
    if "xdp-roce send ens1 dst" in text and "respond" not in text:  # the host at the other end
        command = "xdp-roce respond ens2 --address 192.0.2.2"
        background.append((command, start(command, environment)))
        wait_until_it_runs(*background[-1])
    for command in block:
        numbers["commands"] += 1
        for pattern, better in EDITS:
            command = re.sub(pattern, better, command)
        if "out-N" in command:
            numbers["directory"] += 1
            command = command.replace("out-N", f"out-{numbers['directory']}")
        command = command.replace("PORT", environment["XR_PORT"])
        if command.startswith("xdp-roce attach"):  # one of several ways
            finish(start("xdp-roce detach --all", environment), command, 30)
        goes_on = command.endswith("&") or BACKGROUND.match(command)
        process = start(command.rstrip("& "), environment)
        if goes_on:
            background.append((command, process))
            wait_until_it_runs(command, process)
            continue
        if re.match(r"xdp-roce watch", command):  # needs a terminal: said in a sentence, like any error
            status, output = finish(process, command, 20)
            status = 0 if "terminal" in output else status
        else:
            seconds = 3 if ENDLESS.search(command) else 100
            status, output = finish(process, command, seconds)
            for _ in range(3):  # a busy machine: a run is void, or the other end is not there yet
                if not status or not LATE.match(command):
                    break
                time.sleep(3)
                status, output = finish(start(command, environment), command, seconds)
        if status:
            faults.append(f"{page.name}: {command}: status {status}\n    " + "\n    ".join(output.strip().splitlines()[-4:]))
    for command, process in reversed(background):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        status, output = finish(process, command, 30)
        if status:
            faults.append(f"{page.name}: {command}: status {status}\n    " + "\n    ".join(output.strip().splitlines()[-4:]))
    lab.end()


def wrapper(name, text):
    path = work / "bin" / name
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)


def wrappers():
    (work / "bin").mkdir()
    real = shlex.quote(program)
    wrapper("xdp-roce", f'for word; do [[ $word != --netns ]] || exec {real} "$@"; done\nexec {real} --netns {BOX} "$@"\n')
    wrapper("ip", f'[[ $1 == link ]] && exec {shutil.which("ip")} -n {BOX} "$@"\nexec {shutil.which("ip")} "$@"\n')


def prepare(work):
    """The files that commands read."""
    work.mkdir()
    data = root / "tests" / "data"
    for name in ("tests", "tools", "include"):
        (work / name).symlink_to((root / name).resolve())
    for name, source in (("capture.pcap", "rc_send_cm_v4.pcap"), ("before.pcap", "rc_send_1024_v4.pcap"), ("after.pcap", "rc_send_1024_v4.pcap"),
                         ("tap.pcapng", "rc_atomic_cas_v4.pcap")):
        shutil.copy(data / source, work / name)
    with open(work / "after.pcap", "ab") as after:  # another file, which ends within a frame
        after.write(b"")
    stamps = root / "tests" / "e2e" / "stamps.py"
    for name, kind in (("mirrored.pcap", "ieee1588"), ("brokered.pcap", "trailer")):
        subprocess.run(["/usr/bin/python3", stamps, "make", kind, data / "loss2_rc_atomic_v4.pcap", work / name], check=True, capture_output=True)
    (work / "captures").mkdir()
    for name in ("rc_send_cm_v4.pcap", "pingpong_ud_v4.pcap"):
        shutil.copy(data / name, work / "captures" / name)
    experiment = ("experiment: short\nduration: {}\nmeasure: {{from: 0s}}\ntopology: {{star: {{senders: {}, rate: {}, delay: 100us}}}}\n"
                  "queue: {{words: buffer 1MB}}\ncongestion: none\nflows: [{{from: all, to: receiver, words: {}}}]\n")
    (work / "ours.yaml").write_text(experiment.format("1s", 2, "20mbit", "write size 4k rate 1mbit"))
    (work / "theirs.yaml").write_text(experiment.format("2s", 1, "20mbit", "write size 4k qps 4 rate 1mbit"))
    (work / "swept.yaml").write_text(experiment.format("10ms", 1, "20mbit", "write size 4k") + "sweep: {seed: [1, 2, 3, 4, 5, 6, 7, 8]}\n")
    shutil.copytree(root / "tests" / "data" / "hpcc", work / "hpcc")
    (work / "program.goal").write_text("num_ranks 2\nrank 0 {\nsend 1000b to 1 tag 1\n}\nrank 1 {\nrecv 1000b from 0 tag 1\n}\n")
    (work / "incast.cm").write_text("Nodes 8\nConnections 2\n0->7 start 0 size 100000\n1->7 start 0 size 100000\n")
    tier = "Tier {}\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1000\nRadix_Down 4\n"
    (work / "leaf-spine.topo").write_text("Nodes 8\nTiers 2\nPodsize 8\n" + tier.format(0) + "Radix_Up 4\n" + tier.format(1).replace("Down 4", "Down 2"))
    (work / "lumina.yml").write_text((root / "tests" / "data" / "lumina.yml").read_text())
    subprocess.run([program, "run", "swept.yaml", "--out", "swept"], cwd=work, check=True, capture_output=True)
    for name in ("first", "second"):
        subprocess.run([program, "run", "ours.yaml", "--out", name], cwd=work, check=True, capture_output=True)


def one_page(page, only):
    """Runs in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = dict(os.environ, PATH=f"{work}/bin:{os.environ['PATH']}", XR_PORT=port)
    if page.name in ("long-link.md", "otg.md"):  # one script with namespaces of its own: as a whole
        text = "set -e -o pipefail\n" + "\n".join(command for block in blocks(page) for command in block)
        for name in ("left", "box", "right"):
            text = text.replace(f"xr-{name}", prefix + name)
        text = text.replace("127.0.0.1:8443", f"127.0.0.1:{port}").replace("xr-$name", prefix + "$name").replace("xr-${port%/*}", prefix + "${port%/*}")
        numbers["commands"] += text.count("xdp-roce ")
        if only in ("", page.name) or only in text:
            status, output = finish(start(text, dict(environment, PATH=f"{pathlib.Path(program).parent}:{os.environ['PATH']}")), text, 60)
            if status:
                faults.append(f"{page.name}: status {status}\n    " + "\n    ".join(output.strip().splitlines()[-6:]))
    else:
        wrappers()
        commands = blocks(page)
        faults.clear()  # which the first process prints
        for block in commands:
            if only in ("", page.name) or only in "\n".join(block):
                run_block(page, block, environment)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(numbers["commands"])
    return bool(faults)


def in_its_process(number, page):
    there = work / str(number)
    shutil.copytree(work / "prepared", there, symlinks=True)
    words = [sys.executable, __file__, str(root), program, f"{prefix}{number}-", str(there), only, "--page", str(page)]
    return subprocess.run(words, stdout=subprocess.PIPE, check=False, text=True)


only = sys.argv[5] if len(sys.argv) > 5 else ""
if "--page" in sys.argv:
    sys.exit(one_page(pathlib.Path(sys.argv[-1]), only))
prepare(work / "prepared")
pages = [page for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]
         if any(only in ("", page.name) or only in "\n".join(block) for block in blocks(page))]
pages.sort(key=lambda page: -sum(map(len, blocks(page))))  # the longest first
# Most of a page is waiting. A run with frames is void where others are in its way.
alone = [page for page in pages if any("run " in command and "--on " in command for block in blocks(page) for command in block)]
pages = [page for page in pages if page not in alone] + alone
with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1) as pool:
    ended = list(pool.map(in_its_process, range(len(pages) - len(alone)), pages))
ended += [in_its_process(number, page) for number, page in list(enumerate(pages))[len(ended):]]
for page, one in zip(pages, ended):
    if one.returncode and not one.stdout:
        print(f"{page.name}: the test itself failed", file=sys.stderr)
for fault in dict.fromkeys(faults):
    print(fault, file=sys.stderr)
print(sum(int(one.stdout or 0) for one in ended), "commands")
sys.exit(any(one.returncode for one in ended) or bool(faults))
