// SPDX-License-Identifier: Apache-2.0
#include "job/goal.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "job/order.h"

namespace xr::job {

namespace {

constexpr uint32_t kMostGoalRanks = 1 << 20;
constexpr uint32_t kMostGoalOperations = 50'000'000;
constexpr size_t kMostAny = 4096; // recvs of a rank that take any of the same sends
constexpr const char *kStatements =
    "send Nb to R tag T, recv Nb from R tag T, calc NS, LABEL: before them, LABEL requires LABEL";

using When = Need::When;

struct Token {
  enum class Kind : uint8_t { Word, Number, Sign, LineEnd, End };
  Kind kind = Kind::End;
  std::string_view text;
  uint32_t line = 1;

  bool is(std::string_view other) const { return kind != Kind::LineEnd && text == other; }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Error at(uint32_t line, std::string message, std::string hint) {
  return {fmt::format("line {}: {}", line, message), std::move(hint)};
}

class Tokens {
public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // Numbers end where digits end: "1b" is two tokens.
  Result<Token> next() {
    XR_TRY(skip());
    if (text_.empty())
      return Token{Token::Kind::End, "", line_};
    const char c = text_.front();
    if (c == '\n') {
      const std::string_view end = take(1);
      return Token{Token::Kind::LineEnd, end, line_++};
    }
    size_t length = 1;
    Token::Kind kind = Token::Kind::Sign;
    if (is_digit(c) || (c == '-' && text_.size() > 1 && is_digit(text_[1]))) {
      kind = Token::Kind::Number;
      while (length < text_.size() && is_digit(text_[length]))
        length++;
    } else if (is_letter(c)) {
      kind = Token::Kind::Word;
      while (length < text_.size() && (is_letter(text_[length]) || is_digit(text_[length])))
        length++;
    } else if (c != ':' && c != '{' && c != '}') {
      return at(line_, fmt::format("'{}' is not a sign of GOAL", printable(c)), kStatements);
    }
    return Token{kind, take(length), line_};
  }

private:
  static std::string printable(char c) {
    return c > ' ' && c <= '~' ? std::string(1, c)
                               : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }

  std::string_view take(size_t length) {
    const std::string_view taken = text_.substr(0, length);
    text_.remove_prefix(length);
    return taken;
  }

  // Blanks and comments. That of a line leaves the end of the line.
  Status skip() {
    for (;;) {
      if (text_.starts_with("//")) {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else if (text_.starts_with("/*")) {
        const size_t end = text_.find("*/", 2);
        if (end == std::string_view::npos)
          return at(line_, "the comment does not end", "*/");
        for (const char c : take(end + 2))
          line_ += c == '\n';
      } else if (!text_.empty() &&
                 (text_.front() == ' ' || text_.front() == '\t' || text_.front() == '\r')) {
        text_.remove_prefix(1);
      } else {
        return {};
      }
    }
  }

  std::string_view text_;
  uint32_t line_ = 1;
};

class GoalReader {
public:
  explicit GoalReader(std::string_view text) : tokens_(text) {}

  Result<Job> read(const std::string &name) {
    XR_TRY(step());
    XR_TRY(lines());
    XR_TRY(word("num_ranks", "num_ranks N is the first line"));
    const uint32_t line = token_.line;
    const uint64_t count = XR_TRY(number("the number of ranks", 1, kMostGoalRanks));
    XR_TRY(end_of_line());
    blocks_.resize(count);
    while (token_.kind != Token::Kind::End)
      XR_TRY(rank());
    for (uint32_t i = 0; i < count; i++)
      if (!blocks_[i])
        return at(line, fmt::format("rank {} of {} is missing", i, count),
                  fmt::format("rank {} {{ }}, even if it does nothing", i));
    XR_TRY(match());
    return make(name);
  }

private:
  enum class Kind : uint8_t { Send, Recv, Calc };
  struct Item {
    Kind kind = Kind::Calc;
    uint32_t rank = 0, peer = kNone;
    uint32_t channel = 0; // cpu of a calc, nic of a send
    uint32_t line = 0;
    uint64_t amount = 0;
    uint64_t tag = 0;
    bool any_tag = false;       // Recv; its peer is kNone for any rank
    uint32_t fewest = 0;        // Recv: of the messages that it can take; 0: it is one
    bool begin_matters = false; // Recv: another one waits until it has begun
    bool takes_any() const { return kind == Kind::Recv && (any_tag || peer == kNone); }
    bool takes(const Item &send) const {
      return send.peer == rank && (peer == kNone || peer == send.rank) &&
             (any_tag || tag == send.tag);
    }
  };
  struct Label {
    uint32_t item;
    uint32_t line;
  };

  Status step() {
    token_ = XR_TRY(tokens_.next());
    return {};
  }
  Status lines() {
    while (token_.kind == Token::Kind::LineEnd)
      XR_TRY(step());
    return {};
  }
  std::string shown() const {
    return token_.kind == Token::Kind::LineEnd ? "the end of the line"
           : token_.kind == Token::Kind::End   ? "the end of the file"
                                               : fmt::format("'{}'", token_.text);
  }
  Error expected(std::string_view what, std::string hint) const {
    return at(token_.line, fmt::format("{} is not {}", shown(), what), std::move(hint));
  }
  Status word(std::string_view text, std::string hint) {
    if (!token_.is(text))
      return expected(fmt::format("'{}'", text), std::move(hint));
    return step();
  }
  Result<uint64_t> number(std::string_view what, uint64_t from, uint64_t to) {
    uint64_t value = 0;
    const char *end = token_.text.data() + token_.text.size();
    const auto parsed = std::from_chars(token_.text.data(), end, value);
    if (token_.kind != Token::Kind::Number || parsed.ec != std::errc() || parsed.ptr != end ||
        value < from || value > to)
      return expected(what, fmt::format("a whole number from {} to {}", from, to));
    XR_TRY(step());
    return value;
  }
  Status end_of_line() {
    if (token_.kind != Token::Kind::LineEnd && token_.kind != Token::Kind::End)
      return expected("the end of the line", "one statement in each line");
    return lines();
  }

  Status rank() {
    const uint32_t line = token_.line;
    XR_TRY(word("rank", "rank N { ... }"));
    rank_ = static_cast<uint32_t>(XR_TRY(number("a rank", 0, blocks_.size() - 1)));
    if (blocks_[rank_])
      return at(line,
                fmt::format("rank {} is given twice, first in line {}", rank_, blocks_[rank_]),
                "one block for each rank");
    blocks_[rank_] = line;
    XR_TRY(word("{", "rank N {"));
    labels_.clear();
    XR_TRY(lines());
    while (!token_.is("}")) {
      if (token_.kind == Token::Kind::End)
        return at(line, fmt::format("the block of rank {} does not end", rank_), "}");
      XR_TRY(statement());
    }
    XR_TRY(step());
    return lines();
  }

  Status statement() {
    if (token_.is("send") || token_.is("recv") || token_.is("calc"))
      return operation();
    const Token label = token_;
    if (token_.kind != Token::Kind::Word)
      return expected("a statement", kStatements);
    XR_TRY(step());
    if (token_.is(":")) {
      XR_TRY(step());
      const auto [known, added] =
          labels_.try_emplace(label.text, Label{static_cast<uint32_t>(items_.size()), label.line});
      if (!added)
        return at(label.line,
                  fmt::format("there is a label '{}' in line {}", label.text, known->second.line),
                  "a label for each operation of a rank");
      return operation();
    }
    if (!token_.is("requires") && !token_.is("irequires"))
      return expected("':', 'requires' or 'irequires'", kStatements);
    const bool begun = token_.is("irequires");
    XR_TRY(step());
    const uint32_t waits = XR_TRY(labelled(label)), other = XR_TRY(labelled(token_));
    XR_TRY(step());
    Item &item = items_[other];
    item.begin_matters |= begun && item.kind == Kind::Recv;
    edges_.push_back({waits,
                      {other, begun                     ? When::Begun
                              : item.kind == Kind::Send ? When::Sent
                                                        : When::Complete}});
    return end_of_line();
  }

  Result<uint32_t> labelled(const Token &token) const {
    const auto found = labels_.find(token.text);
    if (found == labels_.end())
      return at(token.line, fmt::format("rank {} has no label '{}' above", rank_, token.text),
                "a label of the same rank, before it is used");
    return found->second.item;
  }

  // LogGOPSim's ANY_SOURCE and ANY_TAG, which are 32 bits of 1.
  Result<bool> any() {
    if (token_.text != "-1" && token_.text != "4294967295")
      return false;
    XR_TRY(step());
    return true;
  }

  Status operation() {
    Item item;
    item.rank = rank_;
    item.line = token_.line;
    const bool send = token_.is("send");
    if (token_.is("calc")) {
      XR_TRY(step());
      item.amount = XR_TRY(number("a time in ns", 0, INT64_MAX));
    } else if (send || token_.is("recv")) {
      item.kind = send ? Kind::Send : Kind::Recv;
      const char *like = send ? "send 1024b to 3 tag 0" : "recv 1024b from 3 tag 0";
      XR_TRY(step());
      item.amount = XR_TRY(number("a size", 0, INT64_MAX));
      XR_TRY(word("b", like));
      XR_TRY(word(send ? "to" : "from", like));
      if (send || !XR_TRY(any()))
        item.peer = static_cast<uint32_t>(XR_TRY(number("a rank", 0, blocks_.size() - 1)));
      if (token_.is("tag")) {
        XR_TRY(step());
        item.any_tag = !send && XR_TRY(any());
        if (!item.any_tag)
          item.tag = XR_TRY(number("a tag", 0, UINT64_MAX));
      }
    } else {
      return expected("an operation", "send, recv or calc");
    }
    uint64_t cpu = 0, nic = 0;
    if (token_.is("cpu")) {
      XR_TRY(step());
      cpu = XR_TRY(number("a cpu", 0, UINT8_MAX));
    }
    if (item.kind != Kind::Calc && token_.is("nic")) {
      XR_TRY(step());
      nic = XR_TRY(number("a nic", 0, UINT8_MAX));
    }
    item.channel = static_cast<uint32_t>(item.kind == Kind::Calc ? cpu : nic);
    if (items_.size() == kMostGoalOperations)
      return at(item.line, fmt::format("there are more than {} operations", kMostGoalOperations),
                "a shorter part of the program");
    items_.push_back(item);
    return end_of_line();
  }

  // Sends and recvs of (source, destination, tag) meet in their order.
  Status match() {
    std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::deque<uint32_t>> sends;
    for (uint32_t i = 0; i < items_.size(); i++)
      if (const Item &item = items_[i]; item.kind == Kind::Send)
        sends[{item.rank, item.peer, item.tag}].push_back(i);
    for (uint32_t i = 0; i < items_.size(); i++) {
      const Item &recv = items_[i];
      if (recv.kind != Kind::Recv || recv.takes_any())
        continue;
      const auto found = sends.find({recv.peer, recv.rank, recv.tag});
      if (found == sends.end())
        return at(recv.line,
                  fmt::format("rank {} sends nothing to rank {} with tag {} for this recv",
                              recv.peer, recv.rank, recv.tag),
                  "as many sends as recvs of a pair of ranks and a tag");
      const uint32_t number = found->second.front();
      const Item &send = items_[number];
      if (send.amount != recv.amount)
        return at(recv.line,
                  fmt::format("the recv is of {} bytes, its send in line {} of {}", recv.amount,
                              send.line, send.amount),
                  "sends and recvs of a pair of ranks and a tag meet in their order");
      edges_.push_back({i, {number}});
      found->second.pop_front();
      if (found->second.empty())
        sends.erase(found);
    }
    std::vector<uint32_t> left;
    for (const auto &[key, numbers] : sends)
      left.insert(left.end(), numbers.begin(), numbers.end());
    std::ranges::sort(left);
    XR_TRY(match_any(left));
    if (left.empty())
      return {};
    const Item &send = items_[left.front()];
    return at(send.line,
              fmt::format("rank {} has no recv from rank {} with tag {} for this send", send.peer,
                          send.rank, send.tag),
              "as many recvs as sends of a pair of ranks and a tag");
  }

  // The k-th recv of a rank that takes any of some sends takes the k-th of them that arrives: it
  // waits for k of them, but not for those that wait for it. Removes these sends from `left`.
  Status match_any(std::vector<uint32_t> &left) {
    std::map<std::tuple<uint32_t, uint32_t, bool, uint64_t>, std::vector<uint32_t>> kinds;
    for (uint32_t i = 0; i < items_.size(); i++)
      if (const Item &item = items_[i]; item.takes_any())
        kinds[{item.rank, item.peer, item.any_tag, item.tag}].push_back(i);
    if (kinds.empty())
      return {};
    std::vector<uint32_t> takers(items_.size(), kNone); // by send: the first recv of its kind
    for (const auto &[kind, recvs] : kinds)
      for (const uint32_t send : left)
        if (items_[recvs.front()].takes(items_[send])) {
          if (takers[send] != kNone)
            return at(
                items_[recvs.front()].line,
                fmt::format("this recv and that in line {} can take the same send, in line {}",
                            items_[takers[send]].line, items_[send].line),
                "recvs of a rank with -1 at the same place");
          takers[send] = recvs.front();
        }
    for (const auto &[kind, recvs] : kinds)
      XR_TRY(take_any(recvs, takers));
    std::erase_if(left, [&takers](uint32_t send) { return takers[send] != kNone; });
    return {};
  }

  Status take_any(const std::vector<uint32_t> &recvs, const std::vector<uint32_t> &takers) {
    std::vector<uint32_t> sends;
    for (uint32_t i = 0; i < takers.size(); i++)
      if (takers[i] == recvs.front())
        sends.push_back(i);
    const uint32_t line = items_[recvs.front()].line;
    if (sends.size() != recvs.size())
      return at(
          line,
          fmt::format("{} sends are left for {} recvs like this one", sends.size(), recvs.size()),
          "as many sends as recvs");
    if (recvs.size() > kMostAny)
      return at(line, fmt::format("there are {} recvs like this one", recvs.size()),
                fmt::format("at most {} of a rank with -1", kMostAny));
    for (uint32_t k = 0; k < recvs.size(); k++) {
      const std::vector<bool> later = waiting_for(recvs[k]);
      uint32_t can = 0;
      for (const uint32_t send : sends)
        if (!later[send]) {
          edges_.push_back({recvs[k], {send}});
          can++;
        }
      if (can <= k)
        return at(items_[recvs[k]].line, "the operation waits for itself, by way of others",
                  "no circle of requires, sends and recvs");
      items_[recvs[k]].fewest = k + 1;
    }
    return {};
  }

  // All that wait for an item, by way of others too.
  std::vector<bool> waiting_for(uint32_t item) {
    if (followed_ == 0)
      followers_.resize(items_.size());
    for (; followed_ < edges_.size(); followed_++)
      followers_[edges_[followed_].need.operation].push_back(edges_[followed_].waits);
    std::vector<bool> waits(items_.size());
    std::vector<uint32_t> at = {item};
    while (!at.empty()) {
      const uint32_t next = at.back();
      at.pop_back();
      for (const uint32_t follower : followers_[next])
        if (!waits[follower]) {
          waits[follower] = true;
          at.push_back(follower);
        }
    }
    return waits;
  }

  Result<Job> make(const std::string &name) {
    const Order order(static_cast<uint32_t>(items_.size()), std::move(edges_));
    if (const auto circle = order.circle())
      return at(items_[*circle].line, "the operation waits for itself, by way of others",
                "no circle of requires, sends and recvs");
    Job job;
    job.name = name;
    job.kind = "goal";
    job.hosts.resize(blocks_.size());
    job.steps.push_back({.name = name});
    // by item: its number; and when a recv begins, where that matters
    std::vector<uint32_t> numbers(items_.size(), kNone);
    std::unordered_map<uint32_t, uint32_t> begins;
    for (const uint32_t i : order.items()) {
      const Item &item = items_[i];
      std::vector<Need> needs;
      std::vector<Need> messages;
      for (const Edge &edge : order.needs(i)) {
        Need need{numbers[edge.need.operation], edge.need.when};
        const auto begin = begins.find(edge.need.operation);
        if (need.when == When::Begun && begin != begins.end())
          need = {begin->second};
        // who requires a send waits until it is sent: only its recv until it is complete
        if (items_[edge.need.operation].kind == Kind::Send && need.when == When::Complete)
          messages.push_back(need);
        else
          needs.push_back(need);
      }
      Operation operation{.rank = item.rank, .channel = item.channel, .step = 0};
      if (item.kind == Kind::Recv) {
        if (item.begin_matters) {
          begins[i] = job.add(operation, needs);
          needs = {{begins[i]}};
        }
        if (messages.size() > 1)
          messages = {{job.add({.rank = item.rank, .step = 0, .fewest = item.fewest}, messages)}};
        needs.insert(needs.end(), messages.begin(), messages.end());
      } else {
        operation.kind =
            item.kind == Kind::Send ? Operation::Kind::Message : Operation::Kind::Compute;
        operation.peer = item.peer;
        operation.amount = item.amount;
      }
      numbers[i] = job.add(operation, needs);
    }
    return job;
  }

  Tokens tokens_;
  Token token_;
  std::vector<uint32_t> blocks_; // by rank: its line; 0: none yet
  uint32_t rank_ = 0;
  std::unordered_map<std::string_view, Label> labels_; // of the rank
  std::vector<Item> items_;
  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> followers_; // by item; of the first `followed_` edges
  size_t followed_ = 0;
};

} // namespace

Result<Job> read_goal(std::string_view text, const std::string &name) {
  return GoalReader(text).read(name);
}

} // namespace xr::job
