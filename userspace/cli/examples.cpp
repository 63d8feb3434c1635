// SPDX-License-Identifier: Apache-2.0
#include "cli/examples.h"

namespace xr::cli {

namespace {

// A line's first word is its command. A test parses them all, so they have no pipes.
constexpr struct Row {
  const char *line;
  const char *what;
} kExamples[] = {
    {"attach ens1", "Counts what enters ens1, until detach."},
    {"attach tap1 tap2 --one --follow --latency",
     "A tap of both directions: streams, episodes and round trips of both as one."},
    {"attach ens1 --classes", "Counts by DSCP and PCP as well."},
    {"detach ens1", "Takes the program off ens1; its counts are lost."},
    {"detach --all", "Everything that is attached, in all network namespaces."},
    {"status", "What is attached where."},
    {"status ens1 --json", "The same of one port, for a program."},
    {"counters ens1", "Packets and bytes since ens1 was attached."},
    {"counters ens1 --interval 1 --count 10", "Ten reports of one second each, with rates."},
    {"streams ens1", "A row for each stream, those with trouble first."},
    {"streams ens1 --sort ce --top 20", "The 20 streams with most CE marks."},
    {"streams ens1 --nic mlx5_0/1", "Compares the counts with those of the RDMA NIC."},
    {"events ens1", "Gaps, rewinds, NAKs and CNPs as they happen."},
    {"events ens1 --count 100 --json", "The next hundred, one JSON document a line."},
    {"episodes ens1", "Each time that a requester went back, why, and how long it took."},
    {"episodes ens1 --interval 10", "Every ten seconds what is new."},
    {"latency ens1", "Round trips and completion times, without probes."},
    {"check ens1", "Ten seconds of traffic, and what is wrong with the set-up."},
    {"check ens1 --for 1m", "Looks for longer: rare pauses and retries are seen."},
    {"connections tap1 tap2", "RDMA CM connections of both directions, until interrupted."},
    {"watch ens1", "Live, on one screen; ? lists the keys."},
    {"watch ens1 --sort ce --filter 192.0.2.1", "Streams of one host, those with most CE first."},
    {"watch ens1 --once", "The screen once, as text."},
    {"watch ens1 ens2 --web", "On a page that a browser keeps up to date."},
    {"bridge ens1 ens2 --fix", "Puts two ports in line, and repairs settings that lose frames."},
    {"bridge ens1 ens2 --foreground", "The same until it is interrupted."},
    {"wire ens1 ens2 --fix", "A bridge for rules that delay and for links with a rate."},
    {"wire ens1 ens2 --for 10m --interval 10", "For ten minutes, with a report every ten seconds."},
    {"link ens2 rate 10gbit delay 250us buffer 12M red 100k 400k 20%",
     "A slow, long link with ECN leaves by ens2."},
    {"link ens2 rate 100gbit class 3 weight 60 class 6 strict pfc xoff 200k xon 100k priorities 3",
     "Two classes; the first is lossless by PFC."},
    {"link ens2 show", "The link, and what it queued, marked and dropped."},
    {"link ens2 off", "Frames pass at once again."},
    {"impair ens1 add opcode data probability 0.1% drop", "Loss of one data packet in 1,000."},
    {"impair ens1 add qp 2 psn 5 iter 1 drop",
     "The fifth packet of the second QP, in its first transmission."},
    {"impair ens1 list", "The rules, with what they matched and did."},
    {"impair ens1 apply rules.yaml", "Replaces all rules by those of a file, in one step."},
    {"send ens1 dst 192.0.2.2 qp 17 size 4k messages 1000 write",
     "A thousand WRITEs of 4 KiB, without waiting for answers."},
    {"send ens1 dst 192.0.2.2 qp 17 qps 100 size 1M rate 50% --reliable --for 10s",
     "A hundred QPs that retransmit, at half of the line's rate."},
    {"send ens1 dst 192.0.2.2 qp 17 size 1M cc dcqcn --reliable --for 10s",
     "At the rate that DCQCN finds."},
    {"send ens1 replay capture.pcap map 10.0.0.1=192.0.2.1",
     "Sends the frames of a capture again, with other addresses."},
    {"respond ens2 --address 192.0.2.2", "Answers requests to 192.0.2.2."},
    {"respond ens2 --address 192.0.2.2 --memory 16MB", "With memory that READ and WRITE use."},
    {"respond ens2 --address 192.0.2.2 --sink", "Only receives, and measures stamps."},
    {"peer ens1 perftest",
     "The server of ib_write_bw, ib_send_lat and the like, until it is ended."},
    {"peer ens1 perftest write_bw 192.0.2.2 size 64KiB qps 4",
     "The client of ib_write_bw -s 65536 -q 4."},
    {"peer ens1 perftest once answers silent at 1000",
     "Answers a thousand times and no more; reports how the client gave up."},
    {"serve --ports ens1,ens2", "An OTG server on 127.0.0.1:8443 for two ports."},
    {"capture ens1 -w loss.pcapng --around gap",
     "Frames near each gap, with what the tracker found as comments."},
    {"capture ens1 -w ring.pcapng --file-size 100M --files 10", "A ring of ten files."},
    {"export", "Metrics of all attached ports, at 127.0.0.1:9479/metrics."},
    {"export ens1 --listen [::]:9479 --web.config.file web.yml",
     "For other hosts, with TLS and passwords."},
    {"export ens1 --once", "The metrics once: for a text file of node_exporter."},
    {"export --rows --interval 10s", "Every stream as a line of JSON, for a log shipper's pipe."},
    {"analyze capture.pcap", "Counts and streams of a capture; needs no privilege."},
    {"analyze capture.pcap --check", "What is wrong with the set-up."},
    {"analyze captures/ --episodes --latency", "Losses and times, of all captures in a directory."},
    {"analyze capture.pcap --out picture", "The same as a page of plots, picture/report.html."},
    {"analyze capture.pcap --rows csv", "Streams as rows for other programs."},
    {"record ens1 --out picture --for 10s", "Ten seconds of a port as a page of plots."},
    {"compare before.pcap after.pcap", "What was lost, marked or changed between two captures."},
    {"compare tap1 tap2 --for 10s", "The same of two ports of this host."},
    {"doctor", "What this kernel and its RDMA devices can do."},
    {"doctor ens1 --try", "The port too, and whether zero-copy works."},
    {"doctor ens1 --pfc-from ens2", "Whether PFC frames reach XDP."},
    {"cc list", "Congestion controls, and presets of DCQCN."},
    {"cc show paper nvidia", "Two presets, side by side."},
    {"cc predict flows 10 rate 40gbit kmin 5k kmax 200k pmax 1% delay 4us",
     "Rates and the queue that DCQCN's model says."},
    {"cc predict flows 8 rate 100gbit preset hpcc alpha-timer=55us",
     "With a preset, one parameter changed."},
    {"cc predict swift flows 8 rate 100gbit rtt 4.2us", "Rates and queue of another control."},
    {"run incast --out /tmp/incast", "An installed experiment in virtual time, with its page."},
    {"run presets --jobs 4 --set duration=100ms", "A sweep, on four processors."},
    {"run exp.yaml --on ports left=eth1,right=eth2 --out /tmp/inline",
     "An experiment of a file, in line between two hosts."},
    {"run --import netem \"delay 10ms 2ms loss gemodel 1% 30%\"",
     "Options of netem as rules and a link."},
    {"run compare /tmp/virtual /tmp/namespaces --out /tmp/both", "Two runs over one another."},
    {"run --import lumina example.yml --on namespaces --scale 1/1000 --out /tmp/lumina",
     "A configuration of Lumina, with frames, at a thousandth of its rates."},
    {"run --import hpcc config.txt --out /tmp/hpcc",
     "An experiment of HPCC's simulator, with its fct.txt."},
    {"run --import cm incast.cm leaf-spine.topo --out /tmp/htsim",
     "A connection matrix of htsim, with its topology."},
    {"find ens1 ens2 --size 66,512,1518 --confirm 60s",
     "RFC 2544's throughput of what is between two ports."},
    {"find ens1 ens2 --loss 0,0.1% --out throughput", "For two ratios of loss, with a page."},
    {"demo", "The demo, with the page xdp-roce-demo/report.html at its end."},
    {"demo --quick", "Some seconds: without the experiment."},
    {"run incast --export otg", "Its hosts and flows as an OTG configuration, for other ports."},
};

} // namespace

std::vector<Example> all_examples() {
  std::vector<Example> examples;
  for (const Row &row : kExamples)
    examples.push_back({row.line, row.what});
  return examples;
}

std::vector<Example> examples_of(const std::string &command) {
  std::vector<Example> examples = all_examples();
  std::erase_if(examples, [&command](const Example &example) {
    return example.line.substr(0, example.line.find(' ')) != command;
  });
  return examples;
}

} // namespace xr::cli
