// SPDX-License-Identifier: Apache-2.0
// Return values that carry either a result or an error. The caller must check them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace xr {

// `message` is a sentence without a full stop. `hint` says what the user can do, or is empty.
struct Error {
  std::string message;
  std::string hint = {};
  bool usage = false; // the command line is wrong (exit status 2), not a file, port or machine

  // The error of a wrong command line. Words of a file are read by the same functions, so that only
  // the reader of the command line, or a check of its options, makes it one.
  Error as_usage() const { return {message, hint, true}; }
  // "PREFIX: message".
  Error under(std::string_view prefix) const;
};

// Appends the text of an errno value: "message: No such device (ENODEV)".
Error errno_error(int error, std::string message, std::string hint = {});

// A value or an Error. Call get() only if ok(), and error() only if not ok().
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
