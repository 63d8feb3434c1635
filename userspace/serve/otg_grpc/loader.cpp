// SPDX-License-Identifier: Apache-2.0
// The program's side of gRPC: finds and opens xdp-roce-grpc.so.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "otg_grpc/module.h"
#include "otg_grpc/server.h"

namespace xr::otg_grpc {

namespace {

namespace fs = std::filesystem;

#ifdef XR_STATIC
constexpr bool kModules = false; // a module would bring a C library of its own
#else
constexpr bool kModules = XR_GRPC;
#endif

Error without_module(std::string hint) {
  return {fmt::format("this program is without gRPC: it has no {}", kModuleFile),
          "serve without --grpc; or " + std::move(hint)};
}

fs::path program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

// PREFIX/bin/xdp-roce -> PREFIX/lib/xdp-roce, as in a build directory; then where the build would
// install it.
std::vector<fs::path> candidates() {
  const fs::path prefix = program().parent_path().parent_path();
  std::vector<fs::path> paths;
  for (const fs::path &libraries : {prefix / XR_LIBDIR, prefix / "lib", prefix / "lib64",
                                    fs::path(XR_FULL_LIBDIR)}) // an absolute XR_LIBDIR is itself
    if (const fs::path path = libraries / "xdp-roce" / kModuleFile;
        std::find(paths.begin(), paths.end(), path) == paths.end())
      paths.push_back(path);
  return paths;
}

// A root that runs a program of some folder is not given code by others who can write beside it:
// the file and its folder are root's, this user's or the owner's of the program.
Status check_owner(const fs::path &path) {
  struct stat ours = {}, found = {};
  const bool known = stat(program().c_str(), &ours) == 0;
  for (const fs::path &part : {path, path.parent_path()})
    if (stat(part.c_str(), &found) != 0 ||
        (found.st_uid != 0 && found.st_uid != geteuid() &&
         !(known && found.st_uid == ours.st_uid)) ||
        (found.st_mode & S_IWOTH))
      return Error{fmt::format("{} can be written by others than you and root", part.string()),
                   fmt::format("`ls -ld {}`", part.string())};
  return {};
}

Result<const Module *> open_module(const fs::path &path) {
  const std::string again = "install the program and this file from the same build or package";
  XR_TRY(check_owner(path));
  // It stays: its libraries cannot be unloaded.
  void *const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{fmt::format("gRPC's module cannot be loaded: {}", dlerror()),
                 "the package of this program names the libraries that it needs; tools/setup "
                 "installs them for a build"};
  auto *const entry = reinterpret_cast<ModuleEntry *>(dlsym(library, kModuleEntry));
  const Module *const module = entry ? entry() : nullptr;
  if (!module)
    return Error{fmt::format("{} is no module of this program", path.string()), again};
  if (module->build != std::string_view(XR_BUILD))
    return Error{fmt::format("{} is of another build: {}, this program is {}", path.string(),
                             module->build, XR_BUILD),
                 again};
  return module;
}

Result<const Module *> find_module() {
  if (!kModules)
    return without_module("a build with libgrpc++-dev and -DXDP_ROCE_GRPC=ON");
  std::vector<std::string> looked;
  for (const fs::path &path : candidates()) {
    std::error_code error;
    if (fs::exists(path, error))
      return open_module(path);
    looked.push_back(path.string());
  }
  return without_module(
      fmt::format("install the file with the package xdp-roce of this version, or "
                  "from a build with -DXDP_ROCE_GRPC=ON: none of {} is there",
                  fmt::join(looked, ", ")));
}

} // namespace

struct Server::State {
  parse::Listen listen;
  std::unique_ptr<Service> service;
};

bool built() { return kModules; }

Result<Server> Server::start(
    const ServerOptions &options, std::function<http::Answer(const http::Request &)> answer,
    std::function<http::Answer(int status, const std::vector<std::string> &errors)> failed) {
  const Module *const module = XR_TRY(find_module());
  ServiceOptions service;
  service.address = options.listen.text();
  if (const auto &tls = options.access()->config().tls) {
    service.certificate = tls->certificate.text;
    service.key = tls->key.text;
  }
  service.most_message = options.most_message;
  service.check = [access = options.access](const std::string &authorization) {
    return access()->check(authorization);
  };
  service.answer = std::move(answer);
  service.failed = std::move(failed);
  auto state = std::make_unique<State>();
  state->listen = options.listen;
  state->service = XR_TRY(module->start(std::move(service)));
  state->listen.port = state->service->port();
  return Server(std::move(state));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server &&) noexcept = default;
Server &Server::operator=(Server &&) noexcept = default;
Server::~Server() = default;

const parse::Listen &Server::listen() const { return state_->listen; }

} // namespace xr::otg_grpc
