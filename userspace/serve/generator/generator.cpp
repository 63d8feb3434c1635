// SPDX-License-Identifier: Apache-2.0
#include "generator/generator.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "host/link.h"
#include "host/netns.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::generator {

using namespace std::chrono_literals;

const Generator::Route Generator::kRoutes[] = {
    {"POST", "/config", &Generator::set_config},
    {"GET", "/config", &Generator::get_config},
    {"PATCH", "/config", &Generator::update_config},
    {"PATCH", "/config/append", &Generator::append_config},
    {"PATCH", "/config/delete", &Generator::delete_config},
    {"POST", "/control/state", &Generator::set_state},
    {"POST", "/control/action", &Generator::act},
    {"POST", "/monitor/metrics", &Generator::metrics},
    {"POST", "/monitor/states", &Generator::states},
    {"POST", "/monitor/capture", &Generator::capture},
    {"GET", "/capabilities/version", &Generator::version},
};

namespace {

constexpr auto kSampling = 250ms;
constexpr uint64_t kOld = 200'000'000; // ns of the last reading of a port

bool link_runs(const Unit &unit) {
  const auto inside = host::enter_netns(unit.netns());
  const auto link = inside.ok() ? host::read_link({unit.ifname()}) : inside.error();
  return link.ok() && link.get().running;
}

std::string location_hint(const std::vector<std::string> &allowed) {
  return allowed.empty() ? "IF or NETNS/IF: `ip -br link` shows interfaces"
                         : fmt::format("the server has {}", fmt::join(allowed, ", "));
}

} // namespace

Generator::Generator(GeneratorOptions options) : options_(std::move(options)) {
  if (!options_.now)
    options_.now = monotonic_ns;
  if (!options_.wait_until)
    options_.wait_until = [](uint64_t until) {
      if (const uint64_t now = monotonic_ns(); until > now)
        std::this_thread::sleep_for(std::chrono::nanoseconds(until - now));
    };
  if (!options_.link_up)
    options_.link_up = link_runs;
  sampler_ = std::thread([this] { keep_sampling(); });
}

Generator::~Generator() {
  stop_ = true;
  sampler_.join();
  close_ports();
}

http::Answer Generator::answer(const http::Request &request) {
  bool known = false;
  for (const Route &route : kRoutes) {
    if (request.path != route.path)
      continue;
    known = true;
    if (request.method == route.method) {
      const std::lock_guard guard(mutex_);
      return (this->*route.handler)(request.body);
    }
  }
  if (known)
    return failure(405, {fmt::format("{} is not for {}", request.method, request.path), ""});
  std::vector<std::string_view> paths;
  for (const Route &route : kRoutes)
    paths.emplace_back(route.path);
  return failure(404, {fmt::format("there is no {}", otg::shown(Json(request.path))),
                       parse::hint_from(request.path, paths)});
}

http::Answer Generator::version(const std::string &) {
  return generator::answer({{"api_spec_version", ">=1.30.0,<2.0.0"},
                            {"sdk_version", ""},
                            {"app_version", options_.version}});
}

http::Answer Generator::get_config(const std::string &) {
  return generator::answer(setup_ ? setup_->json : Json::object());
}

// What is wrong with it leaves the configuration before as it is; a port that cannot be opened does
// not, as both may want the same ports.
http::Answer Generator::set_config(const std::string &body) {
  auto setup = std::make_unique<Setup>();
  Findings findings;
  setup->json = parsed(body, findings, "{\"ports\": [...]}");
  setup->config = otg::read_config(setup->json, findings);
  for (size_t i = 0; i < setup->config.ports.size(); i++) {
    const std::string &location = setup->config.ports[i].location;
    const bool allowed = options_.ports.empty() ||
                         std::ranges::find(options_.ports, location) != options_.ports.end();
    if (location.empty() || !allowed)
      findings.error(fmt::format("ports[{}].location", i),
                     {fmt::format("'{}' is not a port of this server", location),
                      location_hint(options_.ports)});
  }
  if (!findings.ok())
    return failures(400, findings.all_errors());
  close_ports();
  setup->plan = make_plan(setup->config, options_.netns);
  if (const Status opened = open_ports(*setup); !opened)
    return failure(400, opened.error());
  setup_ = std::move(setup);
  for (const auto &unit : setup_->units)
    if (const Status set = unit->set_flows(macs(), lines()); !set) {
      close_ports();
      return failure(400, set.error());
    }
  setup_->lags = std::make_unique<Lags>(setup_->config, setup_->plan, setup_->units,
                                        options_.link_up, options_.now);
  make_lldp();
  std::vector<std::string> warnings = findings.all_warnings();
  warnings.insert(warnings.end(), setup_->plan.notes.begin(), setup_->plan.notes.end());
  for (size_t i = 0; i < setup_->units.size(); i++) {
    Unit &unit = *setup_->units[i];
    const auto narrow = narrowed(setup_->config, i, unit.run().port());
    warnings.insert(warnings.end(), narrow.begin(), narrow.end());
    for (const std::string &note : unit.run().notes())
      options_.note(fmt::format("{}: {}", unit.ifname(), note));
  }
  if (setup_->config.auto_start) {
    const Started started = start_protocols();
    if (!started.errors.empty()) {
      close_ports();
      return failures(400, started.errors);
    }
    warnings.insert(warnings.end(), started.warnings.begin(), started.warnings.end());
  }
  return success(warnings);
}

Status Generator::open_ports(Setup &setup) {
  const std::vector<uint32_t> &cpus = options_.cpus;
  for (size_t i = 0; i < setup.config.ports.size(); i++) {
    if (!cpus.empty())
      setup.plan.ports[i].request.queues.cpus = {cpus[i % cpus.size()]};
    auto unit = Unit::open(setup.config, setup.plan, i, options_.attach, options_.open_port);
    if (!unit)
      return unit.error().in(
          fmt::format("ports[{}].location '{}'", i, setup.config.ports[i].location));
    setup.units.push_back(std::move(*unit));
  }
  return {};
}

void Generator::close_ports() {
  if (!setup_)
    return;
  set_lldp(false);
  for (const auto &unit : setup_->units)
    if (const Status closed = unit ? unit->close() : Status(); !closed)
      options_.note(fmt::format("{}: {}", unit->ifname(), closed.error().message));
  setup_.reset();
  peers_down_.clear();
  records_.clear();
}

// Neighbours that did not answer.
std::vector<std::string> Generator::unresolved() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < setup_->units.size(); i++)
    for (const NextHop &hop : setup_->plan.ports[i].next_hops)
      if (is_first_port(setup_->config, hop, i) && !setup_->units[i]->mac_of(hop))
        all.push_back(fmt::format("{}: no host answers for {}",
                                  setup_->config.interfaces[hop.interface].name,
                                  parse::address_text(hop.address)));
  return all;
}

Generator::Started Generator::start_protocols() {
  set_lldp(true);
  wait_for_lags();
  // At once, as the ports may be each other's neighbours, and one that is not there takes a second.
  std::vector<Status> results(setup_->units.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); i++)
    threads.emplace_back([&, i] { results[i] = setup_->units[i]->start_protocols(macs()); });
  for (std::thread &thread : threads)
    thread.join();
  Started started;
  share_macs(started);
  started.warnings = unresolved();
  for (size_t lag = 0; lag < setup_->config.lags.size(); lag++)
    if (!setup_->lags->is_up(lag))
      started.warnings.push_back(
          fmt::format("LAG '{}' is down: {} of its ports are up, min_links is {}",
                      setup_->config.lags[lag].name, setup_->lags->ports_up(lag),
                      setup_->config.lags[lag].min_links));
  for (const Status &result : results)
    if (!result)
      started.errors.push_back(sentence(result.error()));
  return started;
}

void Generator::stop_protocols() {
  set_lldp(false);
  setup_->lags->set_protocols(false);
  setup_->lags->watch();
  for (const auto &unit : setup_->units)
    unit->stop_protocols();
}

// Virtual devices have no line on which a frame takes a time.
LineOf Generator::lines() const {
  return [this](size_t port) -> uint64_t {
    const endpoint::PortFacts &facts = setup_->units[port]->run().port();
    return facts.bus.empty() ? 0 : facts.line_bits;
  };
}

MacOf Generator::macs() const {
  return [this](size_t port) {
    if (const otg::Lag *lag = otg::lag_of_port(setup_->config, port))
      if (const auto &mac = lag->ports.front().mac)
        return *mac;
    return setup_->units[port]->run().port().mac;
  };
}

// What arrived at all ports before what they sent.
void Generator::sample_all() {
  for (const auto &unit : setup_->units)
    unit->sample_in();
  for (const auto &unit : setup_->units)
    unit->sample_out();
}

void Generator::watch_links() {
  if (!setup_)
    return;
  setup_->links.resize(setup_->units.size());
  for (size_t port = 0; port < setup_->units.size(); port++) {
    Setup::Link &link = setup_->links[port];
    const bool up = !setup_->units[port]->run().failure() && options_.link_up(*setup_->units[port]);
    if (link.since_ns && link.up == up)
      continue;
    link = {up, realtime_ns()};
  }
}

void Generator::keep_sampling() {
  while (!stop_) {
    for (auto slept = 0ms; slept < kSampling && !stop_; slept += 50ms) {
      std::this_thread::sleep_for(50ms);
      const std::lock_guard guard(mutex_);
      if (setup_ && setup_->lags)
        setup_->lags->watch();
    }
    const std::lock_guard guard(mutex_);
    watch_links();
    const bool old = setup_ && std::ranges::any_of(setup_->units, [&](const auto &unit) {
                       return unit->now().in_ns + kOld < options_.now();
                     });
    if (old) // not when somebody asks anyway
      sample_all();
  }
}

} // namespace xr::generator
