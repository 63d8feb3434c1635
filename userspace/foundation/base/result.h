// SPDX-License-Identifier: Apache-2.0
// Return values that carry either a result or an error. The caller must check them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace xr {

// `message` is a sentence without a full stop. `hint` says what the user can do, or is empty.
struct Error {
  // Usage: the command line is wrong (exit status 2), not a file, port or machine.
  enum class Kind : uint8_t { Other, Usage };

  std::string message;
  std::string hint = {};
  Kind kind = Kind::Other;
  std::string context = {}; // that in() added last

  // The error of a wrong command line. Words of a file are read by the same functions, so that only
  // the reader of the command line, or a check of its options, makes it one.
  Error as_usage() const { return {message, hint, Kind::Usage, context}; }
  bool is_usage() const { return kind == Kind::Usage; }
  // "CONTEXT: message"; as it is if it was in that context already.
  Error in(std::string_view context) const;
};

// Appends the text of an errno value: "message: No such device (ENODEV)".
Error errno_error(int error, std::string message, std::string hint = {});

// A value or an Error. Call get() only if ok(), and error() only if not ok().
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  // Not of a truth: ok() says whether there is one, get() which.
  explicit operator bool() const requires(!std::is_same_v<T, bool>) { return ok(); }
  T &get() & { return std::get<0>(state_); }
  const T &get() const & { return std::get<0>(state_); }
  T &&get() && { return std::get<0>(std::move(state_)); }
  T *operator->() { return &std::get<0>(state_); }
  T &operator*() & { return std::get<0>(state_); }
  const Error &error() const & { return std::get<1>(state_); }
  Error &&error() && { return std::get<1>(std::move(state_)); }
  // The value, or the error in that context.
  Result in(std::string_view context) && {
    return ok() ? std::move(*this) : Result(error().in(context));
  }

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
  void get() const {}
  const Error &error() const & { return error_; }
  Error &&error() && { return std::move(error_); }
  Result in(std::string_view context) && { return ok() ? Result() : Result(error_.in(context)); }

private:
  bool failed_ = false;
  Error error_;
};

using Status = Result<void>;

// The value of an expression that is a Result; or returns its error from the function around.
#define XR_TRY(...)                                                                                \
  ({                                                                                               \
    auto xr_tried = __VA_ARGS__;                                                                   \
    if (!xr_tried.ok())                                                                            \
      return std::move(xr_tried).error();                                                          \
    std::move(xr_tried).get();                                                                     \
  })

} // namespace xr
