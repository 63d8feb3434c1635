// SPDX-License-Identifier: Apache-2.0
// What a check says of the facts; its words are in the table of setup.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checks/setup.h"

namespace xr::checks {

using Status = SetupCheck::Status;

class Judgement {
public:
  static constexpr size_t kFrames = 8; // of evidence

  Judgement(Status status, std::string value) : status_(status), value_(std::move(value)) {}

  // A further fault, which may be worse than what is known; 0: no frame shows it.
  void add(Status status, const std::string &text, uint64_t frame = 0);
  void frame(uint64_t number);

  Status status() const { return status_; }
  const std::string &value() const { return value_; }
  const std::vector<uint64_t> &frames() const { return frames_; }

private:
  static constexpr size_t kTexts = 4; // more are counted

  Status status_;
  std::string value_;
  size_t texts_ = 0;
  std::vector<uint64_t> frames_;
};

// marking.cpp
Judgement data_ect(const Facts &facts);
Judgement marks_answered(const Facts &facts);
// classes.cpp
Judgement cnp_class(const Facts &facts);
Judgement one_class(const Facts &facts);
// flow_control.cpp
Judgement pfc_class(const Facts &facts);
Judgement lossless(const Facts &facts);
// paths.cpp
Judgement path_mtu(const Facts &facts);
Judgement entropy(const Facts &facts);
Judgement versions(const Facts &facts);
Judgement icrc(const Facts &facts);
// recovery.cpp
Judgement go_back_n(const Facts &facts);
Judgement retries(const Facts &facts);
Judgement rtt(const Facts &facts);

} // namespace xr::checks
