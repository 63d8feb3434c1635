// SPDX-License-Identifier: Apache-2.0
// Calls of `otg.Openapi` as HTTP requests, and answers as messages, by the embedded otg.proto. To
// add a call: a row of kCalls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/server.h"

namespace google::protobuf {
class DescriptorPool;
class DynamicMessageFactory;
} // namespace google::protobuf

namespace xr::otg_grpc {

// A call, and the request that it is. `request`, `answer`: the members of its messages that are the
// bodies, "" for none. A name that begins with "stream" is the same request; its bodies come, or
// go, in pieces (`Data`), without the message around them.
struct Call {
  const char *name, *method, *path, *request, *answer;
};

struct Called {
  const Call *call = nullptr; // none: there is no such call
  bool pieces_in = false, pieces_out = false;
};

class Converter {
public:
  static Result<std::unique_ptr<Converter>> make();
  Converter(const Converter &) = delete;
  Converter &operator=(const Converter &) = delete;
  ~Converter();

  // By the path of a request: "/otg.Openapi/SetConfig".
  Called find(std::string_view path) const;

  // The bytes of a message as a request. `errors`: what is wrong with it. Thread safe, as the
  // other functions.
  http::Request request(const Called &called, std::string_view bytes,
                        std::vector<std::string> &errors) const;
  // The bytes of the answer's message; pieces: of its member, which `piece` makes into messages.
  Result<std::string> message(const Called &called, const http::Answer &answer) const;

  // The bytes of a `Data`, and the other way around (nothing: it is none).
  std::string piece(std::string_view bytes) const;
  Result<std::string> joined(std::string_view data) const;

private:
  Converter();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The JSON of an error, cut to what a client takes as the text of a status.
std::string short_error(const std::string &json);

} // namespace xr::otg_grpc
