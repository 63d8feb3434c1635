// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_experiment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "importers/hpcc_control.h"
#include "parse/value.h"

namespace xr::importers {

namespace {

constexpr uint64_t kBegins = 2'000'000'000;                // ns: when flows of its generator begin
constexpr double kUsualStop = 3.01;                        // s, of its code
constexpr double kMostStop = 1e6;                          // s; above: it does not stop
constexpr uint32_t kMostPayload = 65536, kMostPmtu = 4096; // bytes
constexpr uint32_t kHpccFrameOverhead = 62; // bytes of a frame with FCS that are not payload

class HpccImporter {
public:
  HpccImporter(HpccConfig config, HpccNetwork network, HpccFlows flows)
      : config_(std::move(config)), network_(std::move(network)), flows_(std::move(flows)),
        dialect_(network_.simai      ? HpccDialect::SimAi
                 : network_.inet_tub ? HpccDialect::InetTub
                                     : config_.dialect) {}

  Result<ImportedExperiment> make() {
    XR_TRY(times());
    XR_TRY(packets());
    const auto control = XR_TRY(hpcc_control(config_));
    const auto flows = XR_TRY(flow_entries(control));
    const auto queues = XR_TRY(hpcc_queues(config_, network_, priorities()));
    const auto routing = XR_TRY(routing_words());
    std::string &yaml = out_.yaml;
    yaml = fmt::format("# Imported from {0} ({1}): host i is ni, switch i is si\n"
                       "experiment: \"HPCC: {0}\"\nseed: {2:.0f}\n{3}\n"
                       "measure: {{from: 0s}}\n",
                       file_name(), hpcc_dialect_name(dialect_), config_.number("RANDOM_SEED", 1),
                       stop_ns_ == UINT64_MAX
                           ? "until: done"
                           : "duration: " + parse::duration_text(stop_ns_ - out_.begins_ns));
    yaml += hpcc_topology(network_);
    yaml += fmt::format("routing: {}\nqueue:\n  words: \"{}\"\n", routing, queues.words);
    for (const auto &[name, words] : queues.others)
      yaml += fmt::format("  \"{}\": \"{}\"\n", name, words);
    if (config_.flag("ENABLE_IRN", false))
      yaml += "reliability: {retransmit: selective}\n";
    yaml += flows;
    rules();
    XR_TRY(failure());
    notes();
    out_.notes.insert(out_.notes.begin(), config_.notes.begin(), config_.notes.end());
    return std::move(out_);
  }

private:
  // Without directories, and what YAML's quotes do not allow.
  std::string file_name() const {
    std::string name = config_.name.substr(config_.name.rfind('/') + 1);
    std::erase_if(name, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; });
    return name;
  }
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  // When the simulator stops, ns of its own time; 0: when all flows are done.
  Result<uint64_t> stop() {
    if (dialect_ == HpccDialect::Conweave && !config_.has("SIMULATOR_STOP_TIME")) {
      note("conweave-ns3 has no SIMULATOR_STOP_TIME: until all flows are done, as there");
      return uint64_t{0};
    }
    const double stop = config_.number("SIMULATOR_STOP_TIME", kUsualStop);
    if (!config_.has("SIMULATOR_STOP_TIME"))
      note(fmt::format("SIMULATOR_STOP_TIME: {} s, the simulator's default", kUsualStop));
    if (stop > kMostStop) {
      note(fmt::format("SIMULATOR_STOP_TIME {:.0f} s: until all flows are done", stop));
      return uint64_t{0};
    }
    return static_cast<uint64_t>(std::llround(stop * 1e9));
  }

  // Flows at or after the stop never begin there.
  Status times() {
    const uint64_t stop_ns = XR_TRY(stop());
    out_.begins_ns = std::min(kBegins, flows_.flows.front().start_ns);
    if (stop_ns && flows_.flows.front().start_ns >= stop_ns)
      return config_.wrong(
          "SIMULATOR_STOP_TIME",
          fmt::format("{} s: no flow has begun", static_cast<double>(stop_ns) / 1e9),
          "later than the start of the first flow");
    const auto late = [stop_ns](const HpccFlow &flow) { return flow.start_ns >= stop_ns; };
    const size_t left_out = stop_ns ? std::erase_if(flows_.flows, late) : 0;
    if (left_out)
      note(fmt::format("{} {} at or after SIMULATOR_STOP_TIME, and {} left out",
                       counted(left_out, "flow"), verb(left_out, "starts", "start"),
                       verb(left_out, "is", "are")));
    const auto endless =
        std::ranges::count_if(flows_.flows, [](const HpccFlow &flow) { return is_endless(flow); });
    if (endless == static_cast<std::ptrdiff_t>(flows_.flows.size()) && !stop_ns)
      return Error{fmt::format("{}: no flow ends, and neither does the simulator", config_.name),
                   "SIMULATOR_STOP_TIME 0.1"};
    if (endless)
      note(fmt::format("{} of 4 GiB or more never {}",
                       counted(static_cast<uint64_t>(endless), "flow"),
                       verb(static_cast<uint64_t>(endless), "ends", "end")));
    note(fmt::format("the run begins at {} s of the simulator: starts, LINK_DOWN and "
                     "SIMULATOR_STOP_TIME are counted from there",
                     static_cast<double>(out_.begins_ns) * 1e-9));
    stop_ns_ = stop_ns ? stop_ns : UINT64_MAX;
    return {};
  }

  static bool is_endless(const HpccFlow &flow) { return flow.bytes > UINT32_MAX; }

  Status packets() {
    const double payload = config_.number("PACKET_PAYLOAD_SIZE", 1000);
    if (payload < 64 || payload > kMostPayload)
      return config_.wrong("PACKET_PAYLOAD_SIZE", fmt::format("{} bytes", payload),
                           fmt::format("from 64 to {} bytes", kMostPayload));
    payload_ = static_cast<uint32_t>(payload);
    sent_ = std::min(payload_ & ~3U, kMostPmtu);
    if (sent_ != payload_)
      note(fmt::format("PACKET_PAYLOAD_SIZE {}: packets carry {} bytes here, {}", payload_, sent_,
                       sent_ == kMostPmtu ? "the largest PMTU" : "a multiple of 4"));
    const double every = config_.number("L2_ACK_INTERVAL", 1);
    if (every < 1 || every > 1024)
      return config_.wrong("L2_ACK_INTERVAL", fmt::format("{} packets", every), "from 1 to 1024");
    ack_every_ = static_cast<uint32_t>(every);
    if (config_.flag("L2_BACK_TO_ZERO", false))
      return config_.wrong("L2_BACK_TO_ZERO", "our requesters do not return to the chunk's start",
                           "L2_BACK_TO_ZERO 0: they go back to the missing packet");
    return {};
  }

  std::string priorities() const {
    std::set<uint32_t> all;
    for (const HpccFlow &flow : flows_.flows)
      all.insert(flow.priority);
    return fmt::format("{}", fmt::join(all, ","));
  }

  // The congestion control of a pair, with its window and base RTT.
  std::string control_of(const HpccControl &control, uint64_t rtt_ns, uint64_t bdp) {
    std::string words = control.words;
    if (words == "none")
      return words;
    if (config_.flag("HAS_WIN", control.mode == 3))
      words += fmt::format(" window {}{}", std::clamp<uint64_t>(bdp, 1, UINT32_MAX),
                           config_.flag("VAR_WIN", false) ? " vary" : "");
    if (control.mode == 3)
      words += fmt::format(" base-rtt={}ns int-multi={}", rtt_ns, config_.number("INT_MULTI", 1));
    return words;
  }

  // An entry for each congestion control and priority: their flows are a list.
  Result<std::string> flow_entries(const HpccControl &control) {
    const HpccPaths paths(network_, payload_);
    const bool global = config_.flag("GLOBAL_T", true);
    const HpccPaths::Largest largest = global ? paths.largest() : HpccPaths::Largest();
    if (global)
      note(fmt::format("GLOBAL_T 1: base RTT {} ns, window {} bytes for all pairs", largest.rtt_ns,
                       largest.bdp));
    std::map<uint32_t, std::vector<HpccPath>> from;
    std::map<std::pair<uint32_t, uint32_t>, uint16_t> of_pair;
    std::map<std::pair<std::string, uint32_t>, std::vector<size_t>> groups;
    std::vector<FctFlow> fct;
    for (const HpccFlow &flow : flows_.flows) {
      if (!from.contains(flow.src))
        from[flow.src] = paths.from(flow.src);
      const HpccPath &path = from[flow.src][flow.dst];
      if (!path.rate)
        return Error{fmt::format("{}: there is no path from host {} to host {}", config_.name,
                                 flow.src, flow.dst),
                     "add links to the topology"};
      groups[{control_of(control, global ? largest.rtt_ns : path.rtt_ns,
                         global ? largest.bdp : path.bdp()),
              flow.priority}]
          .push_back(fct.size());
      const uint16_t number = of_pair[{flow.src, flow.dst}]++;
      fct.push_back({address(flow.src), address(flow.dst), static_cast<uint16_t>(10000 + number),
                     static_cast<uint16_t>(flow.port), flow.bytes,
                     hpcc_standalone_ns(flow.bytes, payload_, path)});
    }
    std::string yaml = "flows:\n";
    for (const auto &[key, members] : groups) {
      yaml += entry(key.first, key.second, members);
      for (const size_t index : members)
        out_.fct_flows.push_back(fct[index]);
    }
    return yaml;
  }

  std::string entry(const std::string &control, uint32_t priority,
                    const std::vector<size_t> &members) const {
    std::string yaml = fmt::format("  - congestion: \"{}\"\n"
                                   "    words: \"write frame-size {} dscp {} ack-every {}\"\n"
                                   "    list: |\n",
                                   control, sent_ + kHpccFrameOverhead, 8 * priority, ack_every_);
    for (const size_t index : members) {
      const HpccFlow &flow = flows_.flows[index];
      yaml += fmt::format("      {} {} {} {}ns\n", network_.name_of(flow.src),
                          network_.name_of(flow.dst),
                          is_endless(flow) ? "endless" : std::to_string(flow.bytes),
                          flow.start_ns - out_.begins_ns);
    }
    return yaml;
  }

  static uint32_t address(uint32_t node) {
    return 0x0b000001 + (node / 256 << 16) + (node % 256 << 8);
  }

  Result<std::string> routing_words() {
    struct Mode {
      unsigned number;
      const char *name;
    };
    constexpr Mode kModes[] = {{2, " (DRILL)"}, {3, " (CONGA)"}, {9, " (ConWeave)"}};
    const double mode = config_.number("LB_MODE", 0);
    if (mode == 0)
      return std::string("ecmp 5-tuple");
    if (mode == 6) {
      note("LB_MODE 6 (LetFlow): flowlets end after 100 us without a packet, which is chosen here");
      return std::string("flowlet 100us");
    }
    const auto *known = std::ranges::find(kModes, mode, &Mode::number);
    return config_.wrong(
        "LB_MODE",
        fmt::format("{}{} is not here", mode, known == std::end(kModes) ? "" : known->name),
        "0 (ECMP) or 6 (LetFlow)");
  }

  // Losses of links, both ways.
  void rules() {
    const double others = config_.number("ERROR_RATE_PER_LINK", 0);
    std::string rules;
    for (const HpccNetwork::Link &link : network_.links) {
      const double error = link.error > 0 ? link.error : others;
      for (const uint32_t from : {link.a, link.b})
        if (error > 0)
          rules += fmt::format("  - {{link: \"{}\", words: \"probability {} drop\"}}\n",
                               network_.queue_name(link, from), std::min(error, 1.0));
    }
    if (!rules.empty())
      out_.yaml += "rules:\n" + rules;
  }

  // LINK_DOWN t a b: t us after 2 s.
  Status failure() {
    const std::vector<double> down = config_.numbers("LINK_DOWN");
    if (down.empty() || down[0] == 0)
      return {};
    const auto link = std::ranges::find_if(network_.links, [&](const HpccNetwork::Link &l) {
      return (l.a == down[1] && l.b == down[2]) || (l.a == down[2] && l.b == down[1]);
    });
    if (link == network_.links.end())
      return config_.wrong("LINK_DOWN", fmt::format("no link joins {} and {}", down[1], down[2]),
                           "LINK_DOWN US NODE NODE; 0 0 0: none");
    const uint64_t at = kBegins + static_cast<uint64_t>(down[0]) * 1000;
    if (at >= stop_ns_) {
      note("LINK_DOWN is after SIMULATOR_STOP_TIME");
      return {};
    }
    const bool first = network_.is_switch[link->a];
    out_.yaml += fmt::format("schedule:\n  - {{at: {}, do: \"link {}-{} down\"}}\n",
                             parse::duration_text(at - out_.begins_ns),
                             network_.name_of(first ? link->a : link->b),
                             network_.name_of(first ? link->b : link->a));
    return {};
  }

  void notes() {
    note(fmt::format("dialect: {}", hpcc_dialect_name(dialect_)));
    if (const size_t unlinked = network_.unlinked())
      note(fmt::format("{} nodes have no link, and are left out", unlinked));
    if (network_.nvswitches)
      note(fmt::format("{} NVSwitches are switches like others", network_.nvswitches));
    if (config_.has("TRACE_FILE"))
      note(fmt::format("TRACE_FILE {}: nothing is traced here (`capture` keeps packets)",
                       config_.text("TRACE_FILE")));
    if (flows_.ignored)
      note(fmt::format("the flow file has {} more words after its last flow: comment there too",
                       flows_.ignored));
    if (network_.ignored)
      note(fmt::format("the topology file has {} more words after its last link: not read there "
                       "either",
                       network_.ignored));
    note("packets have RoCEv2's headers, not 48 bytes, and the paths that ECMP takes are of our "
         "hash, with UDP source ports of our own");
    std::vector<std::string> unused;
    for (const auto &[name, value] : config_.values)
      if (!config_.used.contains(name))
        unused.push_back(name);
    if (!unused.empty())
      note(fmt::format("without an effect here: {}", fmt::join(unused, ", ")));
  }

  HpccConfig config_;
  HpccNetwork network_;
  HpccFlows flows_;
  HpccDialect dialect_;
  ImportedExperiment out_;
  uint64_t stop_ns_ = 0;
  uint32_t payload_ = 1000, sent_ = 1000; // bytes of a packet, there and here
  uint32_t ack_every_ = 1;
};

} // namespace

Result<ImportedExperiment> hpcc_experiment(HpccConfig config, HpccNetwork network,
                                           HpccFlows flows) {
  return HpccImporter(std::move(config), std::move(network), std::move(flows)).make();
}

} // namespace xr::importers
