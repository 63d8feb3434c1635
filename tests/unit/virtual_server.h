// SPDX-License-Identifier: Apache-2.0
// An OTG server with two ports, left0 and right0, in virtual time.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "generator/generator.h"
#include "unit/two_hosts.h"

namespace xr::generator {

class VirtualPort;

// Two ports with a wire between them.
struct VirtualNet {
  std::mutex mutex; // of all
  std::array<VirtualPort *, 2> ports{};
  std::array<bool, 2> taken{}; // as by a socket, until the port is destroyed
  test::Wire wire;
  uint64_t now = 1'000'000'000;

  void run_until(uint64_t end);
};

class VirtualPort : public endpoint::StationPort {
public:
  VirtualPort(VirtualNet &net, const endpoint::StationRequest &request)
      : net_(net), number_(request.ifname == "left0" ? 0 : 1), line_bits_(request.line_bits),
        station_(options_of(request)) {
    facts_.ifname = request.ifname;
    facts_.mac = mac(number_);
    facts_.mtu = 1500;
    const std::lock_guard guard(net_.mutex);
    net_.ports[number_] = this;
    net_.taken[number_] = true;
  }
  ~VirtualPort() override {
    (void)VirtualPort::close();
    net_.taken[number_] = false;
  }

  void call(const std::function<void(station::Station &, const EngineCounts &)> &use) override {
    const std::lock_guard guard(net_.mutex);
    counts_.now_ns = net_.now;
    use(station_, counts_);
  }
  std::vector<std::optional<packet::Mac>>
  resolve(const std::vector<station::NeighbourQuestion> &questions) override {
    return {questions.size(), mac(1 - number_)};
  }
  const endpoint::PortFacts &port() const override { return facts_; }
  uint64_t line_bits() const override { return line_bits_; }
  const std::vector<std::string> &notes() const override { return notes_; }
  std::optional<Error> failure() const override { return {}; }
  Status close() override {
    const std::lock_guard guard(net_.mutex);
    if (net_.ports[number_] == this) {
      net_.ports[number_] = nullptr;
      net_.wire = {};
    }
    return {};
  }

  void send() {
    std::array<packet::Outgoing, 16> out;
    while (const size_t count = station_.next(net_.now, out))
      for (size_t i = 0; i < count; i++) {
        test::Bytes bytes = bytes_of(out[i]);
        counts_.sent++;
        counts_.sent_bytes += bytes.size();
        if (net_.ports[1 - number_])
          net_.wire.put(net_.now + kDelayNs, number_ == 0, std::move(bytes));
      }
  }
  void receive(const test::Bytes &bytes) {
    counts_.received++;
    counts_.received_bytes += bytes.size();
    packet::deliver_frame(station_, net_.now, bytes);
  }
  uint64_t wake_at() const { return station_.wake_at(); }

private:
  static packet::Mac mac(size_t number) { return {2, 0, 0, 0, 0, static_cast<uint8_t>(number)}; }
  static station::StationOptions options_of(const endpoint::StationRequest &request) {
    station::StationOptions options{.responder = request.responder,
                                    .line_bits = static_cast<double>(request.line_bits)};
    for (const auto &each : request.addresses)
      options.responder.addresses.push_back(each.address);
    return options;
  }

  static constexpr uint64_t kDelayNs = 5'000;

  VirtualNet &net_;
  size_t number_;
  uint64_t line_bits_;
  station::Station station_;
  endpoint::PortFacts facts_;
  EngineCounts counts_;
  std::vector<std::string> notes_;
};

inline void VirtualNet::run_until(uint64_t end) {
  const std::lock_guard guard(mutex);
  while (now < end) {
    wire.deliver(now, [&](bool right, const test::Bytes &bytes) { ports[right]->receive(bytes); });
    uint64_t next = end;
    for (VirtualPort *port : ports)
      if (port) {
        port->send();
        next = std::min(next, port->wake_at());
      }
    now = std::max(now + 1, std::min(next, wire.next_at()));
  }
}

// Two ports; two QPs that send each way, and three plain flows, of which one ends by itself.
inline Json configuration() {
  Json devices = Json::array(), senders = Json::array();
  for (int side = 0; side < 2; side++) {
    const std::string id = std::to_string(side), port = side ? "right" : "left";
    const auto address = [](int number) { return "192.0.2." + std::to_string(number + 1); };
    Json qps = Json::array(), flows = Json::array();
    for (int k = 0; k < 2; k++) {
      const std::string name = fmt::format("Q{}{}", side, k);
      qps.push_back(
          {{"qp_name", name},
           {"connection_type", {{"reliable_connection", {{"source_qp_number", 33 + k}}}}}});
      flows.push_back({{"name", name}, {"tx_endpoint", name}, {"message_size_unit", "kb"}});
    }
    devices.push_back(
        {{"name", "D" + id},
         {"ethernets",
          {{{"name", "E" + id},
            {"mac", "02:00:00:00:00:0" + id},
            {"connection", {{"port_name", port}}},
            {"ipv4_addresses",
             {{{"name", "I" + id}, {"address", address(side)}, {"gateway", address(1 - side)}}}}}}},
         {"rocev2",
          {{"ipv4_interfaces",
            {{{"ipv4_name", "I" + id},
              {"peers",
               {{{"name", "P" + id},
                 {"destination_ip_address", address(1 - side)},
                 {"qps", qps}}}}}}}}}});
    senders.push_back(
        {{"port_name", port},
         {"transmit_type", {{"target_line_rate", {{"value", 20}, {"flows", flows}}}}}});
  }
  const auto plain = [](const char *name, const char *tx, const char *rx, const Json &packet,
                        const Json &duration) {
    return Json{
        {"name", name},         {"tx_rx", {{"port", {{"tx_name", tx}, {"rx_names", {rx}}}}}},
        {"packet", packet},     {"rate", {{"pps", 100}}},
        {"duration", duration}, {"metrics", {{"enable", true}, {"loss", true}}}};
  };
  const Json udp = Json::array({{{"ethernet", Json::object()}},
                                {{"ipv4", Json::object()}},
                                {{"udp", Json::object()}}}),
             tcp = Json::array({{{"ethernet", Json::object()}},
                                {{"ipv4", Json::object()}},
                                {{"tcp", Json::object()}}}),
             forever = {{"continuous", Json::object()}};
  return {
      {"ports",
       {{{"name", "left"}, {"location", "left0"}}, {{"name", "right"}, {"location", "right0"}}}},
      {"layer1",
       {{{"name", "L"}, {"port_names", {"left", "right"}}, {"speed", "speed_10_fd_mbps"}}}},
      {"devices", devices},
      {"stateful_flows", {{"rocev2", {{{"tx_ports", senders}}}}}},
      {"captures", {{{"name", "C"}, {"port_names", {"right"}}}}},
      {"flows",
       {plain("there", "left", "right", udp, forever), plain("back", "right", "left", tcp, forever),
        plain("few", "left", "right", udp, {{"fixed_packets", {{"packets", 5}}}})}}};
}

class VirtualServer : public testing::Test {
protected:
  VirtualNet net_;
  // What opening a port says instead.
  std::function<Status(const std::string &ifname)> opening_ = [](const std::string &) {
    return Status();
  };
  Generator generator_{{.netns = "",
                        .ports = {},
                        .attach = {},
                        .version = "1",
                        .note = [](const std::string &) {},
                        .open_port = [this](const endpoint::StationRequest &request)
                            -> Result<std::unique_ptr<endpoint::StationPort>> {
                          XR_TRY(opening_(request.ifname));
                          if (net_.taken[request.ifname != "left0"])
                            return Error{"queue 0 is taken"};
                          return std::unique_ptr<endpoint::StationPort>(
                              std::make_unique<VirtualPort>(net_, request));
                        },
                        .now =
                            [this] {
                              const std::lock_guard guard(net_.mutex);
                              return net_.now;
                            },
                        .wait_until = [this](uint64_t until) { net_.run_until(until); }}};
};

} // namespace xr::generator
