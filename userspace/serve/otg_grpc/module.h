// SPDX-License-Identifier: Apache-2.0
// What the program and xdp-roce-grpc.so know of one another. The module has gRPC and protobuf,
// which take longer to load than most commands to run; it has no function of our libraries, and
// calls those it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/access.h"
#include "http/server.h"

namespace xr::otg_grpc {

struct ServiceOptions {
  std::string address;          // ADDRESS:PORT; port 0: any free one
  std::string certificate, key; // PEM; "": without TLS
  size_t most_message;          // bytes
  std::function<http::Access::Verdict(const std::string &authorization)> check;
  std::function<http::Answer(const http::Request &)> answer;
  std::function<http::Answer(int status, const std::vector<std::string> &errors)> failed;
};

// A server that runs. Calls that are being answered end before its destructor does.
class Service {
public:
  virtual ~Service() = default;
  virtual uint16_t port() const = 0; // the actual one
};

Result<std::unique_ptr<Service>> start_service(ServiceOptions options);

// The first member is all that another build may read: what is between the two is C++.
struct Module {
  const char *build; // XR_BUILD of the module
  Result<std::unique_ptr<Service>> (*start)(ServiceOptions options);
};

constexpr const char *kModuleFile = "xdp-roce-grpc.so";
constexpr const char *kModuleEntry = "xdp_roce_grpc"; // of type ModuleEntry
using ModuleEntry = const Module *();

} // namespace xr::otg_grpc
