#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exit_status.py PROGRAM DATA: the exit status and the form of errors, of every command.

2: the command line or a word of it is wrong, before any file, port or privilege is looked at. 1: a file, a port or
the machine is. Each error is one sentence, and one hint at most. Needs no privilege: no port of these names exists."""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, DATA = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
SEND = "send none0 src 192.0.2.1 dst 192.0.2.2 qp 17"

# A line, and a word that its hint has ("": no matter). Quotes are a shell's.
WRONG_LINES = [
    # commands and options
    ("", ""), ("atach none0", "did you mean attach?"), ("comapre a b", "did you mean compare?"), ("xyzzy", "commands are attach"),
    ("help atach", "did you mean attach?"), ("help xyzzy", "commands are attach"), ("--netns", ""), ("--jsn status", ""),
    ("counters none0 --intervall 1", "did you mean --interval?"), ("attach none0 --folow", "did you mean --follow?"),
    # attach and what has its options
    ("attach", ""), ("attach none0 --mode fast", ""), ("attach none0 --streams 0", ""), ("attach none0 --pairs x --follow", ""),
    ("attach none0 --pairs 7", "add --follow"), ("attach none0 --follow --no-track", "omit"), ("attach none0 --latency --no-track", "omit"),
    ("attach none0 --one", "attach none0 IF2 --one"), ("attach none0 --decap gre9", ""), ("attach none0 --decap auto --rules", "omit"),
    ("attach none0 --udp-port 0", ""), ("attach none0 --cnp-window 0", ""), ("attach none0 --priority -1", ""),
    ("detach", ""), ("detach none0 --all", ""), ("status --netn x", "did you mean --netns?"),
    ("bridge none0", ""), ("bridge none0 none0", "xdp-roce bridge none0 IF2"), ("bridge none0 none1 --pairs 7", "add --follow"),
    ("bridge none0 none1 --follow --no-track", "omit"),
    ("wire none0 none0", "xdp-roce wire none0 IF2"), ("wire none0 none1 --memory lots", ""), ("wire none0 none1 --memory 1", ""),
    ("wire none0 none1 --copy --zero-copy", ""), ("wire none0 none1 --for 0s", ""), ("wire none0 none1 --pairs 7", "add --follow"),
    # readers
    ("counters none0 --interval 0", ""), ("counters none0 --count 3", ""), ("streams none0 --sort size", ""), ("streams none0 --top 0", ""),
    ("events none0 --count x", ""), ("episodes none0 --interval x", ""), ("latency", ""), ("watch none0 --interval x", ""),
    ("watch none0 --web --once", ""), ("watch none0 --listen 127.0.0.1:1", ""),
    ("watch none0 --web --listen [::]:1", "--web.config.file FILE, --tls CERT KEY or --token FILE; or --insecure"),
    ("--json watch none0", "xdp-roce --json counters none0"), ("export --listen nowhere", "127.0.0.1:9479"),
    ("export --listen [::]:1", "--web.config.file FILE, --tls CERT KEY or --token FILE; or --insecure"), ("--json export", "xdp-roce --json counters"),
    ("export none0 --rows --listen 127.0.0.1:1", ""), ("export none0 --interval 10s", ""), ("export none0 --rows --interval soon", ""),
    ("export none0 --rows --top-streams 3", ""),
    ("connections none0 --for soon", ""), ("connections a b c d e f g h i", "fewer"), ("connections none0 --pairs 7", "add --follow"),
    ("doctor none0 --peer-mode v3", ""), ("doctor --try", ""), ("doctor --rdma-dev x --rdma-port 1", ""),
    # capture
    ("capture none0", ""), ("capture none0 -w x --around episod", "episode"), ("capture none0 -w x --around ''", "episode"),
    ("capture none0 -w x --class bogus", "cnp"), ("capture none0 -w x --src 192.0.2", ""), ("capture none0 -w x --dest-qp zero", ""),
    ("capture none0 -w x --file-size 3", ""), ("capture none0 -w x --files 3", "--file-size"), ("capture none0 -w ''", "-w x.pcapng"),
    ("record none0 --for 1s", ""), ("record none0 --out x", ""), ("record none0 --out x --for 0", ""),
    ("capture none0 -w x --buffer 5", ""), ("capture none0 -w x --class other --src 192.0.2.0/24", "omit"),
    ("capture none0 -w x --follow --no-track", "omit"), ("capture none0 -w x --around gap --no-track", "leave out one"),
    ("capture none0 -w x --around episode --no-track", "leave out one"), ("capture none0 -w - --file-size 1M", "-w FILE"),
    # rules
    ("impair none0", ""), ("impair none0 lst", "did you mean list?"), ("impair none0 aply x.yaml", "did you mean apply?"),
    ("impair none0 xyzzy", "add RULE"), ("impair none0 list all", "add RULE"), ("impair none0 del", "add RULE"),
    ("impair none0 enable 1 2", "add RULE"), ("impair none0 apply", "add RULE"), ("impair none0 clear x", "add RULE"),
    ("impair none0 add roce delay 200", ""), ("impair none0 add opcode dat drop", "did you mean data?"), ("impair none0 add", ""),
    ("impair none0 add opcode data dorp", "did you mean drop?"), ("impair none0 add drop probability 2", ""),
    ("impair none0 add psn 1-x drop", ""), ("impair none0 add roce drop --seed x", ""), ("impair none0 peer 192.0.2.1 17", ""),
    ("impair none0 add src 192.0.2.300 drop", ""), ("impair none0 add qp 0 psn 1 drop", ""),
    # links
    ("link none0 rate fast", ""), ("link none0 shw", "did you mean show?"), ("link none0 delay 5", ""), ("link none0 rate 1gbit trace x", ""),
    ("link none0 show all", ""),
    # send
    ("send", ""), ("send none0", "dst IP"), (SEND + " wirte", "did you mean write?"), ("send none0 write", "dst IP"),
    (SEND + " write size 64q", ""), (SEND + " rate fast", ""), (SEND + " --rate fast", ""), (SEND + " --rate '10gbit l7'", ""),
    (SEND + " --preset bogus", ""), (SEND + " --flow 'dst x'", ""), (SEND + " --verify-memory x --verify write", ""),
    (SEND + " --cm --queues 2 send size 8", "--queues 1"), (SEND + " transport ud --reliable send size 10", ""),
    (SEND + " write cc timely line 1gbit", "--reliable"), (SEND + " write cc dcqcn line 1gbit ria=1", "did you mean rai?"),
    (SEND + " transport uc fault ghost-ack every 3", "transport rc"), (SEND + " transport ud read size 64", ""),
    (SEND + " --verify send size 8", ""), (SEND + " send size 16 stamp", ""), (SEND + " write size 1k --pairs 7", "add --follow"),
    (SEND + " --reliable write --flow 'dst 192.0.2.2 qp 17 write'", "another qp"), (SEND + " --engine live --reliable write", "--engine"),
    (SEND + " --engine live write size 1k,4k", "--engine"), ("send none0 src 192.0.2.1 dst 2001:db8::1 qp 17 write", "both are IPv4"),
    ("send none0 replay x.pcap fsat 1", ""), ("send none0 replay x.pcap --reliable", "its words"), ("send none0 pfc 3", ""),
    ("send none0 pfc 9 every 1ms", ""), ("send none0 pfc 3 every 1ms --verify", "its words"), (SEND + " --for 3", ""),
    (SEND + " --pfc-line fast", ""), ("send none0 --file x.yaml --rate fast", ""),
    # peer
    ("peer none0 perftes", "perftest"), ("peer none0 perftest write", ""), ("peer none0 perftest write_bw host", ""),
    ("peer none0 perftest cm", "without cm"), ("peer none0 perftest answers lost every 2", ""), ("peer none0 pingpong", ""),
    ("peer none0 perftest write_lat 192.0.2.2 qps 2", "without qps"), ("peer none0 rdma_client", ""), ("peer none0", ""),
    # respond
    ("respond", ""), ("respond none0 --address 192.0.2", ""), ("respond none0 --mac x", ""), ("respond none0 --qp x", ""),
    ("respond none0 --peer-qp x", "same"), ("respond none0 --cc dcqnc", ""), ("respond none0 --cc timely", "--cc dcqcn"),
    ("respond none0 --memory 9000T", ""), ("respond none0 --memory 1MB --access execute", ""), ("respond none0 --reject nonsense", ""),
    ("respond none0 --memory 1MB --va 3", ""), ("respond none0 --rkey 3", ""), ("respond none0 --pairs 7", "add --follow"),
    # serve
    ("serve none0", ""), ("serve --listen nowhere", "127.0.0.1:8443"), ("serve --listen 0.0.0.0:1", "--tls CERT KEY or --token FILE"),
    ("serve --tls none.pem", ""), ("serve --ports ''", ""), ("serve --ports a,,b", "--ports IF,NETNS/IF"), ("serve --pairs 7", "add --follow"),
    ("--json serve", "without --json"),
    # find
    ("find none0", "find IF1 IF2"), ("find none0 none0", "two ports"), ("find none0 none1 --size 64", ""), ("find none0 none1 --loss 2", "0.1%"),
    ("find none0 none1 --for soon", ""), ("find none0 none1 --speed fast", ""), ("run kmin --find kmin", ""), ("run kmin --find kmin=3", ""),
    # demo
    ("demo none0", ""), ("demo --quick --out x", ""), ("demo --remove --quick", ""), ("demo --out ''", "--out xdp-roce-demo"),
    ("--json demo", "xdp-roce --json counters"), ("--netns none demo", "omit --netns"),
    # analyze and compare
    ("analyze", ""), ("analyze none.pcap --sort size", ""), ("analyze none.pcap --time mirror", "--decap"), ("analyze none.pcap --tick 1ns", ""),
    ("analyze none.pcap --speed fast", ""), ("analyze none.pcap --table pairs", "--rows"), ("analyze none.pcap --rows csv --table pairs", ""),
    ("check", ""), ("check none0 --for soon", ""), ("analyze none.pcap --paths 8", "--check"),
    ("analyze none.pcap --check --hash crc16", "--paths"), ("analyze none.pcap --check --paths 1", ""),
    ("analyze none.pcap --split-by stream", "--split-to"), ("analyze none.pcap --split-by time --split-to x --every 3", ""),
    ("analyze none.pcap --split-to x", "--split-by"), ("analyze {capture} {capture}", "once"),
    ("compare {capture}", ""), ("compare {capture} {capture}", "two places"), ("compare - {capture}", "file first"),
    ("compare none.pcap {capture} --window 2m", "60s"), ("compare none.pcap {capture} --memory x", ""),
    ("compare none0 none0 --for 1s", "two ports"), ("compare {capture} {other} --for 1s", "leave it out"),
    ("compare none0 none1 none2 none3 none4 none5 none6 none7 none8 none9 n10 n11 n12 n13 n14 n15 n16 n17 --for 1s", "fewer"),
    # congestion control
    ("cc", ""), ("cc lst", ""), ("cc show papper", "did you mean paper?"), ("cc list all", "xdp-roce cc list"),
    ("cc predict flows x", ""), ("cc predict flows 2 rate 10gbit alfa-timer=55us", ""),
    # experiments
    ("run", "run --list"), ("run incasts", "did you mean incast?"), ("run xyzzy", "run --list"), ("run comapre a b", "did you mean compare?"),
    ("run comapre", "did you mean compare?"), ("run merg a b", "did you mean merge?"), ("run compare a", "run compare A B"), ("run merge", ""),
    ("run incast rules", "one experiment"), ("run incast --on moon", "virtual"), ("run incast --on virtual x", "--on virtual"),
    ("run incast --on ports", ""), ("run incast --on ports lft=a,right=b", ""), ("run incast --scale 1/2", "--on namespaces"),
    ("run incast --on namespaces --scale 2", "1/200"), ("run incast --role send", ""), ("run incast --at +3s", ""),
    ("run incast --set duration", ""), ("run incast --set duration=soon", ""), ("run incast --set duraton=1ms", "did you mean duration?"),
    ("run incast --set topology.star.sendrs=8", "did you mean senders?"), ("run incast --set flows.99.words=x", "count from 1"),
    ("run incast --set 'expect=[\"sum(flows.drosp) == 0\"]'", "did you mean drops?"), ("run incast --set 'congestion=dcqnc'", ""),
    ("run incast --share 1/2", "sweep"), ("run {sweep} --share 4/3", "I/N"), ("run {sweep} --set 'sweep.duration=[soon]'", ""),
    ("run {expects} --set analyze=none", "analyze: episodes"), ("run {sweep} --set 'sweep={{nokey: [1]}}'", ""),
    ("run {plain} --set 'capture=[left]'", "--out DIR"), ("run --import tcl x", "netem"), ("run --import netem 'delay x'", ""),
    ("run --import netem 'dealy 10ms'", ""),
]

# A file, a port or the machine.
WRONG_THINGS = [
    "--netns none status", "attach none0", "attach none0 none1 --one --follow --pairs 7", "bridge none0 none1", "wire none0 none1",
    "link none0 show", "link none0 trace none.trace", "impair none0 list", "impair none0 add roce drop", "impair none0 del 7",
    "impair none0 apply none.yaml", "impair none0 apply {rules}", "counters none0", "streams none0", "streams none0 --nic none_0", "events none0",
    "episodes none0", "latency none0", "check none0 --for 1s", "connections none0 --for 1s", "watch none0 --once", "status none0", "detach none0",
    "capture none0 -w x --around episode", "record none0 --out /dev/null/x --for 1s", "doctor none0", SEND + " write size 1k", "send none0 --file none.yaml", "send none0 --file {flows}",
    "send none0 --file {flow_without_dst}", "send none0 replay none.pcap", "respond none0 --address 192.0.2.1", "peer none0 perftest --address 192.0.2.1", "analyze none.pcap",
    "analyze {rules}", "analyze {capture} --split-by stream --split-to {capture}", "compare none.pcap {capture}", "compare none0 none1 --for 1s",
    "run ./none.yaml", "run none.yaml", "run none/incast", "run {wrong}", "run {wrong} --set seed=3", "run {wrong_sweep}", "run merge none",
    "run compare none none", "run --import lumina none.yml", "run --import otg {rules}", "run --import mahimahi {rules}",
    "run {plain} --set 'queue.bottleneck=trace none.trace'", "export --listen 192.0.2.77:1 --insecure",
    "export --web.config.file none.yml", "export --listen 127.0.0.1:1 --token none",
    "export none0 --rows --once", "find none0 none1", "demo --out /dev/null/x",
    "serve --listen 192.0.2.77:1 --token none", "serve --tls none.pem none.pem", "serve --listen 192.0.2.77:1 --token {token}",
]

FILES = {
    "token": "x\n",
    "rules": "rules:\n  - roce dorp\n",
    "flows": "flows:\n  - dst 192.0.2.2 qp 17 wirte\n",
    "flow_without_dst": "flows:\n  - qp 17 write\n",
    "plain": "experiment: plain\nduration: 1ms\ntopology: {star: {senders: 2, rate: 10gbit, delay: 1us}}\n"
             "flows: [{from: all, to: receiver, words: write size 64k}]\n",
    "wrong": "experiment: wrong\nduration: soon\n",
}
FILES["expects"] = FILES["plain"] + "capture: [left]\nanalyze: episodes\nexpect: ['count(episodes) == 0']\n"
FILES["sweep"] = FILES["plain"] + "sweep: {duration: [1ms, 2ms]}\n"
FILES["wrong_sweep"] = FILES["plain"] + "sweep: {duration: [soon, 2ms]}\n"


def run(line, names, folder):
    quoted = line.format(**{key: "'" + value + "'" for key, value in names.items()}) if "{" in line else line
    return subprocess.run(["bash", "-c", f'"$0" {quoted}', PROGRAM], capture_output=True, text=True, cwd=folder,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)


def judge(line, result, wanted, hint):
    errors = [text for text in result.stderr.splitlines() if not text.startswith("note: ")]
    sentences = [text for text in errors if text.startswith("xdp-roce: ")]
    hints = [text for text in errors if text.startswith("hint: ")]
    if result.returncode != wanted:
        return f"exit status {result.returncode}, not {wanted}"
    if not sentences or len(hints) > len(sentences) or len(sentences) + len(hints) != len(errors):
        return "not a sentence and a hint"
    if wanted == 2 and (len(sentences) != 1 or result.stdout):
        return "more than one sentence"
    if hint and not any(hint in text for text in hints):
        return f"no hint with '{hint}'"
    return ""


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        names = {"capture": f"{DATA}/rc_send_1024_v4.pcap.gz", "other": f"{DATA}/rc_send_cm_v4.pcap.gz"}
        for key, path in list(names.items()):
            if not os.path.exists(path):
                names[key] = path[:-len(".gz")]
        for key, text in FILES.items():
            names[key] = f"{folder}/{key}.yaml"
            with open(names[key], "w", encoding="utf-8") as file:
                file.write(text)
        table = [(line, 2, hint) for line, hint in WRONG_LINES] + [(line, 1, "") for line in WRONG_THINGS]
        for line, wanted, hint in table:
            result = run(line, names, folder)
            why = judge(line, result, wanted, hint)
            if why:
                wrong.append(f"xdp-roce {line}: {why}\n    " + "\n    ".join((result.stderr + result.stdout).splitlines()[:4]))
        commands = re.findall(r"^  ([a-z]+) ", run("help", names, folder).stdout.split("\nCommands:")[1], re.M)
        for command in commands:
            for rows, what in ((WRONG_LINES, "wrong command line"), ([(line, "") for line in WRONG_THINGS], "wrong file or port")):
                missing = not any(re.match(rf"(--\w+ )?{command}\b", line) for line, _ in rows)
                if missing and not (command == "cc" and what != "wrong command line"):
                    wrong.append(f"{command}: no {what} in the table")
    for text in wrong:
        print(text)
    print(f"{len(WRONG_LINES)} wrong command lines, {len(WRONG_THINGS)} wrong files and ports, {len(wrong)} differences")
    return bool(wrong)


sys.exit(main())
