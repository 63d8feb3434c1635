// SPDX-License-Identifier: Apache-2.0
#include "doctor/check_rdma.h"

#include <algorithm>

#include <fmt/format.h>

#include "host/congestion_settings.h"
#include "host/rdma.h"
#include "host/roce_mode.h"

namespace xr::doctor {

namespace {

constexpr const char *kPlaces =
    "where its packets can be counted: a mirror (tap) port: attach; in line: bridge; a soft-RoCE "
    "host's interface: attach; a capture: analyze. At an endpoint the traffic is the tool's own: "
    "send, respond";

// Counters of all drivers that indicate loss, congestion or a wrong configuration.
constexpr const char *kTelling[] = {
    // counters of mlx5
    "packet_seq_err", "out_of_sequence", "out_of_buffer", "local_ack_timeout_err",
    "rnr_nak_retry_err", "implied_nak_seq_err", "duplicate_request", "np_ecn_marked_roce_packets",
    "np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored", "rx_icrc_encapsulated",
    "req_remote_access_errors", "req_remote_invalid_request", "resp_remote_access_errors",
    "roce_adp_retrans", "roce_slow_restart",
    // counters of rxe
    "rcvd_seq_err", "out_of_seq_request", "completer_retry_err", "rcvd_rnr_err", "send_rnr_err",
    "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err",
    // counters of irdma
    "cnpHandled", "cnpIgnored", "cnpSent", "RxECNMrkd", "RetransSegs", "tcpRetransSegs",
    "Nak Sequence Error", "RNR received", "RNR sent", "RTO", "Rcvd Out of order packets",
    "CRC errors",
    // counters of bnxt_re
    "to_retransmits", "seq_err_naks_rcvd", "rnr_naks_rcvd", "missing_resp", "dup_req",
    "oos_drop_count", "rx_out_of_buffer", "max_retry_exceeded", "tx_cnp_pkts", "rx_cnp_pkts",
    "rx_ecn_marked_pkts"};

std::string bits(uint8_t mask) {
  std::vector<int> priorities;
  for (int i = 0; i < 8; i++)
    if (mask >> i & 1)
      priorities.push_back(i);
  return fmt::format("{}", fmt::join(priorities, ", "));
}

// Adds nothing if the user gave no peer mode.
void peer_untold(const std::string &peer, const std::string &why, Checks &checks) {
  if (!peer.empty())
    checks.push_back({"roce", "peer_mode", CheckVerdict::Unknown,
                      fmt::format("cannot check whether a peer of RoCE {} fits: {}", peer, why)});
}

// State, physical state, rate and firmware, as far as known.
std::string state_text(const host::RdmaPort &port) {
  std::vector<std::string> words;
  for (const std::string &word : {port.state, port.physical_state, port.rate})
    if (!word.empty())
      words.push_back(word);
  if (!port.firmware.empty())
    words.push_back("firmware " + port.firmware);
  return fmt::format("{}", fmt::join(words, ", "));
}

class Rdma {
public:
  Rdma(const host::Files &files, const host::RdmaPort &port, const host::LinkFacts &link,
       Checks &checks)
      : files_(files), port_(port), ifname_(link.ifname),
        where_(port.on(ifname_) ? ifname_
                                : fmt::format("{}, which {} is a port of", link.master, ifname_)),
        checks_(checks) {}

  void place() {
    if (port_.iwarp)
      return add("place", CheckVerdict::Info,
                 fmt::format("{} ({}) on {} speaks iWARP, which is RDMA over TCP: no RoCE",
                             port_.name(), driver(), where_));
    if (port_.infiniband)
      return add("place", CheckVerdict::Info,
                 fmt::format("{} ({}) on {} is an InfiniBand port: no RoCE", port_.name(), driver(),
                             where_));
    if (port_.software())
      return add("place", CheckVerdict::Ok,
                 fmt::format("{} ({}) runs over {}: XDP sees the packets that enter for it; those "
                             "it sends are seen at the other end",
                             port_.name(), port_.driver, where_));
    add("place", CheckVerdict::Warn,
        fmt::format("{} ({}) uses {}: its QPs' packets bypass the kernel, and XDP here sees "
                    "none of them",
                    port_.name(), driver(), where_),
        kPlaces);
  }

  void state() {
    const std::string text = state_text(port_);
    if (text.empty())
      return add("rdma_port", CheckVerdict::Unknown, port_.name() + " does not report its state");
    if (port_.state.empty() || port_.state.starts_with("ACTIVE")) // ACTIVE_DEFER sends too
      return add("rdma_port", CheckVerdict::Ok, fmt::format("{}: {}", port_.name(), text));
    add("rdma_port", CheckVerdict::Warn, fmt::format("{}: {}: nothing passes", port_.name(), text),
        port_.infiniband && port_.physical_state == "LinkUp"
            ? "a subnet manager makes it ACTIVE: opensm, here or in the fabric"
            : fmt::format("ip link set {} up; ethtool {}", ifname_, ifname_));
  }

  void gids() {
    if (port_.gid_types.empty())
      return add("gids", CheckVerdict::Warn,
                 fmt::format("{} has no GID: it cannot speak RoCE", port_.name()),
                 fmt::format("ip link set {} up, and give it an address", ifname_));
    const bool v2 = std::find(port_.gid_types.begin(), port_.gid_types.end(), "RoCE v2") !=
                    port_.gid_types.end();
    add("gids", v2 ? CheckVerdict::Ok : CheckVerdict::Warn,
        fmt::format("{} has GIDs of {}{}", port_.name(), fmt::join(port_.gid_types, " and "),
                    v2 ? "" : ": no RoCEv2, which is most of what is counted here"));
  }

  // Applies to RDMA-CM only: applications that exchange QPNs in other ways choose a GID, which sets
  // the mode.
  void mode(const std::string &peer) {
    const auto defaults = host::read_cm_defaults(files_, port_);
    if (!defaults) {
      add("roce_mode", CheckVerdict::Unknown, defaults.error().message, defaults.error().hint);
      return peer_untold(peer, "what RDMA-CM begins with here is not known", checks_);
    }
    const host::CmDefaults &own = defaults.get();
    add("roce_mode", CheckVerdict::Ok, fmt::format("RDMA-CM begins with RoCE {}", own.mode));
    if (own.tos)
      add("roce_tos", CheckVerdict::Ok,
          *own.tos ? fmt::format("RDMA-CM begins with TOS {} (DSCP {})", *own.tos, *own.tos >> 2)
                   : "RDMA-CM begins with TOS 0, unless the application sets its own");
    if (!peer.empty())
      fit(own.mode, peer);
  }

  void congestion() {
    if (port_.software())
      return add("ecn", CheckVerdict::Info,
                 fmt::format("{} heeds no CE marks and sends no CNPs", port_.driver));
    const auto congestion = host::read_congestion(files_, port_, ifname_);
    if (!congestion)
      return add("ecn", CheckVerdict::Unknown,
                 fmt::format("{} does not report here what it does about ECN and CNPs",
                             port_.driver.empty() ? "the driver" : port_.driver),
                 port_.driver == "mlx5" ? "mount -t debugfs none /sys/kernel/debug, as root" : "");
    role("ecn_np", congestion->np, "answers CE marks with CNPs", "roce_np");
    role("ecn_rp", congestion->rp, "slows down by CNPs (DCQCN)", "roce_rp");
    std::vector<std::string> words;
    if (congestion->cnp_dscp)
      words.push_back(fmt::format("DSCP {}", *congestion->cnp_dscp));
    if (congestion->cnp_priority)
      words.push_back(fmt::format("priority {}", *congestion->cnp_priority));
    if (congestion->cnp_interval_us)
      words.push_back(fmt::format("at least {} us apart", *congestion->cnp_interval_us));
    if (!words.empty())
      add("cnp", CheckVerdict::Ok, fmt::format("CNPs have {}", fmt::join(words, ", ")));
  }

  void counters() {
    const host::HwCounters all = host::read_hw_counters(files_, port_);
    std::vector<std::string> moved, still;
    for (const char *name : kTelling)
      if (const auto found = all.find(name); found != all.end())
        (found->second ? moved : still)
            .push_back(found->second ? fmt::format("{} {}", name, found->second) : name);
    if (moved.empty() && still.empty())
      return add("hw_counters", CheckVerdict::Unknown,
                 fmt::format("{} has no hw_counters that are known here", port_.name()));
    const std::string hint =
        fmt::format("xdp-roce streams IF --nic {} sets them beside a wire's", port_.name());
    add("hw_counters", moved.empty() ? CheckVerdict::Ok : CheckVerdict::Info,
        moved.empty()
            ? fmt::format("0 since the driver came: {}", fmt::join(still, ", "))
            : fmt::format("since the driver came: {}{}", fmt::join(moved, ", "),
                          still.empty() ? "" : fmt::format("; 0: {}", fmt::join(still, ", "))),
        moved.empty() ? "" : hint);
  }

private:
  std::string driver() const { return port_.driver.empty() ? "driver unknown" : port_.driver; }

  void fit(const std::string &own, const std::string &peer) {
    const bool out = host::modes_fit(own, peer), in = host::modes_fit(peer, own);
    if (out && in)
      return add("peer_mode", CheckVerdict::Ok,
                 fmt::format("RoCE {} here fits a peer of RoCE {}", own, peer));
    const std::string hint = fmt::format(
        "xdp-roce doctor --set-roce-mode {} --rdma-dev {} --rdma-port {}, here or the like there",
        peer, port_.device, port_.number);
    add("peer_mode", CheckVerdict::Warn,
        out ? "a peer of RoCE v2 cannot connect to a server here, which is RoCE v1; the other way "
              "works"
            : "a client here, which is RoCE v2, cannot connect to a peer of RoCE v1; the other way "
              "works",
        hint);
  }

  void role(const char *name, const std::optional<uint8_t> &mask, const char *does,
            const char *directory) {
    if (!mask)
      return;
    if (*mask)
      add(name, CheckVerdict::Ok, fmt::format("{}, at priorities {}", does, bits(*mask)));
    else
      add(name, CheckVerdict::Warn, fmt::format("off at all priorities: nothing here {}", does),
          fmt::format("echo 1 > /sys/class/net/{}/ecn/{}/enable/PRIORITY", ifname_, directory));
  }

  void add(const char *name, CheckVerdict verdict, std::string text, std::string hint = {}) {
    checks_.push_back({"roce", name, verdict, std::move(text), std::move(hint)});
  }

  const host::Files &files_;
  const host::RdmaPort &port_;
  std::string ifname_;
  std::string where_; // location of the device, for reports
  Checks &checks_;
};

void check_pfc(const PortFacts &port, bool hardware, Checks &checks) {
  const auto add = [&](CheckVerdict verdict, std::string text, std::string hint = {}) {
    checks.push_back({"roce", "pfc", verdict, std::move(text), std::move(hint)});
  };
  const auto &told = port.pfc;
  if (!told)
    return add(CheckVerdict::Unknown, told.error().message);
  const host::Pfc &pfc = told.get();
  if (!pfc.enabled)
    return add(
        hardware ? CheckVerdict::Warn : CheckVerdict::Info,
        "off at all priorities: RoCE is lossy here",
        port.command(fmt::format("dcb pfc set dev {} prio-pfc 3:on, and the same in the switch",
                                 port.link.ifname)));
  std::vector<std::string> moved;
  for (size_t i = 0; i < pfc.requests.size(); i++)
    if (pfc.requests[i] || pfc.indications[i])
      moved.push_back(fmt::format("priority {} sent {} and received {}", i, pfc.requests[i],
                                  pfc.indications[i]));
  add(CheckVerdict::Ok,
      fmt::format("on at priorities {}; {}", bits(pfc.enabled),
                  moved.empty() ? "no PFC frame yet" : fmt::format("{}", fmt::join(moved, ", "))));
}

} // namespace

void check_rdma(const host::Files &files, const PortFacts &on, const std::string &peer_mode,
                Checks &checks) {
  const host::LinkFacts &link = on.link;
  bool rdma_there = false, roce = false, hardware = false;
  for (const host::RdmaPort &port : host::read_rdma(files)) {
    if (!port.on(link.ifname) && (link.master.empty() || !port.on(link.master)))
      continue;
    Rdma rdma(files, port, link, checks);
    rdma.place();
    rdma.state();
    rdma_there = true;
    if (!port.roce())
      continue;
    roce = true;
    hardware = hardware || !port.software();
    rdma.gids();
    rdma.mode(peer_mode);
    rdma.congestion();
    rdma.counters();
  }
  const std::string none =
      fmt::format("no {} device on {}", rdma_there ? "RoCE" : "RDMA", link.ifname);
  if (!rdma_there)
    checks.push_back({"roce", "place", CheckVerdict::Ok, none + ": no packet bypasses XDP",
                      link.ifname == "lo" ? ""
                                          : fmt::format("rdma link add rxe_{} type rxe netdev {}",
                                                        link.ifname, link.ifname)});
  if (!roce)
    peer_untold(peer_mode, none, checks);
  check_pfc(on, hardware, checks);
}

void list_rdma(const host::Files &files, Checks &checks) {
  const auto ports = host::read_rdma(files);
  for (const host::RdmaPort &port : ports) {
    const std::string state = state_text(port);
    const std::string speaks = port.iwarp        ? "iWARP"
                               : port.infiniband ? "InfiniBand"
                               : port.gid_types.empty()
                                   ? "no GID"
                                   : fmt::format("{}", fmt::join(port.gid_types, ", "));
    checks.push_back(
        {"roce", "rdma_device", CheckVerdict::Info,
         fmt::format("{}: {}, on {}, {}{}{}", port.name(),
                     port.driver.empty() ? "driver unknown" : port.driver,
                     port.interfaces.empty() ? "no interface"
                                             : fmt::format("{}", fmt::join(port.interfaces, ", ")),
                     speaks, state.empty() ? "" : "; ", state),
         port.interfaces.empty() ? "" : "xdp-roce doctor " + port.interfaces.front()});
  }
  if (ports.empty())
    checks.push_back({"roce", "rdma_device", CheckVerdict::Info,
                      "no RDMA device: at an endpoint, send and respond need none", ""});
}

void rdma_elsewhere(const PortFacts &port, const std::string &peer_mode, Checks &checks) {
  checks.push_back({"roce", "place", CheckVerdict::Unknown,
                    "cannot check for RDMA devices: /sys belongs to another network namespace",
                    port.command(fmt::format("{} doctor {}", port.program, port.link.ifname))});
  peer_untold(peer_mode, "/sys belongs to another network namespace", checks);
  check_pfc(port, false, checks);
}

} // namespace xr::doctor
