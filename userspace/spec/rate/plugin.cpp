// SPDX-License-Identifier: Apache-2.0
#include "rate/plugin.h"

#include <cmath>
#include <string_view>
#include <utility>

#include <dlfcn.h>

#include <fmt/format.h>

#include "xdp-roce/congestion.h"

namespace xr::congestion {

namespace {

constexpr const char *kHow = "`xdp-roce cc --help` says how to compile one";

const struct {
  const char *name;
  Unit unit;
} kUnits[] = {{"us", Unit::Microseconds},
              {"mbit", Unit::Mbit},
              {"bytes", Unit::Bytes},
              {"part", Unit::Ratio},
              {"number", Unit::Number}};

Result<Unit> unit_of(const xdp_roce_parameter &parameter) {
  for (const auto &[name, unit] : kUnits)
    if (parameter.unit && parameter.unit == std::string_view(name))
      return unit;
  return Error{fmt::format("parameter {}: '{}' is not a unit", parameter.name,
                           parameter.unit ? parameter.unit : ""),
               "us, mbit, bytes, part or number"};
}

Status check(const xdp_roce_parameter &parameter) {
  const std::string_view name = parameter.name ? parameter.name : "";
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string_view::npos)
    return Error{fmt::format("'{}' is not a name of a parameter", name),
                 "lower case, digits and `-`"};
  if (!parameter.meaning || !std::isfinite(parameter.value) || !(parameter.least <= parameter.most))
    return Error{fmt::format("parameter {} has no meaning, value or limits", name),
                 "struct xdp_roce_parameter in xdp-roce/congestion.h"};
  XR_TRY(unit_of(parameter));
  return {};
}

Status check(const xdp_roce_algorithm &algorithm) {
  if (algorithm.version != XDP_ROCE_CONGESTION_VERSION)
    return Error{fmt::format("it is of version {} of xdp-roce/congestion.h, this is {}",
                             algorithm.version, XDP_ROCE_CONGESTION_VERSION),
                 "compile it with the header of this version"};
  if (!algorithm.name || !algorithm.create || !algorithm.destroy)
    return Error{"it has no name, create or destroy", kHow};
  if ((algorithm.parameter_count && !algorithm.parameters) ||
      (algorithm.value_count && (!algorithm.values || !algorithm.read)))
    return Error{"it counts parameters or values that it does not have", kHow};
  for (uint32_t i = 0; i < algorithm.parameter_count; i++)
    XR_TRY(check(algorithm.parameters[i]));
  return {};
}

Result<const xdp_roce_algorithm *> algorithm_of(const std::string &path) {
#ifdef XR_STATIC
  // It has a C library of its own inside, and a plug-in would bring another.
  return Error{fmt::format("{} cannot be loaded: this xdp-roce is the static one", path),
               "tools/setup && cmake --preset release && cmake --build build/release"};
#endif
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{fmt::format("cannot be loaded: {}", dlerror()), kHow};
  using Get = const xdp_roce_algorithm *(*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, "xdp_roce_algorithm"));
  const xdp_roce_algorithm *algorithm = get ? get() : nullptr;
  if (!algorithm)
    return Error{"it has no function xdp_roce_algorithm()", kHow};
  XR_TRY(check(*algorithm));
  return algorithm;
}

} // namespace

Plugin::Plugin(std::string path, const xdp_roce_algorithm &algorithm)
    : path_(std::move(path)), algorithm_(&algorithm) {
  for (uint32_t i = 0; i < algorithm.parameter_count; i++) {
    const xdp_roce_parameter &p = algorithm.parameters[i];
    const Unit unit = unit_of(p).get(); // it was checked
    rows_.push_back({p.name,
                     "",
                     {unit},
                     p.least,
                     p.most,
                     p.meaning,
                     {},
                     {{{p.value, unit}, algorithm.name, false}}});
  }
}

Result<std::shared_ptr<const Plugin>> Plugin::load(const std::string &path) {
  auto algorithm = algorithm_of(path);
  if (!algorithm)
    return algorithm.error().in(path);
  return std::shared_ptr<const Plugin>(new Plugin(path, **algorithm));
}

} // namespace xr::congestion
