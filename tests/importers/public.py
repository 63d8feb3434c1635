#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""public.py XDP_ROCE DIR [--write docs/importers.md]: what `run --import` makes of the files that other simulators publish.

DIR holds checkouts side by side, by the names of their repositories (REPOSITORIES below). Each file is imported, and the experiment is begun in
virtual time. Set-ups that a script of the repository makes (conweave-ns3's run.py and traffic_gen.py, SimAI's gen_Topo_Template.py) are made with that
script; a topology that is published without flows gets two flows of this script. The last section of the page has a row for each kind of file of a repository, and each
refusal with its reason. Without --write it is printed.

Exit status: 0; 1 where a file is refused for a reason that is not in EXPECTED; 2 where DIR has none of the repositories."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field

REPOSITORIES = {  # by directory
    "High-Precision-Congestion-Control": "alibaba-edu/High-Precision-Congestion-Control",
    "conweave-ns3": "conweave-project/conweave-ns3",
    "ns3-datacenter": "inet-tub/ns3-datacenter",
    "SimAI": "aliyun/SimAI",
    "aicb": "aliyun/aicb",
    "astra-network-ns3": "astra-sim/astra-network-ns3",
    "astra-sim": "astra-sim/astra-sim",
    "csg-htsim": "Broadcom/csg-htsim",
    "HTSIM": "spcl/HTSIM",
    "atlahs": "spcl/atlahs",
}
# Parts of the reasons that are true of a file.
EXPECTED = (
    "there is no file",  # it names one that the repository does not have
    "TOPOLOGY_FILE is missing",  # an argument of the simulator
    "(DRILL) is not here", "(CONGA) is not here", "(ConWeave) is not here",
    "the graph is not connected",  # a ring of hosts, which forward nothing
    "the file ends: there are 839 layers",  # it has 33
    "too large to begin",  # 9,216 GPUs
)
SECTION = "## Public files, one by one"  # of docs/importers.md, to its end
LIMIT = 300  # seconds for a file
SAME = 1  # experiments of one network that are begun: that of 8,192 hosts takes half a minute
RATES = (10, 25, 40, 50, 100, 200, 400, 800, 1600, 2400, 2880, 2900)  # Gbit/s, of ports


@dataclass
class Row:
    repository: str
    what: str
    read: int = 0
    refused: Counter = field(default_factory=Counter)
    names: dict = field(default_factory=dict)  # by reason: the first file's name


class Run:
    def __init__(self, program, directory, scratch):
        self.program, self.directory, self.scratch, self.rows = program, directory, scratch, []
        self.begun = Counter()  # by network

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def files(self, *pattern):
        return sorted(glob.glob(self.path(*pattern), recursive=True))

    def tried(self, repository, what, kind, sets):
        """A row: each of `sets` is what follows --import KIND."""
        row = Row(REPOSITORIES[repository], what)
        for files in sets:
            reason = self.reason(kind, files)
            if not reason:
                row.read += 1
                continue
            for path in [*files, self.directory, self.scratch]:
                reason = reason.replace(path + ":", "line ").replace(path + "/", "").replace(path, os.path.basename(path))
            reason = re.sub(r"^(line |\S*\.\w+:)? *(\d+: )?", "", reason)
            row.refused[reason] += 1
            row.names.setdefault(reason, os.path.relpath(files[0], self.directory))
        if row.read or row.refused:
            self.rows.append(row)
            print(f"{row.repository}: {what}: {row.read} read, {sum(row.refused.values())} refused", file=sys.stderr)

    def reason(self, kind, files):
        """Empty: it is read, and the experiment begins."""
        experiment = os.path.join(self.scratch, "experiment.yaml")
        try:
            imported = subprocess.run([self.program, "run", "--import", kind, *files], capture_output=True, text=True, timeout=LIMIT)
            if imported.returncode:
                return self.message(imported.stderr)
            with open(experiment, "w", encoding="utf-8") as file:
                file.write(imported.stdout)
            network = re.search(r"^topology:.*?(?=^\S)", imported.stdout, re.S | re.M)
            self.begun[network and network.group(0)] += 1
            if self.begun[network and network.group(0)] > SAME:
                return ""
            begun = subprocess.run([self.program, "run", experiment, "--set", "duration=1us"], capture_output=True, text=True, timeout=LIMIT)
            return "" if begun.returncode in (0, 1) and "measured" in begun.stdout else self.message(begun.stderr)
        except subprocess.TimeoutExpired:
            return f"it is too large to begin within {LIMIT} s"

    @staticmethod
    def message(text):
        line = next((line for line in text.splitlines() if line.startswith("xdp-roce: ")), text.strip()[:200])
        return re.sub(r"^xdp-roce: run( --import \w+)?: ", "", line)

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def config_with(topology, flows):
    maps = "".join(f"{key} {len(RATES)} " + " ".join(f"{rate}000000000 {value(rate)}" for rate in RATES) + "\n"
                   for key, value in (("KMAX_MAP", lambda r: 16 * r), ("KMIN_MAP", lambda r: 4 * r), ("PMAX_MAP", lambda r: 0.2)))
    return (f"ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 1\nPACKET_PAYLOAD_SIZE 1000\nTOPOLOGY_FILE {topology}\nFLOW_FILE {flows}\nSIMULATOR_STOP_TIME 2.1\n"
            f"CC_MODE 1\n{maps}BUFFER_SIZE 64\n")


def topologies(run, repository, what, paths):
    """Each with two flows between its first hosts."""
    sets = []
    for path in paths:
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            switches = file.readline() and file.readline().split()
        a, b = [node for node in ("0", "1", "2") if node not in switches][:2]
        flows = run.write(f"{name}.flows", f"2\n{a} {b} 3 100 100000 2\n{b} {a} 3 100 100000 2.00001\n")
        sets.append([run.write(f"{name}.config", config_with(path, flows))])
    run.tried(repository, what, "hpcc", sets)


def hpcc(run):
    mix = ("High-Precision-Congestion-Control", "simulation", "mix")
    run.tried(mix[0], "config.txt with its topology, flows and trace", "hpcc", [[path] for path in run.files(*mix, "config.txt")])
    topologies(run, mix[0], "topologies of mix/", [run.path(*mix, name) for name in ("topology.txt", "fat.txt", "ali_32host_10rack.txt") if os.path.isfile(run.path(*mix, name))])
    run.tried("ns3-datacenter", "PowerTCP/config*.txt", "hpcc", [[p] for p in run.files("ns3-datacenter/**/PowerTCP/config*.txt")])
    run.tried("ns3-datacenter", "Reverie/config*.txt", "hpcc", [[p] for p in run.files("ns3-datacenter/**/Reverie/config*.txt")])
    topologies(run, "ns3-datacenter", "topologies", run.files("ns3-datacenter/**/PowerTCP/topology*.txt") + run.files("ns3-datacenter/**/Reverie/leaf-spine.txt"))
    run.tried("astra-network-ns3", "scratch/config/config.txt (its flows are of a workload)", "hpcc", [[p] for p in run.files("astra-network-ns3/scratch/config/config.txt")])
    topologies(run, "astra-network-ns3", "topologies", run.files("astra-network-ns3/scratch/topology/*.txt"))


def conweave(run):
    """What run.py makes, for each congestion control and load balancing that it takes."""
    base = run.path("conweave-ns3")
    topologies(run, "conweave-ns3", "topologies of config/", run.files("conweave-ns3/config/*OS2.txt"))
    if not os.path.isfile(os.path.join(base, "run.py")):
        return
    with open(os.path.join(base, "run.py"), encoding="utf-8") as file:
        template = re.search(r'config_template = """(.*?)"""', file.read(), re.S).group(1)
    flows = os.path.join(run.scratch, "conweave/config/L_flow.txt")
    os.makedirs(os.path.dirname(flows), exist_ok=True)
    subprocess.run([sys.executable, os.path.join(base, "traffic_gen/traffic_gen.py"), "-c", os.path.join(base, "traffic_gen/AliStorage2019.txt"),
                    "-n", "128", "-l", "0.2", "-b", "100G", "-t", "0.006", "-o", flows], check=True, capture_output=True)
    topology = "leaf_spine_128_100G_OS2"
    with open(os.path.join(base, "config", topology + ".txt"), encoding="utf-8") as file:
        run.write(f"conweave/config/{topology}.txt", file.read())
    marks = {key: "6 " + " ".join(f"{rate} {value}" for rate in (20000000000, 50000000000, 100000000000, 200000000000, 250000000000, 400000000000))
             for key, value in (("kmax_map", 400), ("kmin_map", 100), ("pmax_map", 0.2))}
    for balancing, mode in (("fecmp", 0), ("letflow", 6), ("drill", 2), ("conga", 3), ("conweave", 9)):
        sets = []
        for pfc in (1, 0):
            values = dict(id=f"{mode}{pfc}", topo=topology, flow="L_flow", qlen_mon_start=2.0, qlen_mon_end=2.006, sw_monitoring_interval=10000,
                          flowgen_start_time=2.0, flowgen_stop_time=2.006, buffer_size=9, cc_mode=1, lb_mode=mode, enabled_pfc=pfc, enabled_irn=1 - pfc,
                          cwh_tx_expiry_time=300, cwh_extra_reply_deadline=4, cwh_path_pause_time=16, cwh_extra_voq_flush_time=16,
                          cwh_default_voq_waiting_time=200, ewma_gain=0.00390625, ai=40.0, hai=100.0, dctcp_ai=1000, has_win=0, var_win=0,
                          fast_react=0, mi=0, int_multi=1, load=40, **marks)
            sets.append([run.write(f"conweave/mix/output/{mode}{pfc}/config.txt", template.format(**values))])
        run.tried("conweave-ns3", f"what run.py --lb {balancing} makes, with PFC and with IRN", "hpcc", sets)


def simai(run):
    inputs = "SimAI/astra-sim-alibabacloud/inputs"
    script = run.path(inputs, "topo/gen_Topo_Template.py")
    made = []
    for arguments in (["-topo", "Spectrum-X", "-g", "128"], ["-topo", "DCN+", "-g", "128"], ["-topo", "AlibabaHPN", "-g", "64"]):
        where = os.path.join(run.scratch, "-".join(arguments[1::2]))
        os.makedirs(where, exist_ok=True)
        if os.path.isfile(script):
            subprocess.run([sys.executable, script, *arguments], cwd=where, check=False, capture_output=True)
        made += sorted(glob.glob(os.path.join(where, "*")))
    config = run.path(inputs, "config/SimAI.conf")
    run.tried("SimAI", "SimAI.conf alone", "hpcc", [[config]] if os.path.isfile(config) else [])
    topologies(run, "SimAI", "what gen_Topo_Template.py makes (Spectrum-X, DCN+, AlibabaHPN)", made)
    run.tried("SimAI", "example/*.txt", "simai", [[p] for p in run.files("SimAI/example/*.txt")])
    if made:
        run.tried("SimAI", "microAllReduce.txt in what gen_Topo_Template.py makes", "simai", [[p, made[0]] for p in run.files("SimAI/example/micro*.txt")])
        run.tried("aicb", "workload/simAI/**/*.txt, with a topology of 128 GPUs", "simai", [[p, made[0]] for p in run.files("aicb/workload/simAI/**/*.txt")])


def matrices(run):
    for repository in ("csg-htsim", "HTSIM", "atlahs"):
        # A link of a checkout may lead to a large file that it lacks.
        run.tried(repository, "connection matrices (.cm)", "cm", [[p] for p in run.files(repository, "**", "*.cm") if os.path.getsize(p)])
        sets = []
        for path in run.files(repository, "**", "*.topo"):
            nodes = int(re.search(r"Nodes\s+(\d+)", open(path, encoding="utf-8").read()).group(1))
            sets.append([run.write(f"{repository}-{os.path.basename(path)}.cm", f"Nodes {nodes}\nConnections 1\n0->{nodes - 1} start 0 size 100000\n"), path])
        run.tried(repository, "topologies (.topo)", "cm", sets)


def traces(run):
    sets = sorted({os.path.dirname(p) for p in run.files("astra-sim/examples/**/*.et")})
    run.tried("astra-sim", "Chakra traces of examples/, a directory each", "chakra", [[path] for path in sets])
    run.tried("astra-sim", "examples/**/*.topo", "cm", [[run.write("astra.cm", "Nodes 8\nConnections 1\n0->7 start 0 size 100000\n"), p] for p in run.files("astra-sim/examples/**/*.topo")])
    for repository in ("HTSIM", "atlahs"):
        run.tried(repository, "GOAL programs", "goal", [[p] for p in run.files(repository, "**", "*.goal") if os.path.getsize(p)])


def commit(path):
    return subprocess.run(["git", "-C", path, "log", "-1", "--format=`%h` %cs"], capture_output=True, text=True, check=False).stdout.strip() or "?"


def table(run, version):
    lines = [SECTION, "",
             f"`tests/importers/public.py` makes this section (version {version}) from checkouts of the simulators; none of their files is here. *Read*: the file becomes an experiment, and that begins (the first of those",
             "with the same network).", ""]
    for directory, repository in REPOSITORIES.items():
        rows = [row for row in run.rows if row.repository == repository]
        if not rows:
            continue
        lines += [f"### {repository}", "", f"Commit {commit(run.path(directory))}.", "", "| files | read | refused |", "| --- | --- | --- |"]
        for row in rows:
            reasons = "; ".join(f"{count if count > 1 else row.names[reason].rsplit('/', 1)[-1]}: {reason}" for reason, count in row.refused.items())
            lines.append(f"| {row.what} | {row.read} of {row.read + sum(row.refused.values())} | {reasons} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("directory")
    parser.add_argument("--write")
    parser.add_argument("--only", help="a part of the names of: hpcc, conweave, simai, matrices, traces")
    arguments = parser.parse_args()
    if not any(os.path.isdir(os.path.join(arguments.directory, name)) for name in REPOSITORIES):
        print(f"public.py: {arguments.directory} has none of {', '.join(REPOSITORIES)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(os.path.abspath(arguments.program), os.path.abspath(arguments.directory), scratch)
        for part in (hpcc, conweave, simai, matrices, traces):
            if not arguments.only or arguments.only in part.__name__:
                part(run)
        version = subprocess.run([run.program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        text = table(run, version)
    if arguments.write:
        with open(arguments.write, "r+", encoding="utf-8") as file:
            above = file.read().partition(SECTION)[0]
            file.seek(0)
            file.truncate()
            file.write(above + text)
    else:
        print(text)
    unexpected = [reason for row in run.rows for reason in row.refused if not any(part in reason for part in EXPECTED)]
    for reason in unexpected:
        print(f"public.py: not expected: {reason}", file=sys.stderr)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
