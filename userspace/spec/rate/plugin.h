// SPDX-License-Identifier: Apache-2.0
// A shared object with a congestion control (include/xdp-roce/congestion.h): its table, checked.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "rate/parameter.h"

struct xdp_roce_algorithm;

namespace xr::congestion {

class Plugin {
public:
  // `path`: of the file; without "/" it is in the current directory. Error: it cannot be loaded, is
  // of another version, or its tables are wrong.
  static Result<std::shared_ptr<const Plugin>> load(const std::string &path);
  Plugin(const Plugin &) = delete;
  Plugin &operator=(const Plugin &) = delete;
  ~Plugin() = default; // the code stays loaded: threads of the plug-in may run

  const std::string &path() const { return path_; }
  const xdp_roce_algorithm &algorithm() const { return *algorithm_; }
  std::span<const ParameterRow> rows() const { return rows_; }

private:
  Plugin(std::string path, const xdp_roce_algorithm &algorithm);

  std::string path_;
  const xdp_roce_algorithm *algorithm_;
  std::vector<ParameterRow> rows_;
};

} // namespace xr::congestion
