// SPDX-License-Identifier: Apache-2.0
#include "otg_grpc/converter.h"

#include <random>

#include <gtest/gtest.h>

namespace xr::otg_grpc {
namespace {

class OtgGrpc : public testing::Test {
protected:
  OtgGrpc() {
    auto made = Converter::make();
    EXPECT_TRUE(made.ok());
    converter_ = std::move(*made);
  }

  // The body of the request, or the first error.
  std::string body(const char *name, const std::string &bytes) const {
    std::vector<std::string> errors;
    const Called called = converter_->find(std::string("/otg.Openapi/") + name);
    if (!called.call)
      return "no call";
    const http::Request request = converter_->request(called, bytes, errors);
    return errors.empty() ? request.method + " " + request.path + " " + request.body
                          : errors.front();
  }
  static std::string field(int number, const std::string &bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  }

  // The value, or the error.
  static std::string value_of(Result<std::string> result) {
    return result ? *result : result.error().message;
  }

  std::unique_ptr<Converter> converter_;
};

TEST_F(OtgGrpc, CallsAreRequests) {
  EXPECT_EQ(body("GetConfig", ""), "GET /config ");
  EXPECT_EQ(body("SetConfig", field(1, field(1, field(1, "lo")))),
            "POST /config {\"ports\":[{\"location\":\"lo\"}]}");
  EXPECT_EQ(body("streamSetConfig", field(1, field(1, "lo"))),
            "POST /config {\"ports\":[{\"location\":\"lo\"}]}");
  EXPECT_EQ(body("SetConfig", ""), "POST /config {}");
  EXPECT_EQ(body("Nothing", ""), "no call");
  EXPECT_EQ(body("", ""), "no call");
  EXPECT_EQ(converter_->find("/other.Service/SetConfig").call, nullptr);
}

TEST_F(OtgGrpc, UnknownFieldsAreErrors) {
  EXPECT_EQ(body("SetConfig", field(1, field(1, "") + field(1, field(15, "x")))),
            "ports[1]: field 15 of Port is not supported");
  EXPECT_EQ(body("SetConfig", field(1, "\x08\x01")), "field 1 of Config is not supported");
  EXPECT_EQ(body("SetConfig", field(2, "")), "field 2 of SetConfigRequest is not supported");
  EXPECT_EQ(body("SetConfig", "\x0a\x05"), "the message is not a SetConfigRequest");
}

TEST_F(OtgGrpc, AnswersAreMessages) {
  const Called version = converter_->find("/otg.Openapi/GetVersion");
  EXPECT_EQ(value_of(converter_->message(version, {200, "", R"({"app_version": "1", "x": 2})"})),
            field(1, field(3, "1")));
  const Called capture = converter_->find("/otg.Openapi/GetCapture");
  EXPECT_EQ(value_of(converter_->message(capture, {200, "", "bytes"})), field(1, "bytes"));
  EXPECT_FALSE(converter_->message(version, {200, "", "{"}).ok());
  EXPECT_EQ(value_of(converter_->joined(converter_->piece("bytes"))), "bytes");
  EXPECT_FALSE(converter_->joined("\xff").ok());
}

TEST_F(OtgGrpc, BytesOfNoMessage) {
  const std::string right = field(1, field(1, field(1, "lo")) + field(6, field(2, field(1, "a"))));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; i++) {
    std::string bytes = right;
    for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; changes--)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0)
      bytes.resize(random() % bytes.size());
    EXPECT_FALSE(body("SetConfig", bytes).empty());
  }
}

TEST_F(OtgGrpc, ErrorsAreCut) {
  EXPECT_EQ(short_error(R"({"code":400,"errors":["a"]})"), R"({"code":400,"errors":["a"]})");
  std::string many = R"({"code":400,"errors":[)";
  for (int i = 0; i < 100; i++)
    many += "\"" + std::string(200, 'x') + "\",";
  const std::string some = short_error(many + "\"\"]}");
  EXPECT_LT(some.size(), 6200U);
  EXPECT_NE(some.find("\"and "), std::string::npos) << some;
  std::string one;
  for (int i = 0; i < 5000; i++)
    one += "\xc3\xa9";
  const std::string text = short_error("{\"code\":400,\"errors\":[\"" + one + "\"]}");
  EXPECT_LT(text.size(), 2000U);
  EXPECT_EQ(text.rfind("...\"]}"), text.size() - 6) << text;
}

} // namespace
} // namespace xr::otg_grpc
