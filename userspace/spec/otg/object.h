// SPDX-License-Identifier: Apache-2.0
// Reads JSON objects of the Open Traffic Generator's model (https://otg.dev, 1.61) key by key. All
// findings are collected, each with the path of its key. What is absent and has a default is
// written into the JSON, so that the configuration can be shown as it is used.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/address.h"
#include "base/result.h"
#include "packet/frame.h"

namespace xr::otg {

using Json = nlohmann::json;

// Sentences with a path in front. `warnings`: what is taken with a difference.
struct Findings {
  static constexpr size_t kMost = 100; // of each; then one that says how many more there are
  std::vector<std::string> errors, warnings;
  size_t more_errors = 0, more_warnings = 0;

  bool ok() const { return errors.empty(); }
  size_t count() const { return errors.size() + more_errors; } // of errors
  void error(std::string path, const Error &what);
  void warning(std::string path, const std::string &what);
  // With the line that says how many more there are.
  std::vector<std::string> all_errors() const;
  std::vector<std::string> all_warnings() const;
};

// One object. Each key that the model has is asked for once, by what it should be; then done().
// Objects are on the stack, below the object that they are in.
class Object {
public:
  // The whole document. `what`: "a configuration".
  Object(Json &json, Findings &findings, std::string_view what);
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  // In what follows an absent key, or null, is the default, or nothing. A value that is wrong is an
  // error, and the default.
  bool has(const char *key);
  bool is_null(const char *key); // null is written: with some keys it says "none"
  std::string text(const char *key, std::string_view otherwise = {});
  std::string needed_text(const char *key); // an error where it is absent or empty
  bool flag(const char *key, bool otherwise);
  // Whole numbers, also as strings of decimal digits, as stock clients send those of 64 bits.
  uint64_t integer(const char *key, uint64_t from, uint64_t to, uint64_t otherwise);
  std::optional<uint64_t> maybe_integer(const char *key, uint64_t from, uint64_t to);
  double real(const char *key, double from, double to, double otherwise);
  uint64_t hexadecimal(const char *key, unsigned digits, uint64_t otherwise); // at most `digits`
  Address address(const char *key, bool ipv4, const Address &otherwise = {});
  Address needed_address(const char *key, bool ipv4); // an error where it is absent
  std::optional<packet::Mac> mac(const char *key);
  std::vector<std::string> texts(const char *key);
  // The index in `words`.
  size_t word(const char *key, const std::vector<std::string_view> &words, size_t otherwise);
  // `choice`: without it, the member that is there; without one, `otherwise`. More than one member
  // and no choice is an error. Members that are not chosen are reported as without effect.
  size_t choice(const std::vector<std::string_view> &members, size_t otherwise);

  // Calls `read` with the object at `key`, or with an empty one that gets the defaults if `made`.
  void object(const char *key, std::string_view what, const std::function<void(Object &)> &read,
              bool made = false);
  // With each object of the list at `key`.
  void each(const char *key, std::string_view what, const std::function<void(Object &)> &read);
  // The value as it is: for lists of other things. nullptr: it is absent.
  Json *value(const char *key);
  // Writes a default that none of the above writes, where the key is absent.
  void set_default(const char *key, const Json &value);

  // Known, and not supported: an error that says so, unless it is absent or empty.
  void unsupported(const char *key, std::string_view hint = {});
  // Known, and without an effect: a warning, unless it is absent or empty.
  void unused(const char *key, std::string_view why = {});
  // Findings about `key` (nullptr: the object).
  void error(const char *key, const Error &what) const;
  void warning(const char *key, const std::string &what) const;

  // Keys that were not asked for are errors. Also without an object: `{}` is expected.
  void done();

  std::string path(const char *key = nullptr) const; // "ports[0].name"
  Findings &findings() const { return findings_; }

private:
  Object(Json &json, const Object &parent, const char *key, size_t index, std::string_view what);
  Json *find(const char *key);
  template <typename T> void fill(const char *key, const T &otherwise) { json_[key] = otherwise; }
  std::optional<uint64_t> number(const char *key, Json &json, uint64_t from, uint64_t to);

  static constexpr size_t kNoIndex = SIZE_MAX;
  Json &json_;
  Findings &findings_;
  const Object *parent_ = nullptr;
  const char *key_ = nullptr; // in the parent
  size_t index_ = kNoIndex;   // in the list at that key
  std::string_view what_;
  std::vector<std::string_view> asked_;
};

// "[1, 2]", "'abc'": a value as an error shows it, cut where it is long.
std::string shown(const Json &json);

} // namespace xr::otg
