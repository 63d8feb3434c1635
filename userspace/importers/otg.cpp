// SPDX-License-Identifier: Apache-2.0
#include "importers/otg.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/experiment_text.h"
#include "importers/otg_file.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

constexpr uint64_t kDuration = 20'000'000; // ns: flows of OTG go on until they are stopped
constexpr uint64_t kGbit = 100;
constexpr unsigned kMostTimeout = 31; // of the code

class Importer {
public:
  Importer(const OtgFile &file, std::string name) : file_(file), name_(std::move(name)) {}

  Result<ImportedExperiment> make() {
    out_.comments = {"Imported from OTG. Flows of OTG go on until they are stopped: duration is "
                     "not from there."};
    out_.name = "OTG: " + name_.substr(name_.rfind('/') + 1);
    out_.duration_ns = kDuration;
    out_.sample_ns = kDuration / 200;
    if (Status s = hosts(); !s)
      return s.error();
    if (Status s = port(); !s)
      return s.error();
    if (Status s = flows(); !s)
      return s.error();
    out_.expect = {"sum(flows.drops) == 0", "sum(flows.failed) == 0"};
    const std::set<std::string> unused(file_.unused.begin(), file_.unused.end());
    if (!unused.empty())
      notes_.push_back(fmt::format("without an effect here: {}", fmt::join(unused, ", ")));
    return ImportedExperiment{out_.yaml(), std::move(notes_)};
  }

private:
  Error wrong(const std::string &what, std::string hint = {}) const {
    return {fmt::format("{}: {}", name_, what), std::move(hint)};
  }

  static unsigned index_of(std::vector<std::string> &all, const std::string &address) {
    const auto found = std::find(all.begin(), all.end(), address);
    const auto index = static_cast<unsigned>(found - all.begin());
    if (found == all.end())
      all.push_back(address);
    return index;
  }

  Status hosts() {
    uint64_t gbit = 0;
    for (const OtgFlow &flow : file_.flows) {
      const OtgQp &qp = file_.qps.at(flow.tx);
      index_of(senders_, qp.source);
      index_of(receivers_, qp.destination);
      const auto speed = file_.gbit.find(qp.port);
      const uint64_t own = speed == file_.gbit.end() ? kGbit : speed->second;
      if (gbit && gbit != own)
        return wrong("the ports have different speeds", "an experiment has one rate of hosts");
      gbit = own;
    }
    out_.star = receivers_.size() == 1;
    out_.senders = static_cast<unsigned>(out_.star ? senders_.size()
                                                   : std::max(senders_.size(), receivers_.size()));
    out_.rate = fmt::format("{}gbit", gbit);
    if (file_.gbit.empty())
      notes_.push_back(fmt::format("there is no layer1 with a speed: {}", out_.rate));
    return {};
  }

  // The options of the ports that send; all must agree.
  Status port() {
    const OtgPort *first = nullptr;
    for (const OtgFlow &flow : file_.flows) {
      const auto at = file_.ports.find(file_.qps.at(flow.tx).port);
      const OtgPort *own = at == file_.ports.end() ? nullptr : &at->second;
      if (first && own && !same(*first, *own))
        return wrong(fmt::format("{} has other options than a port before it", at->first),
                     "the same options for all ports");
      first = first ? first : own;
    }
    if (!first)
      return {};
    if (first->dcqcn)
      out_.congestion = fmt::format("dcqcn preset otg{}{}", first->dcqcn_words.empty() ? "" : " ",
                                    fmt::join(first->dcqcn_words, " "));
    if (first->cnp_interval_us)
      out_.cnp = fmt::format("interval: {}us", *first->cnp_interval_us);
    reliability(*first);
    return {};
  }
  static bool same(const OtgPort &a, const OtgPort &b) {
    return a.dcqcn == b.dcqcn && a.dcqcn_words == b.dcqcn_words &&
           a.cnp_interval_us == b.cnp_interval_us && a.timeout_ms == b.timeout_ms &&
           a.retries == b.retries && a.timer == b.timer;
  }

  // The timer of an RNIC is 4.096 us x 2^code: the next one above.
  void reliability(const OtgPort &port) {
    std::vector<std::string> words;
    if (!port.timer) {
      words.emplace_back("timeout: 0");
    } else if (port.timeout_ms) {
      unsigned code = 1;
      while (code < kMostTimeout &&
             4.096e-3 * std::pow(2, code) < static_cast<double>(*port.timeout_ms))
        code++;
      words.push_back(fmt::format("timeout: {}", code));
      notes_.push_back(fmt::format("retransmission_timeout_value: {} ms is {:.4g} ms, the next of "
                                   "4.096 us x 2^N",
                                   *port.timeout_ms, 4.096e-3 * std::pow(2, code)));
    }
    if (port.retries)
      words.push_back(fmt::format("retries: {}", *port.retries));
    out_.reliability = fmt::format("{}", fmt::join(words, ", "));
  }

  Status flows() {
    for (const OtgFlow &flow : file_.flows) {
      const OtgQp &qp = file_.qps.at(flow.tx);
      if (const auto name = parse::name(flow.name); !name)
        return wrong(fmt::format("flow '{}': {}", flow.name, name.error().message),
                     name.error().hint);
      // The port's share of the line is for all of its flows.
      const auto beside = std::ranges::count_if(file_.flows, [&](const OtgFlow &other) {
        return file_.qps.at(other.tx).source == qp.source;
      });
      std::string words =
          fmt::format("{} size {} pmtu {} dscp {} ecn {} port {} psn {}", flow.verb,
                      flow.size * flow.unit, qp.mtu, qp.dscp, qp.ecn, qp.udp_port, qp.psn);
      if (!qp.va.empty())
        words += " va 0x" + qp.va;
      if (!qp.rkey.empty())
        words += " rkey 0x" + qp.rkey;
      if (!flow.immediate.empty())
        words += " imm 0x" + flow.immediate;
      if (out_.congestion == "none")
        words += fmt::format(" rate {:.6g}%",
                             static_cast<double>(flow.percent) / static_cast<double>(beside));
      out_.flows.push_back(
          {flow.name, fmt::format("sender-{}", index_of(senders_, qp.source) + 1),
           out_.star ? "receiver"
                     : fmt::format("receiver-{}", index_of(receivers_, qp.destination) + 1),
           words});
      numbers_.push_back(fmt::format("{}: {}", flow.name, qp.number));
    }
    notes_.push_back(fmt::format("QPNs are those of the place where it runs, not {}",
                                 fmt::join(numbers_, ", ")));
    if (out_.congestion != "none")
      notes_.emplace_back("target_line_rate: with DCQCN a QP begins at the rate of the line");
    return {};
  }

  const OtgFile &file_;
  std::string name_;
  ExperimentText out_;
  std::vector<std::string> senders_, receivers_, numbers_, notes_;
};

} // namespace

Result<ImportedExperiment> otg(const std::string &text, const std::string &name) {
  const auto file = read_otg(text, name);
  if (!file)
    return file.error();
  return Importer(file.get(), name).make();
}

} // namespace xr::importers
