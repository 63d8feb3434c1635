// SPDX-License-Identifier: Apache-2.0
// The LAGs of a configuration while it runs: which ports of each are up, and which send how much of
// the flows that a LAG sends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator/unit.h"
#include "station/lacp.h"

namespace xr::generator {

class Lags {
public:
  // Whether the link of a port is up.
  using LinkUp = std::function<bool(const Unit &)>;

  // What it is made of lives longer. The units are open.
  Lags(const otg::Config &config, const Plan &plan, const std::vector<std::unique_ptr<Unit>> &units,
       LinkUp link_up, std::function<uint64_t()> now);

  // LACP: while protocols run.
  void set_protocols(bool on) { protocols_ = on; }
  // Reads links and LACP, and hands the flows of ports that are down to the others.
  void watch();
  // Every LAG has min_links ports that are up.
  bool all_up() const;
  bool has_lacp() const;
  size_t ports_up(size_t lag) const;
  std::optional<size_t> first_up(size_t lag) const; // a port of the configuration
  bool is_up(size_t lag) const { return ports_up(lag) >= config_.lags[lag].min_links; }

  // Flows that a LAG sends: all the PlainFlows of one way, by a number.
  size_t flows() const { return flows_.size(); }
  const std::string &name(size_t flow) const;
  bool removed(size_t flow) const;
  // Plain flows of the configuration changed, or those from `first` on were added.
  void changed(const std::vector<size_t> &plain_flows);
  void add(size_t first);
  // Whether one that is not stopped leaves by this port.
  bool uses(size_t port);
  // Their indexes in Config::plain_flows.
  std::vector<size_t> plain_flows(size_t flow) const;
  size_t first_unit(size_t flow) const { return flows_[flow].members.front().unit; }
  // By the last readings of the ports.
  requester::PlainState state(size_t flow);
  requester::PlainState state_of_plain(size_t plain_flow) {
    return state(by_plain_flow_.at(plain_flow));
  }
  void start(size_t flow, uint64_t at);
  void stop(size_t flow);
  void pause(size_t flow);
  void resume(size_t flow);

  // What LACP says of a port of a LAG.
  struct LacpFacts {
    station::LacpEnd actor, partner;
    station::LacpCounts counts;
  };
  LacpFacts lacp(size_t lag, size_t member) const;
  // false: `synchronization` stays unset; the port does not speak LACP.
  void set_admin(size_t lag, size_t member, bool up);
  void set_member(size_t lag, size_t member, bool up);

private:
  struct Port {
    size_t unit = 0;
    bool up = false;                     // link, and with LACP: distributing
    bool member = true;                  // set_member()
    std::shared_ptr<station::Lacp> lacp; // nullptr: static
  };
  struct Member {
    size_t unit = 0, place = 0, plain_flow = 0;
  };
  struct Flow {
    size_t lag = 0;
    std::vector<Member> members; // by the LAG's ports
    requester::PlainState state = requester::PlainState::Stopped;
    uint64_t at = 0, end = 0; // of the start, after its delay; of its duration
    uint64_t paused_at = 0;
  };

  // Frames of a flow, and whether a port sends it, now.
  struct Progress {
    std::vector<uint64_t> frames; // by member
    bool sends = false;
  };
  Progress progress(const Flow &flow) const;
  // Stopped, if it is over.
  requester::PlainState settle(Flow &flow, const Progress &progress);
  void watch_lacp(size_t lag, const std::vector<bool> &links);
  // Stops all ports of a flow; those that are up send what is left of it, from `now` on.
  void spread(Flow &flow);

  const otg::Config &config_;
  const Plan &plan_;
  const std::vector<std::unique_ptr<Unit>> &units_;
  LinkUp link_up_;
  std::function<uint64_t()> now_;
  std::vector<std::vector<Port>> ports_; // by LAG
  std::vector<Flow> flows_;
  std::map<size_t, size_t> by_plain_flow_;
  bool protocols_ = false;
};

} // namespace xr::generator
