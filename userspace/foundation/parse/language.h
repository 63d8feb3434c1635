// SPDX-License-Identifier: Apache-2.0
// A language of words, like that of a flow: a row for each word. The rows make the reader of words,
// the reader of YAML, the canonical text, the errors about unknown words, completion, help, and the
// tables of the documents.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "parse/words.h"

namespace YAML {
class Node;
}

namespace xr::parse {

// What the canonical text says of a word: its arguments, each time that it occurs. {}: nothing;
// {""}: the word alone.
using Said = std::vector<std::string>;
// Says it if it is not the default.
template <typename... Args>
Said say_if(bool differs, fmt::format_string<Args...> format, Args &&...args) {
  return differs ? Said{fmt::format(format, std::forward<Args>(args)...)} : Said();
}

// A slower or faster copy: rates times the factor, times divided by it.
struct Scale {
  double factor = 1;
  void rate(uint64_t &bits) const; // 0 is no limit; a rate stays above it
  void time(uint64_t &ns) const;   // at most 2^62
};

// The words that were read, by what they set. Two words must not set the same.
class Claims {
public:
  // False: `property` is set already, by the word that by() says.
  bool claim(std::string_view property, const std::string &word);
  bool has(std::string_view property) const { return !by(property).empty(); }
  const std::string &by(std::string_view property) const; // ""
  // For a word that sets the property of another one, too; `word` is how errors name it.
  Status also(std::string_view property, const std::string &word, std::string_view hint);

private:
  std::map<std::string, std::string, std::less<>> words_;
};

// A word that is valid only after another one.
struct Follower {
  std::string_view word, leader;
};

// What people read about a word.
struct WordInfo {
  std::string_view name;
  // What it sets. "": a property of its own name; kMany: it may be repeated; kOwn: its function
  // claims what it sets.
  std::string_view sets = "";
  const char *usage = "";      // an example: the hint of errors that have none
  const char *syntax = "";     // what follows the word, as help and documents have it
  const char *about = "";      // what it does, in the documents
  std::string_view group = ""; // of its table; words without one have a row each in the documents
};
inline constexpr std::string_view kMany = "many", kOwn = "own";

// How a language speaks of itself. The formats take the word, and the word before it.
struct Wording {
  std::string_view thing;             // "a flow"
  std::string_view example;           // hint where no word is similar; "": all words
  std::string_view yaml_example = ""; // hint where YAML is neither words nor a map
  std::string_view list_example = "[1, 2]";
  std::string_view first = ""; // a word that must come before the others: maps have no order
  std::string_view usage = ""; // hint of errors of words without one
  std::string_view unknown = "'{}' is not a word of {}";
  std::string_view error = "{}: {}"; // a word and its error; "": the error alone
  std::string_view twice = "{}: is given twice", twice_hint = "remove one of them";
  std::string_view other = "{}: there is {} already", other_hint = "leave one of them away";
};

class LanguageWords {
public:
  const Wording &wording() const { return wording_; }
  const std::vector<WordInfo> &words() const { return infos_; }
  std::vector<std::string_view> names() const;
  // With the words that follow others: what a shell completes.
  std::vector<std::string_view> all_names() const;

  Error unknown(const std::string &word) const;
  // Adds the word to an error of its function.
  Error at(const WordInfo &word, const Error &error) const;
  Status claim(Claims &claims, const WordInfo &word) const;

  // A scalar is words; a map has words as keys, and their arguments, or lists of them, as values.
  // With true or no value, the key alone is the word.
  Result<std::vector<std::string>> from_yaml(const YAML::Node &node) const;

  // "flows N rate R [delay D] ...": all but the first `needed` may be left away.
  std::string usage(size_t needed) const;
  // "src IP, dst IP, ...": the words of a group; of all.
  std::string forms(std::string_view group) const;
  std::string forms() const;
  // The rows of a table of the documents: a group of words, or a word and what it does.
  std::string markdown() const;

protected:
  LanguageWords(Wording wording, std::vector<Follower> followers)
      : wording_(wording), followers_(std::move(followers)) {}
  void add_info(const WordInfo &info) { infos_.push_back(info); }

private:
  Status push_value(const YAML::Node &key, const YAML::Node &value,
                    std::vector<std::string> &out) const;

  Wording wording_;
  std::vector<Follower> followers_;
  std::vector<WordInfo> infos_;
};

// What is being read.
template <typename S> struct Draft {
  using Spec = S;
  S spec = {};
  Claims taken = {};
};

template <typename D> struct Word {
  WordInfo info;
  // Takes the arguments after the word. Its error does not name the word.
  Status (*parse)(D &, WordReader &);
  Said (*print)(const typename D::Spec &) = nullptr; // nullptr: another row says it
  void (*scale)(typename D::Spec &, const Scale &) = nullptr;
};

template <typename D> class Language : public LanguageWords {
public:
  using Spec = typename D::Spec;
  using Row = Word<D>;

  struct Table {
    std::string_view group;
    std::span<const Row> rows;
  };

  // The canonical text has the words in the order of the tables.
  Language(Wording wording, const std::vector<Table> &tables, std::vector<Follower> followers = {})
      : LanguageWords(wording, std::move(followers)) {
    for (const Table &table : tables)
      for (const Row &row : table.rows) {
        rows_.push_back(row);
        rows_.back().info.group = table.group;
        add_info(rows_.back().info);
      }
  }

  const Row *find(std::string_view word) const {
    for (const Row &row : rows_)
      if (row.info.name == word)
        return &row;
    return nullptr;
  }

  Status read_word(D &draft, WordReader &words) const {
    const std::string word = words.take();
    const Row *row = find(word);
    if (!row)
      return unknown(word);
    XR_TRY(claim(draft.taken, row->info));
    if (Status s = row->parse(draft, words); !s)
      return at(row->info, s.error());
    return {};
  }
  Status read(D &draft, WordReader &words) const {
    while (!words.done())
      XR_TRY(read_word(draft, words));
    return {};
  }

  std::string text(const Spec &spec) const {
    std::string text;
    for (const Row &row : rows_)
      if (row.print)
        for (const std::string &arguments : row.print(spec))
          text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", row.info.name,
                              arguments.empty() ? "" : " ", arguments);
    return text;
  }

  void scale(Spec &spec, double factor) const {
    for (const Row &row : rows_)
      if (row.scale)
        row.scale(spec, Scale{factor});
  }

private:
  std::vector<Row> rows_;
};

} // namespace xr::parse
