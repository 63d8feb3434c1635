// SPDX-License-Identifier: Apache-2.0
// An Open Traffic Generator server: answers requests of the API (https://otg.dev, model 1.61), and
// has the ports of the configuration. For any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "generator/answer.h"
#include "generator/lags.h"
#include "generator/unit.h"

namespace xr::generator {

struct GeneratorOptions {
  std::string netns;              // of locations without one; "": the caller's
  std::vector<std::string> ports; // locations that a configuration may use; empty: any
  datapath::AttachOptions attach;
  std::vector<uint32_t> cpus = {}; // processors of the ports' threads, in turn; none: any
  std::string version;             // of the program
  std::function<void(const std::string &)> note; // prints a sentence at the server
  // Tests have other ports, and another clock: ns, and a wait until a time of it.
  OpenPort open_port = endpoint::StationRun::open;
  std::function<uint64_t()> now = {};
  std::function<void(uint64_t)> wait_until = {};
  Lags::LinkUp link_up = {};
};

struct TaggedRow; // of metrics

class Generator {
public:
  explicit Generator(GeneratorOptions options);
  Generator(const Generator &) = delete;
  Generator &operator=(const Generator &) = delete;
  ~Generator(); // restores the ports

  http::Answer answer(const http::Request &request);

private:
  using Handler = http::Answer (Generator::*)(const std::string &body);
  struct Route {
    const char *method, *path;
    Handler handler;
  };
  static const Route kRoutes[];

  // A configuration and its ports.
  struct Setup {
    Setup() noexcept(false) = default; // members may throw
    Json json;                         // with defaults
    otg::Config config;
    Plan plan;
    std::vector<std::unique_ptr<Unit>> units;
    std::set<std::string> untagged_told; // flows
    // The state of each port's link, and since when it is known: CLOCK_REALTIME.
    struct Link {
      bool up = false;
      uint64_t since_ns = 0;
    };
    std::vector<Link> links;
    std::unique_ptr<Lags> lags;                       // of the units, when all are open
    std::vector<std::shared_ptr<station::Lldp>> lldp; // by otg::Config::lldp
  };
  // What a request selects, and what it cannot.
  struct Chosen {
    std::vector<Unit::Places> places; // by port
    std::vector<size_t> flows, plain; // of the configuration
    std::vector<size_t> of_lags;      // by number in Lags; none of the above
  };

  http::Answer set_config(const std::string &body);
  http::Answer get_config(const std::string &body);
  http::Answer update_config(const std::string &body);
  http::Answer append_config(const std::string &body);
  http::Answer delete_config(const std::string &body);
  http::Answer set_state(const std::string &body);
  http::Answer act(const std::string &body);
  http::Answer metrics(const std::string &body);
  http::Answer states(const std::string &body);
  http::Answer capture(const std::string &body);
  http::Answer version(const std::string &body);

  Status take_appended(std::vector<otg::PlainFlow> flows);
  bool is_busy(size_t port);
  Status reopen(size_t port);
  Status open_ports(Setup &setup);
  void close_ports();
  // `errors`: of flows that a port cannot send; `warnings`: neighbours that did not answer.
  struct Started {
    std::vector<std::string> errors, warnings;
  };
  Started start_protocols();
  void stop_protocols();
  void wait_for_lags();
  void make_lldp();
  void set_lldp(bool on);
  void share_macs(Started &started);
  std::vector<std::string> unresolved() const;

  void set_traffic(otg::Object &object, Findings &findings);
  void transmit(const std::vector<std::string> &names, size_t state, Findings &findings,
                otg::Object &object);
  void start_flows(Chosen chosen, otg::Object &object);
  void change_flows(const Chosen &chosen, void (Unit::*of_port)(const Unit::Places &),
                    void (Lags::*of_lag)(size_t));
  void leave_out_started(Chosen &chosen);
  void set_protocol(otg::Object &object);
  void set_peers(otg::Object &object);
  void set_lacp(otg::Object &object);
  void set_port(otg::Object &object);
  void set_link(otg::Object &object);
  void set_capture(otg::Object &object);
  Json ping(otg::Object &object, bool ipv4);
  size_t sending_port(const otg::Ethernet &ethernet) const;
  std::optional<size_t> interface_of(const std::string &name, bool ipv4) const;
  const otg::Capture *capture_of(size_t port) const; // the first
  station::RecordOptions record_options(size_t port) const;
  Chosen choose(const std::vector<std::string> &names, otg::Object &object) const;
  std::vector<size_t> choose_ports(const std::vector<std::string> &names,
                                   otg::Object &object) const;

  // Rows, with commas between them.
  std::string port_metrics(otg::Object &request);
  std::string flow_metrics(otg::Object &request);
  std::string lag_metrics(otg::Object &request);
  std::string lacp_metrics(otg::Object &request);
  std::string lldp_metrics(otg::Object &request);
  Json lldp_neighbours(otg::Object &request) const;
  std::vector<size_t> choose_lldp(otg::Object &request) const;
  std::vector<size_t> choose_lags(otg::Object &request, bool lacp) const;
  using TaggedRows = std::map<std::vector<std::string>, TaggedRow>; // by the values of tags
  void add_tagged(size_t port, size_t place, TaggedRows &rows);
  std::string qp_metrics(otg::Object &request);
  std::string peer_metrics(otg::Object &request, bool ipv4);
  Json neighbours(otg::Object &request, bool ipv4) const;
  MacOf macs() const;
  LineOf lines() const;
  void sample_all();
  void keep_sampling();
  void watch_links();

  GeneratorOptions options_;
  std::mutex mutex_; // of what follows
  std::unique_ptr<Setup> setup_;
  std::map<size_t, bool> peers_down_;                             // by the peer's index
  std::map<size_t, std::optional<station::FrameRecord>> records_; // stopped ones, by port
  std::atomic<bool> stop_{false};
  std::thread sampler_;
};

} // namespace xr::generator
