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

Json *flow_named(Json &flows, const std::string &name) {
  const auto found =
      std::ranges::find_if(flows, [&](const Json &flow) { return flow.at("name") == name; });
  return found == flows.end() ? nullptr : &*found;
}

// flows[] of an update, each with all that the configuration has of it but what it changes.
void complete_flows(Object &update, const std::vector<std::string> &properties, Json &configured) {
  Json *given = update.value("flows");
  if (!given || !given->is_array() || given->empty())
    return update.error("flows", {"it needs at least one", "[{\"name\": ...}]"});
  std::set<std::string> seen;
  for (size_t i = 0; i < given->size(); i++) {
    Json &flow = (*given)[i];
    const std::string path = fmt::format("flows[{}]", i);
    const bool named = flow.is_object() && flow.contains("name") && flow["name"].is_string();
    Json *const known = named ? flow_named(configured, flow["name"]) : nullptr;
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
    complete_flows(update, properties, setup_->json["flows"]);
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
  for (PlainFlow &flow : added.plain_flows)
    setup_->config.plain_flows.push_back(std::move(flow));
  add_plain(setup_->config, setup_->plan, first);
  if (const Status done = take_appended(first); !done) {
    remove_flows(first);
    return failure(400, done.error());
  }
  setup_->lags->add(first);
  Json &flows = setup_->json["flows"];
  for (const Json &element : json["config_append_list"])
    for (const Json &flow : element["flows"])
      flows.push_back(flow);
  std::vector<std::string> warnings = findings.all_warnings();
  if (std::ranges::any_of(setup_->units, [](const auto &unit) { return unit->protocols(); })) {
    const Started started = start_protocols();
    if (!started.errors.empty())
      return failures(400, started.errors);
    warnings.insert(warnings.end(), started.warnings.begin(), started.warnings.end());
  }
  return success(warnings);
}

// A port that took RoCE alone is opened once more where frames of other kinds are to arrive.
Status Generator::take_appended(size_t first) {
  for (size_t port = 0; port < setup_->units.size(); port++) {
    auto &unit = setup_->units[port];
    if (!setup_->plan.ports[port].request.all_frames || unit->takes_all_frames()) {
      XR_TRY(unit->add_plain(first, macs()));
      continue;
    }
    if (unit->is_busy())
      return Error{fmt::format("{} takes no frames but RoCE as it was configured, and sends",
                               setup_->config.ports[port].name),
                   "stop its flows first"};
    const bool protocols = unit->protocols();
    (void)unit->close();
    unit =
        XR_TRY(Unit::open(setup_->config, setup_->plan, port, options_.attach, options_.open_port));
    XR_TRY(unit->set_flows(macs(), lines()));
    if (protocols)
      XR_TRY(unit->start_protocols(macs()));
  }
  return {};
}

// Flows from `first` on were never there.
void Generator::remove_flows(size_t first) {
  auto &flows = setup_->config.plain_flows;
  for (size_t i = first; i < flows.size(); i++)
    flows[i].removed = true;
}

http::Answer Generator::delete_config(const std::string &body) {
  if (!setup_)
    return failure(400, nothing_set());
  Findings findings;
  Json json = parsed_list(body, findings, "config_delete_list");
  Object object(json, findings, "what is deleted");
  std::set<std::string> wanted;
  const auto known = names_of(setup_->json["flows"]);
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
  for (const auto &unit : setup_->units)
    unit->update_unstamped();
  Json &flows = setup_->json["flows"];
  if (flows.is_array())
    flows.erase(std::remove_if(flows.begin(), flows.end(),
                               [&](const Json &flow) { return wanted.contains(flow["name"]); }),
                flows.end());
  return success(findings.all_warnings());
}

} // namespace xr::generator
