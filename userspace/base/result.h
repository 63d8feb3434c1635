// SPDX-License-Identifier: Apache-2.0
// What may fail, and why, in words: recoverable errors are values here and must be looked at.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace xr {

// A sentence without its final stop, and, where something helps, what to do about it.
struct Error {
  std::string message;
  std::string hint = {};
};

// "message: No such device (ENODEV)" for an errno value.
Error errno_error(int error, std::string message, std::string hint = {});

// A value or an Error. get() and error() must match ok().
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &get() & { return std::get<0>(state_); }
  const T &get() const & { return std::get<0>(state_); }
  T &&get() && { return std::get<0>(std::move(state_)); }
  T *operator->() { return &std::get<0>(state_); }
  T &operator*() & { return std::get<0>(state_); }
  const Error &error() const & { return std::get<1>(state_); }
  Error &&error() && { return std::get<1>(std::move(state_)); }

private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error &error() const { return error_; }

private:
  bool failed_ = false;
  Error error_;
};

using Status = Result<void>;

} // namespace xr
