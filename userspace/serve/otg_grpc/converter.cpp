// SPDX-License-Identifier: Apache-2.0
#include "otg_grpc/converter.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wire_format_lite.h>
#include <nlohmann/json.hpp>

#include "otg_grpc/assets.h"

namespace xr::otg_grpc {

namespace pb = google::protobuf;

namespace {

constexpr std::string_view kService = "/otg.Openapi/", kStream = "stream";
constexpr int kMostDepth = 100;
constexpr size_t kMostFields = 4'000'000; // of a message, at all depths: each costs memory
constexpr size_t kMostErrors = 100;
// Bytes of a status' text, encoded. Clients take headers of 8 KiB.
constexpr size_t kMostText = 6000;

constexpr Call kCalls[] = {
    {"SetConfig", "POST", "/config", "config", "warning"},
    {"GetConfig", "GET", "/config", "", "config"},
    {"UpdateConfig", "PATCH", "/config", "config_update", "warning"},
    {"AppendConfig", "PATCH", "/config/append", "config_append", "warning"},
    {"DeleteConfig", "PATCH", "/config/delete", "config_delete", "warning"},
    {"SetControlState", "POST", "/control/state", "control_state", "warning"},
    {"SetControlAction", "POST", "/control/action", "control_action", "control_action_response"},
    {"GetMetrics", "POST", "/monitor/metrics", "metrics_request", "metrics_response"},
    {"GetStates", "POST", "/monitor/states", "states_request", "states_response"},
    {"GetCapture", "POST", "/monitor/capture", "capture_request", "response_bytes"},
    {"GetVersion", "GET", "/capabilities/version", "", "version"},
};

// Whether bytes have the form of a message, and not too many fields.
class Scan {
public:
  explicit Scan(std::string_view bytes)
      : in_(reinterpret_cast<const uint8_t *>(bytes.data()), static_cast<int>(bytes.size())) {}

  bool message(const pb::Descriptor &type, int depth = 0) {
    using Wire = pb::internal::WireFormatLite;
    while (const uint32_t tag = in_.ReadTag()) {
      if (left_-- == 0)
        return false;
      const auto *field = type.FindFieldByNumber(Wire::GetTagFieldNumber(tag));
      const auto wire = Wire::GetTagWireType(tag);
      if (wire == Wire::WIRETYPE_LENGTH_DELIMITED && field && field->message_type()) {
        const auto limit = in_.ReadLengthAndPushLimit();
        if (depth == kMostDepth || !message(*field->message_type(), depth + 1) ||
            in_.BytesUntilLimit() > 0)
          return false;
        in_.PopLimit(limit);
      } else if (wire == Wire::WIRETYPE_START_GROUP || !Wire::SkipField(&in_, tag)) {
        return false;
      }
    }
    return in_.ConsumedEntireMessage();
  }
  bool too_many() const { return left_ == SIZE_MAX; }

private:
  pb::io::CodedInputStream in_;
  size_t left_ = kMostFields;
};

// Fields that otg.proto does not have, at any depth.
void find_unknown(const pb::Message &message, const std::string &path,
                  std::vector<std::string> &errors) {
  const pb::Reflection &reflection = *message.GetReflection();
  const pb::UnknownFieldSet &unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count() && errors.size() < kMostErrors; i++) {
    std::string error =
        fmt::format("{}{}field {} of {} is not supported", path, path.empty() ? "" : ": ",
                    unknown.field(i).number(), message.GetDescriptor()->name());
    if (errors.empty() || errors.back() != error)
      errors.push_back(std::move(error));
  }
  std::vector<const pb::FieldDescriptor *> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor *field : fields) {
    if (!field->message_type())
      continue;
    const std::string below =
        path.empty() ? field->name() : fmt::format("{}.{}", path, field->name());
    if (!field->is_repeated())
      find_unknown(reflection.GetMessage(message, field), below, errors);
    else
      for (int i = 0; i < reflection.FieldSize(message, field); i++)
        find_unknown(reflection.GetRepeatedMessage(message, field, i),
                     fmt::format("{}[{}]", below, i), errors);
  }
}

std::string parsing_error(const pb::Descriptor &type, const Scan &scan) {
  return scan.too_many() ? fmt::format("a message has at most {} fields", kMostFields)
                         : fmt::format("the message is not a {}", type.name());
}

size_t encoded_size(std::string_view text) {
  return text.size() + 2 * static_cast<size_t>(std::ranges::count_if(text, [](unsigned char byte) {
                         return byte < 0x20 || byte > 0x7e || byte == '%';
                       }));
}

} // namespace

struct Converter::Parts {
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory{&pool};
  const pb::ServiceDescriptor *service = nullptr;
  const pb::Descriptor *data = nullptr;
  mutable std::mutex mutex; // one large message is in memory at a time

  std::unique_ptr<pb::Message> made(const pb::Descriptor *type) {
    return std::unique_ptr<pb::Message>(factory.GetPrototype(type)->New());
  }
  const pb::MethodDescriptor &method(const Call &call) const {
    return *service->FindMethodByName(call.name);
  }
};

Converter::Converter() : parts_(std::make_unique<Parts>()) {}
Converter::~Converter() = default;

Result<std::unique_ptr<Converter>> Converter::make() {
#if GOOGLE_PROTOBUF_VERSION < 4000000
  pb::SetLogHandler(nullptr); // a client must not write to the server's terminal
#endif
  std::unique_ptr<Converter> made(new Converter);
  Parts &parts = *made->parts_;
  pb::FileDescriptorSet set;
  bool built = set.ParseFromArray(kDescriptors.data(), static_cast<int>(kDescriptors.size()));
  for (const pb::FileDescriptorProto &file : set.file())
    built = built && parts.pool.BuildFile(file);
  if (!built)
    return Error{"otg.proto of this program cannot be used with this protobuf",
                 "`ldd xdp-roce` shows which one it is"};
  parts.service = parts.pool.FindServiceByName("otg.Openapi");
  parts.data = parts.pool.FindMessageTypeByName("otg.Data");
  return made;
}

Called Converter::find(std::string_view path) const {
  if (!path.starts_with(kService))
    return {};
  std::string_view name = path.substr(kService.size());
  const auto *method = parts_->service->FindMethodByName(std::string(name));
  if (!method)
    return {};
  if (name.starts_with(kStream))
    name.remove_prefix(kStream.size());
  const auto *call =
      std::ranges::find_if(kCalls, [name](const Call &each) { return name == each.name; });
  if (call == std::end(kCalls))
    return {};
  return {call, method->client_streaming(), method->server_streaming()};
}

http::Request Converter::request(const Called &called, std::string_view bytes,
                                 std::vector<std::string> &errors) const {
  const Call &call = *called.call;
  http::Request request{call.method, call.path, ""};
  const std::lock_guard guard(parts_->mutex);
  const pb::Descriptor *type = parts_->method(call).input_type();
  const pb::FieldDescriptor *member = type->FindFieldByName(call.request);
  if (called.pieces_in)
    type = member->message_type();
  Scan scan(bytes);
  const auto message = parts_->made(type);
  if (!scan.message(*type) ||
      !message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    errors.push_back(parsing_error(*type, scan));
    return request;
  }
  const pb::Message *body = message.get();
  if (member && !called.pieces_in) {
    body = &message->GetReflection()->GetMessage(*message, member);
    const auto &around = message->GetReflection()->GetUnknownFields(*message);
    if (!around.empty())
      errors.push_back(
          fmt::format("field {} of {} is not supported", around.field(0).number(), type->name()));
  }
  find_unknown(*body, "", errors);
  if (!errors.empty() || !member)
    return request;
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (const auto status = pb::util::MessageToJsonString(*body, &request.body, options);
      !status.ok())
    errors.push_back(
        fmt::format("{}: {}", type->name(),
                    std::string_view(status.message().data(), status.message().size())));
  return request;
}

Result<std::string> Converter::message(const Called &called, const http::Answer &answer) const {
  const Call &call = *called.call;
  const std::lock_guard guard(parts_->mutex);
  const auto message = parts_->made(parts_->method(call).output_type());
  const pb::Reflection &reflection = *message->GetReflection();
  const auto *member = message->GetDescriptor()->FindFieldByName(call.answer);
  if (!member->message_type()) { // bytes
    if (called.pieces_out)
      return answer.body;
    reflection.SetString(message.get(), member, answer.body);
    return message->SerializeAsString();
  }
  pb::Message *body = reflection.MutableMessage(message.get(), member);
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true; // keys of ours that the model does not have: x_xdp_roce_...
  if (const auto status = pb::util::JsonStringToMessage(answer.body, body, options); !status.ok())
    return Error{fmt::format("the answer is not a {}: {}", body->GetDescriptor()->name(),
                             std::string_view(status.message().data(), status.message().size())),
                 ""};
  return called.pieces_out ? body->SerializeAsString() : message->SerializeAsString();
}

std::string Converter::piece(std::string_view bytes) const {
  const auto data = parts_->made(parts_->data);
  data->GetReflection()->SetString(data.get(), parts_->data->FindFieldByName("datum"),
                                   std::string(bytes));
  return data->SerializeAsString();
}

Result<std::string> Converter::joined(std::string_view data) const {
  const auto message = parts_->made(parts_->data);
  Scan scan(data);
  if (!scan.message(*parts_->data) ||
      !message->ParseFromArray(data.data(), static_cast<int>(data.size())))
    return Error{parsing_error(*parts_->data, scan), ""};
  return message->GetReflection()->GetString(*message, parts_->data->FindFieldByName("datum"));
}

std::string short_error(const std::string &json) {
  if (encoded_size(json) <= kMostText)
    return json;
  auto error = nlohmann::json::parse(json, nullptr, false);
  if (!error.is_object())
    return "";
  const auto all = error["errors"].get<std::vector<std::string>>();
  std::vector<std::string> some;
  size_t size = 200; // of what is around them
  for (const std::string &each : all) {
    const size_t more = encoded_size(nlohmann::json(each).dump()) + 1;
    if (size + more > kMostText)
      break;
    size += more;
    some.push_back(each);
  }
  if (some.empty() && !all.empty()) {
    const std::string &first = all.front();
    size_t end = std::min(first.size(), kMostText / 8);
    while (end > 0 && end < first.size() && (static_cast<unsigned char>(first[end]) & 0xc0) == 0x80)
      end--; // at the begin of a character
    some.push_back(first.substr(0, end) + "...");
  }
  if (some.size() < all.size())
    some.push_back(fmt::format("and {} more", all.size() - some.size()));
  error["errors"] = some;
  return error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace xr::otg_grpc
