// SPDX-License-Identifier: Apache-2.0
// The one symbol of xdp-roce-grpc.so.
#include "otg_grpc/module.h"

extern "C" [[gnu::visibility("default")]] const xr::otg_grpc::Module *xdp_roce_grpc() {
  static constexpr xr::otg_grpc::Module module = {XR_BUILD, xr::otg_grpc::start_service};
  return &module;
}
