// SPDX-License-Identifier: Apache-2.0
// PATCH /config, /config/append and /config/delete: flows change, come and go while others run.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "generator/generator.h"
#include "otg/read_flows.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;
using otg::PlainFlow;

namespace {

Error nothing_set() { return {"there is no configuration", "POST /config"}; }

std::vector<std::string_view> names_of(const Json &flows) {
  std::vector<std::string_view> names;
  for (const Json &flow : flows)
    names.emplace_back(flow.at("name").get_ref<const std::string &>());
  return names;
}

// A configuration may have none.
const Json &flows_of(const Json &config) {
  static const Json kNone = Json::array();
  const auto flows = config.find("flows");
  return flows == config.end() ? kNone : *flows;
}

auto flow_named(auto &flows, const std::string &name) -> decltype(&*flows.begin()) {
  const auto found =
      std::ranges::find_if(flows, [&](const Json &flow) { return flow.at("name") == name; });
  return found == flows.end() ? nullptr : &*found;
}

// flows[] of an update, each with all that the configuration has of it but what it changes.
void complete_flows(Object &update, const std::vector<std::string> &properties,
                    const Json &configured) {
  Json *given = update.value("flows");
  if (!given || !given->is_array() || given->empty())
    return update.error("flows", {"it needs at least one", "[{\"name\": ...}]"});
  std::set<std::string> seen;
  for (size_t i = 0; i < given->size(); i++) {
    Json &flow = (*given)[i];
    const std::string path = fmt::format("flows[{}]", i);
    const bool named = flow.is_object() && flow.contains("name") && flow["name"].is_string();
    const Json *const known =
        named ? flow_named(configured, flow["name"].get_ref<const std::string &>()) : nullptr;
    if (!known)
      update.error(path.c_str(),
                   {named ? fmt::format("there is no flow {}", otg::shown(flow["name"]))
                          : "it needs the name of a flow",
                    parse::hint_from(named ? flow["name"].get_ref<const std::string &>() : "",
                                     names_of(configured))});
    else if (!seen.insert(flow["name"]).second)
      update.error(path.c_str(), {fmt::format("{} is there twice", otg::shown(flow["name"])), ""});
    if (!known)
      continue;
    Json whole = *known;
    for (const std::string &property : properties)
      if (flow.contains(property))
        whole[property] = flow[property];
      else
        whole.erase(property); // the model's default
    flow = std::move(whole);
  }
}

std::vector<std::string> read_properties(Object &update) {
  const std::vector<std::string_view> known = {"rate", "size"};
  auto names = update.texts("property_names");
  if (names.empty())
    update.error("property_names", {"it needs at least one", "rate or size"});
  for (const std::string &name : names)
    if (std::ranges::find(known, name) == known.end())
      update.error("property_names",
                   {fmt::format("a flow's {} cannot be changed while it runs", otg::shown(name)),
                    parse::hint_from(name, known)});
  return names;
}

// The model has a bare list; the clients that are made from it send an object with the list.
Json parsed_list(const std::string &body, Findings &findings, const char *member) {
  Json json = parsed(body, findings, "[{\"choice\": \"flows\", \"flows\": [...]}]");
  return json.is_array() ? Json{{member, std::move(json)}} : json;
}

// The configuration without its plain flows, for flows that are read beside them.
otg::Config without_flows(const otg::Config &config) {
  otg::Config made = config;
  made.plain_flows.clear();
  return made;
}

} // namespace

http::Answer Generator::update_config(const std::string &body) {
  if (!setup_)
    return failure(400, nothing_set());
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"flows\", ...}");
  Object object(json, findings, "an update");
  otg::Config changed = without_flows(setup_->config);
  const bool protocols = object.choice({"flows", "protocols"}, 0) == 1;
  object.unsupported("protocols", "flows");
  if (protocols && findings.ok())
    object.error("choice", {"'protocols' is not supported", "flows"});
  else if (!object.has("flows") && !protocols)
    object.error("flows", {"an update needs it", "{\"property_names\": [...], \"flows\": [...]}"});
  object.object("flows", "an update of flows", [&](Object &update) {
    const auto properties = read_properties(update);
    complete_flows(update, properties, flows_of(setup_->json));
    if (findings.ok())
      otg::read_flows(update, changed);
  });
  object.done();
  if (!findings.ok())
    return failures(400, findings.all_errors());

  // Flow k of a name is the k-th of that name there.
  std::vector<size_t> which;
  std::vector<PlainFlow> before;
  std::map<std::string, size_t> next;
  for (const PlainFlow &flow : changed.plain_flows) {
    size_t &from = next[flow.name];
    while (setup_->config.plain_flows[from].removed ||
           setup_->config.plain_flows[from].name != flow.name)
      from++;
    PlainFlow &own = setup_->config.plain_flows[from];
    which.push_back(from++);
    before.push_back(own);
    own.rate = flow.rate;
    own.sizes = flow.sizes;
    own.frame.stamped = flow.frame.stamped;
    own.unstamped = flow.unstamped;
  }
  for (const auto &unit : setup_->units)
    if (const Status done = unit->update_plain(which, macs()); !done) {
      for (size_t i = 0; i < which.size(); i++)
        setup_->config.plain_flows[which[i]] = before[i];
      for (const auto &each : setup_->units)
        (void)each->update_plain(which, macs());
      return failure(400, done.error());
    }
  setup_->lags->changed(which);
  for (Json &flow : json["flows"]["flows"])
    *flow_named(setup_->json["flows"], flow["name"]) = flow;
  return success(findings.all_warnings());
}

http::Answer Generator::append_config(const std::string &body) {
  if (!setup_)
    return failure(400, nothing_set());
  Findings findings;
  Json json = parsed_list(body, findings, "config_append_list");
  Object object(json, findings, "what is appended");
  otg::Config added = without_flows(setup_->config);
  std::set<std::string> taken;
  for (const PlainFlow &flow : setup_->config.plain_flows)
    if (!flow.removed)
      taken.insert(flow.name);
  for (const otg::StatefulFlow &flow : setup_->config.flows)
    taken.insert(flow.name);
  object.each("config_append_list", "an element", [&](Object &element) {
    (void)element.choice({"flows"}, 0);
    otg::read_flows(element, added, taken);
  });
  object.done();
  const size_t first = setup_->config.plain_flows.size();
  if (first + added.plain_flows.size() > otg::kMostPlainFlows)
    findings.error(
        "config_append_list",
        {fmt::format("more than {} flows, with those that were deleted", otg::kMostPlainFlows),
         "POST /config replaces all"});
  if (!findings.ok())
    return failures(400, findings.all_errors());
  const bool protocols =
      std::ranges::any_of(setup_->units, [](const auto &unit) { return unit->protocols(); });
  if (const Status done = take_appended(std::move(added.plain_flows)); !done)
    return failure(400, done.error());
  setup_->lags->add(first);
  Json &flows = setup_->json["flows"];
  for (const Json &element : json["config_append_list"])
    for (const Json &flow : element["flows"])
      flows.push_back(flow);
  std::vector<std::string> warnings = findings.all_warnings();
  if (protocols) {
    const Started started = start_protocols();
    for (const auto *each : {&started.errors, &started.warnings}) // the flows are there
      warnings.insert(warnings.end(), each->begin(), each->end());
  }
  return success(warnings);
}

// All of them or none. A port that took RoCE alone is opened once more where frames of other kinds
// are to arrive.
Status Generator::take_appended(std::vector<PlainFlow> flows) {
  const size_t first = setup_->config.plain_flows.size();
  otg::Config config = setup_->config;
  std::ranges::move(flows, std::back_inserter(config.plain_flows));
  Plan plan = setup_->plan;
  add_plain(config, plan, first);
  std::vector<size_t> again;
  for (size_t port = 0; port < setup_->units.size(); port++) {
    XR_TRY(setup_->units[port]->check_plain(config, plan, macs()));
    if (plan.ports[port].request.all_frames && !setup_->units[port]->takes_all_frames())
      again.push_back(port);
  }
  if (!again.empty())
    sample_all();
  for (const size_t port : again)
    if (is_busy(port))
      return Error{fmt::format("{} takes no frames but RoCE as it was configured, and flows use it",
                               config.ports[port].name),
                   "stop them first"};
  setup_->config = std::move(config);
  setup_->plan = std::move(plan);
  for (size_t port = 0; port < setup_->units.size(); port++)
    if (const Status done = std::ranges::find(again, port) == again.end()
                                ? setup_->units[port]->add_plain(first, macs())
                                : reopen(port);
        !done) {
      const Error error = done.error().in(setup_->config.ports[port].name);
      close_ports(); // what is left of them is of no use
      return Error{fmt::format("{}; the configuration is gone", error.message), "POST /config"};
    }
  return {};
}

// By the last readings: it sends, or others send to it.
bool Generator::is_busy(size_t port) {
  for (size_t from = 0; from < setup_->units.size(); from++) {
    const std::vector<size_t> &flows = setup_->plan.ports[from].flows;
    const std::vector<Sent> &sent = setup_->units[from]->now().sent;
    for (size_t place = 0; place < flows.size(); place++)
      if (setup_->plan.rx_ports[flows[place]] == port && sent[place].is_busy())
        return true;
  }
  return setup_->units[port]->is_busy() || setup_->lags->uses(port);
}

Status Generator::reopen(size_t port) {
  auto &unit = setup_->units[port];
  XR_TRY(unit->close());
  unit.reset(); // its socket goes before there is another
  unit =
      XR_TRY(Unit::open(setup_->config, setup_->plan, port, options_.attach, options_.open_port));
  return unit->set_flows(macs(), lines());
}

http::Answer Generator::delete_config(const std::string &body) {
  if (!setup_)
    return failure(400, nothing_set());
  Findings findings;
  Json json = parsed_list(body, findings, "config_delete_list");
  Object object(json, findings, "what is deleted");
  std::set<std::string> wanted;
  const auto known = names_of(flows_of(setup_->json));
  object.each("config_delete_list", "an element", [&](Object &element) {
    (void)element.choice({"flows"}, 0);
    for (const std::string &name : element.texts("flows"))
      if (std::ranges::find(known, name) == known.end())
        element.error("flows",
                      {fmt::format("there is no flow '{}'", name), parse::hint_from(name, known)});
      else
        wanted.insert(name);
  });
  object.done();
  if (!findings.ok())
    return failures(400, findings.all_errors());
  if (wanted.empty())
    return success(findings.all_warnings());
  change_flows(choose({wanted.begin(), wanted.end()}, object), &Unit::stop, &Lags::stop);
  for (PlainFlow &flow : setup_->config.plain_flows)
    flow.removed = flow.removed || wanted.contains(flow.name);
  plan_hops(setup_->config, setup_->plan);
  for (const auto &unit : setup_->units)
    unit->update_unstamped();
  Json &flows = setup_->json["flows"];
  flows.erase(std::remove_if(flows.begin(), flows.end(),
                             [&](const Json &flow) { return wanted.contains(flow["name"]); }),
              flows.end());
  return success(findings.all_warnings());
}

} // namespace xr::generator
