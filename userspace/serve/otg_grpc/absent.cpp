// SPDX-License-Identifier: Apache-2.0
// A program without gRPC.
#include "otg_grpc/server.h"

namespace xr::otg_grpc {

struct Server::State {
  ServerOptions options;
};

bool built() { return false; }

Result<Server>
Server::start(const ServerOptions &, std::function<http::Answer(const http::Request &)>,
              std::function<http::Answer(int status, const std::vector<std::string> &errors)>) {
  return Error{"this program was built without gRPC",
               "HTTP, or a build with libgrpc++-dev and -DXDP_ROCE_GRPC=ON"};
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server &&) noexcept = default;
Server &Server::operator=(Server &&) noexcept = default;
Server::~Server() = default;

const parse::Listen &Server::listen() const { return state_->options.listen; }

} // namespace xr::otg_grpc
