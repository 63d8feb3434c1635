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

class Verdict {
public:
  static constexpr size_t kFrames = 8; // of evidence

  Verdict(Status status, std::string value) : status_(status), value_(std::move(value)) {}

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
Verdict data_ect(const Facts &facts);
Verdict marks_answered(const Facts &facts);
// classes.cpp
Verdict cnp_class(const Facts &facts);
Verdict one_class(const Facts &facts);
// flow_control.cpp
Verdict pfc_class(const Facts &facts);
Verdict lossless(const Facts &facts);
// paths.cpp
Verdict path_mtu(const Facts &facts);
Verdict entropy(const Facts &facts);
Verdict versions(const Facts &facts);
Verdict icrc(const Facts &facts);
// recovery.cpp
Verdict go_back_n(const Facts &facts);
Verdict retries(const Facts &facts);
Verdict rtt(const Facts &facts);

} // namespace xr::checks
