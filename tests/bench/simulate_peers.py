#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""simulate_peers.py XDP_ROCE HTSIM_ROCE HTSIM_DATACENTER RUNS SCRATCH [NS3_DIR]: what simulate_peers.sh measures and prints."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

MOST = 0.02  # difference of flow completion times
PAYLOAD, GBIT, DELAY_US = 4096, 100, 1
# Ethernet, IPv4, UDP, BTH, iCRC; the RETH of a WRITE's first packet; the AETH of an ACK.
OURS_HEADER, OURS_RETH, OURS_ACK = 14 + 20 + 8 + 12 + 4, 16, 14 + 20 + 8 + 12 + 4 + 4
THEIRS_HEADER = THEIRS_ACK = 64  # RocePacket::ACKSIZE
HOSTS, OF_EDGE, OF_POD = 1024, 8, 64  # of the topology
END_US = 10_000


def fail(what):
    sys.exit(f"simulate_peers.sh: {what}")


class Run:
    """A program from start to end: seconds by the clock and of processor time, MiB at most, its output."""

    def __init__(self, command, directory=None, environment=None):
        with open(os.path.join(scratch, "stdout"), "w+b") as out, open(os.path.join(scratch, "stderr"), "w+b") as err:
            begin = time.monotonic()
            process = subprocess.Popen(command, stdout=out, stderr=err, cwd=directory or scratch, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            self.clock = time.monotonic() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            self.output, self.errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        self.status, self.processor, self.mib = process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def checked(self, what):
        if self.status:
            fail(f"{what} failed ({self.status}): {(self.errors or self.output).strip()[-2000:]}")
        return self


def number_of(host):
    return int(host.removeprefix("host-")) - 1


def ours(matrix):
    run = Run([program, "--json", "run", "--import", "cm", matrix, topology, "--on", "virtual"]).checked("xdp-roce run")
    result = json.loads(run.output)
    run.fcts = {(number_of(flow["src"]), number_of(flow["dst"])): flow["fct_ns"] / 1e3
                for flow in result["flows"] if flow["fct_ns"]}
    run.hops = result["packet_hops"]
    run.acks = result["packets"] - sum(flow["packets"] for flow in result["flows"])
    return run


def theirs(matrix):
    run = Run([peer, "-o", os.path.join(scratch, "htsim.log"), "-nodes", str(HOSTS), "-tm", matrix, "-topo", topology, "-strat",
               "ecmp_host", "-paths", "128", "-mtu", str(PAYLOAD), "-q", "100", "-end", str(END_US)]).checked("htsim_roce")
    run.fcts = {(int(src), int(dst)): float(us)
                for src, dst, us in re.findall(r"Flow Roce_(\d+)_(\d+) \d+ finished at (\S+)", run.output)}
    return run


def matrix_of(name, pairs, size):
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="utf-8") as file:
        print(f"Nodes {HOSTS}\nConnections {len(pairs)}", file=file)
        for i, (src, dst) in enumerate(pairs):
            print(f"{src}->{dst} id {i + 1} start 0 size {size}", file=file)
    return path


def connections(path):
    with open(path, encoding="utf-8") as file:
        return [tuple(map(int, found.groups())) for line in file if (found := re.match(r"(\d+)->(\d+) .*size (\d+)", line))]


def links_between(src, dst):
    return 2 if src // OF_EDGE == dst // OF_EDGE else 4 if src // OF_POD == dst // OF_POD else 6


def times(name, runs, hops, what):
    clock = [run.clock for run in runs]
    cells = [f"{min(clock):8.2f} {statistics.median(clock):8.2f}", f"{min(run.processor for run in runs):10.2f}",
             f"{max(run.mib for run in runs):8.0f}"]
    if hops:
        cells += [f"{hops / 1e6:10.2f}", f"{hops / 1e6 / min(clock):10.2f}"]
    print(f"  {name:12} {' '.join(cells)}{what}")


def heading(what):
    print(what)
    print(f"  {'':12} {'s, min':>8} {'median':>8} {'processor':>10} {'MiB':>8} {'M hops':>10} {'M hops/s':>10}")


def beside(path):
    flows = connections(path)
    heading(f"{os.path.basename(path)}, {os.path.basename(topology)}: {len(flows):,} connections, in turn, {rounds} times each")
    here, there = [], []
    for _ in range(rounds):
        here.append(ours(path))
        there.append(theirs(path))
    # It acknowledges each packet, and without loss sends none again; its pauses are not counted.
    hops = sum(-(-size // PAYLOAD) * 2 * links_between(src, dst) for src, dst, size in flows)
    times("xdp-roce", here, here[-1].hops, "")
    times("htsim_roce", there, hops, " (computed: a packet and its ACK on each link)")
    clock = [statistics.median(run.clock for run in runs) for runs in (there, here)]
    print(f"  htsim's time to ours, medians: {clock[0] / clock[1]:.2f}; it says no packet-hops")
    for name, run in (("xdp-roce", here[-1]), ("htsim_roce", there[-1])):
        fcts = sorted(run.fcts.values())
        if not fcts:
            fail(f"no flow of {name} ended")
        print(f"  {name:12} FCT us: median {statistics.median(fcts):.1f}, p99 {fcts[int(len(fcts) * 0.99)]:.1f}, most {fcts[-1]:.1f};"
              f" {len(fcts):,} of {len(flows):,} ended")
    print("  Paths of the two differ, and so does what shares a link: DCQCN here, pauses alone there; these FCTs have no bound.")


def us_of(size):
    return size * 8 / (GBIT * 1e3)


def predicted(packets, links, header, first, ack, acks):
    """us: what the host's link sends, its packets and its ACKs of the flow to it; then the last packet's way and its ACK's."""
    return (us_of(packets * (PAYLOAD + header) + first + acks * ack) + 2 * links * DELAY_US +
            (links - 1) * us_of(PAYLOAD + header) + links * us_of(ack))


def agree(what, pairs, links):
    packets = 500
    path = matrix_of("agree.cm", pairs, packets * PAYLOAD)
    here, there = ours(path), theirs(path)
    for name, run in (("xdp-roce", here), ("htsim_roce", there)):
        if set(run.fcts) != set(pairs):
            fail(f"{what}: {len(set(pairs) - set(run.fcts))} flows of {name} did not end")
    differences = [here.fcts[pair] / there.fcts[pair] - 1 for pair in pairs]
    largest = max(differences, key=abs)
    acks = here.acks / len(pairs)
    print(f"{what}: {len(pairs):,} flows of {packets} packets, {links} links each way, no link shared")
    print(f"  FCT us, median: xdp-roce {statistics.median(here.fcts.values()):.2f}, htsim_roce"
          f" {statistics.median(there.fcts.values()):.2f}")
    print(f"  difference of a flow: median {statistics.median(differences):+.2%}, largest {largest:+.2%}  (must be within"
          f" {MOST:.0%}){'' if abs(largest) <= MOST else '  MISSED'}")
    print(f"  a packet: {PAYLOAD} + {OURS_HEADER} bytes here (Ethernet 14, IPv4 20, UDP 8, BTH 12, iCRC 4; the first {OURS_RETH} more),"
          f" {PAYLOAD} + {THEIRS_HEADER} there")
    print(f"  an ACK: {OURS_ACK} bytes here, {acks:.3g} a flow; {THEIRS_ACK} there, {packets} a flow, on the link of the host's own packets")
    by_sizes = [predicted(packets, links, OURS_HEADER, OURS_RETH, OURS_ACK, 0),
                predicted(packets, links, THEIRS_HEADER, 0, THEIRS_ACK, packets)]
    print(f"  these sizes alone make {by_sizes[0]:.2f} and {by_sizes[1]:.2f} us: {by_sizes[0] / by_sizes[1] - 1:+.2%}")
    return abs(largest) <= MOST


def mix(directory):
    third, config = os.path.join(directory, "build/scratch/third"), os.path.join(directory, "mix/config.txt")
    if not directory:
        print("HPCC's ns-3: left out, no NS3_DIR")
        return
    if not os.access(third, os.X_OK) or not os.path.exists(config):
        print(f"HPCC's ns-3: left out, no build/scratch/third (./waf build makes it) or mix/config.txt in {directory}")
        return
    place = os.path.join(scratch, "ns3")
    shutil.copytree(os.path.join(directory, "mix"), os.path.join(place, "mix"))
    libraries = os.path.join(os.path.abspath(directory), "build")
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    here, there = [], []
    for _ in range(rounds):
        here.append(Run([program, "--json", "run", "--import", "hpcc", "mix/config.txt", "--on", "virtual"], place)
                    .checked("xdp-roce run --import hpcc"))
        there.append(Run([os.path.abspath(third), "mix/config.txt"], place, environment).checked("HPCC's ns-3"))
    heading(f"mix/config.txt of HPCC's ns-3, in turn, {rounds} times each")
    times("xdp-roce", here, json.loads(here[-1].output)["packet_hops"], "")
    times("ns-3", there, 0, "")


if len(sys.argv) < 6:
    sys.exit(__doc__)
program, peer, datacenter, scratch = (os.path.abspath(sys.argv[i]) for i in (1, 2, 3, 5))
rounds = int(sys.argv[4])
topology = os.path.join(datacenter, "topologies", "fat_tree_1024.topo")
beside(os.path.join(datacenter, "connection_matrices", "perm_1024n_1024c_0u_2000000b.cm"))
inside = [(host, host // OF_EDGE * OF_EDGE + (host + 1) % OF_EDGE) for host in range(HOSTS)]
across = [(host, (host + OF_POD) % HOSTS) for host in range(0, HOSTS, OF_POD)]
agreed = [agree("Under each edge switch, a host to the next", inside, 2), agree("Between pods, one host of each to the next", across, 6)]
mix(sys.argv[6] if len(sys.argv) > 6 else "")
sys.exit(0 if all(agreed) else 1)
