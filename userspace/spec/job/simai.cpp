// SPDX-License-Identifier: Apache-2.0
#include "job/simai.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "job/collective.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::job {

namespace {

constexpr std::string_view kPolicy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
constexpr uint64_t kMostLayers = 1'000'000, kMostSimAiRanks = 100'000,
                   kMostBytes = 1'000'000'000'000;
constexpr uint64_t kMostTime = 1'000'000'000'000; // ns
constexpr size_t kWords = 12;                     // of a layer

struct Group {
  uint32_t size = 1, stride = 1; // ranks r, r + stride ...
};

// The parts of a layer in the order of the file.
struct Part {
  uint64_t compute_ns = 0, bytes = 0;
  std::string kind;  // of a collective; "": none
  std::string group; // TP, DP, EP, DP_EP
};
struct Layer {
  std::array<Part, 3> parts; // fp, ig, wg
  uint64_t update_ns = 0;    // after each of its collectives
};

class SimAiReader {
public:
  SimAiReader(std::string_view text, const std::string &name) : name_(name), text_(text) {}

  Result<Job> read() {
    XR_TRY(header(next()));
    const auto words = next();
    layers_.resize(words.size() == 1 ? XR_TRY(whole("layers", words[0], 1, kMostLayers)) : 0);
    if (layers_.empty())
      return wrong("the second line is the number of layers", "like 2");
    for (Layer &layer : layers_)
      XR_TRY(layer_of(next(), layer));
    if (const auto more = next(); !more.empty())
      return wrong(fmt::format("there are more than {} layers", layers_.size()),
                   "the number in the second line");
    return make();
  }

private:
  using Words = std::vector<std::string>;

  // The words of the next line that is not empty; none at the end.
  Words next() {
    while (!text_.empty()) {
      const std::string_view line = text_.substr(0, text_.find('\n'));
      text_.remove_prefix(std::min(line.size() + 1, text_.size()));
      line_++;
      if (Words words = parse::split(std::string(line)); !words.empty())
        return words;
    }
    return {};
  }

  Error wrong(const std::string &what, std::string hint) const {
    return {fmt::format("{}:{}: {}", name_, line_, what), std::move(hint)};
  }

  Result<uint64_t> whole(std::string_view what, const std::string &word, uint64_t from,
                         uint64_t to) const {
    auto value = parse::integer(word, from, to);
    if (!value)
      return wrong(
          fmt::format("{}: '{}' is not a whole number from {} to {}", what, word, from, to),
          fmt::format("like {}", from));
    return value;
  }

  Status header(const Words &words) {
    if (words.empty() || words[0] != kPolicy)
      return wrong(fmt::format("'{}' is not a policy that is here", words.empty() ? "" : words[0]),
                   std::string(kPolicy));
    std::map<std::string, uint64_t, std::less<>> values;
    for (size_t i = 1; i < words.size(); i += 2) {
      std::string key = words[i];
      if (key.ends_with(':'))
        key.pop_back();
      const std::vector<std::string_view> keys = {
          "model_parallel_NPU_group", "ep",     "pp", "vpp", "ga", "all_gpus", "checkpoints",
          "checkpoint_initiates",     "pp_comm"};
      if (std::ranges::find(keys, key) == keys.end())
        return wrong(fmt::format("'{}' is not a key of the first line", words[i]),
                     parse::hint_from(key, keys));
      const bool zero = key.starts_with("checkpoint") || key == "pp_comm";
      const uint64_t value = XR_TRY(whole(key, i + 1 < words.size() ? words[i + 1] : "",
                                          zero ? 0 : 1, zero ? kMostBytes : kMostSimAiRanks));
      if (zero && value)
        return wrong(fmt::format("{}: {} is not here", key, value), fmt::format("{}: 0", key));
      if (!values.emplace(key, value).second)
        return wrong(fmt::format("{} is there twice", key), "once");
    }
    for (const char *key : {"model_parallel_NPU_group", "all_gpus"})
      if (!values.contains(key))
        return wrong(fmt::format("{} is missing", key), fmt::format("{}: 8", key));
    if (values.contains("pp") && values["pp"] != 1)
      return wrong("pp: the layers do not say which stage of a pipeline they are of", "pp: 1");
    return groups(values["model_parallel_NPU_group"], values.emplace("ep", 1).first->second,
                  values["all_gpus"]);
  }

  // TP groups are neighbours; an EP group has ranks of neighbouring TP groups.
  Status groups(uint64_t tp, uint64_t ep, uint64_t ranks) {
    if (ranks < 2 || ranks % (tp * ep))
      return wrong(fmt::format("{} GPUs are not whole groups of {} x {}", ranks, tp, ep),
                   "all_gpus = model_parallel_NPU_group x ep x a number");
    const auto number = [](uint64_t value) { return static_cast<uint32_t>(value); };
    ranks_ = number(ranks);
    groups_ = {{"TP", {number(tp), 1}},
               {"DP", {number(ranks / tp), number(tp)}},
               {"EP", {number(ep), number(tp)}},
               {"DP_EP", {number(ranks / tp / ep), number(tp * ep)}}};
    return {};
  }

  Status layer_of(const Words &words, Layer &layer) const {
    if (words.empty())
      return wrong(fmt::format("the file ends: there are {} layers", layers_.size()),
                   "the file must be complete");
    if (words.size() != kWords)
      return wrong(fmt::format("a layer has {} words, not {}", kWords, words.size()),
                   "NAME -1 and time, type, bytes of fp, ig and wg, and the update's time");
    constexpr std::array<const char *, 3> kParts = {"fp", "ig", "wg"};
    for (size_t i = 0; i < kParts.size(); i++) {
      Part &part = layer.parts[i];
      part.compute_ns = XR_TRY(whole(kParts[i], words[2 + 3 * i], 0, kMostTime));
      XR_TRY(type_of(words[3 + 3 * i], i == 2 ? "DP" : "TP", part));
      part.bytes = XR_TRY(whole(kParts[i], words[4 + 3 * i], 0, kMostBytes));
    }
    layer.update_ns = XR_TRY(whole("update", words[11], 0, kMostTime));
    return {};
  }

  Status type_of(const std::string &word, const char *group, Part &part) const {
    if (word == "NONE")
      return {};
    const std::map<std::string_view, std::string_view> kinds = {{"ALLREDUCE", "all_reduce"},
                                                                {"ALLGATHER", "all_gather"},
                                                                {"REDUCESCATTER", "reduce_scatter"},
                                                                {"ALLTOALL", "all_to_all"}};
    std::string_view type = word;
    part.group = group;
    for (const char *suffix : {"DP_EP", "EP"}) // the longer one first
      if (type.ends_with("_" + std::string(suffix))) {
        part.group = suffix;
        type.remove_suffix(part.group.size() + 1);
        break;
      }
    const auto kind = kinds.find(type);
    if (kind == kinds.end())
      return wrong(fmt::format("'{}' is not a type of a collective", word),
                   "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _EP or _DP_EP");
    part.kind = kind->second;
    return {};
  }

  Result<Job> make() {
    job_.name = name_;
    job_.kind = "simai";
    job_.steps.push_back({.name = "pass"});
    for (uint32_t rank = 0; rank < ranks_; rank++)
      job_.hosts.push_back(fmt::format("host-{}", rank + 1));
    now_.assign(ranks_, kNone);
    for (const Layer &layer : layers_) {
      compute(layer.parts[0].compute_ns, now_, 0);
      XR_TRY(collective(layer.parts[0], layer.update_ns, now_));
    }
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      compute(layer->parts[1].compute_ns, now_, 0);
      XR_TRY(collective(layer->parts[1], layer->update_ns, now_));
      compute(layer->parts[2].compute_ns, now_, 0);
      XR_TRY(weights(layer->parts[2], layer->update_ns));
    }
    // of collectives of different kinds and groups none is defined
    job_.steps[0].bytes = 0;
    job_.steps[0].bus_factor = 0;
    return std::move(job_);
  }

  // After what is in `last`, by rank.
  void compute(uint64_t ns, std::vector<uint32_t> &last, uint32_t processor) {
    for (uint32_t rank = 0; ns && rank < ranks_; rank++) {
      const Operation operation{.kind = Operation::Kind::Compute,
                                .rank = rank,
                                .channel = processor,
                                .step = 0,
                                .amount = ns};
      last[rank] = last[rank] == kNone ? job_.add(operation)
                                       : job_.add(operation, {Need{.operation = last[rank]}});
    }
  }

  Status collective(const Part &part, uint64_t update_ns, std::vector<uint32_t> &last) {
    if (part.kind.empty() || !part.bytes)
      return {};
    const Group group = groups_.find(part.group)->second;
    if (group.size < 2)
      return {};
    Collective made;
    made.name = name_;
    made.kind = part.kind;
    made.size = part.bytes;
    std::vector<uint32_t> ends = last;
    for (uint32_t rank = 0; rank < ranks_; rank++) {
      if (rank / group.stride % group.size) // not the first of its group
        continue;
      made.ranks.clear();
      for (uint32_t i = 0; i < group.size; i++)
        made.ranks.push_back(rank + i * group.stride);
      if (Status s = add_collective(job_, made, last, 0, ends); !s)
        return s.error().in(name_);
    }
    last = std::move(ends);
    compute(update_ns, last, kNone);
    return {};
  }

  // Those of the same groups follow one another, as on one communicator.
  Status weights(const Part &part, uint64_t update_ns) {
    if (part.kind.empty() || !part.bytes)
      return {};
    std::vector<uint32_t> last = now_;
    std::vector<uint32_t> &before = weights_[part.group];
    for (uint32_t rank = 0; rank < ranks_ && !before.empty(); rank++)
      if (last[rank] == kNone)
        last[rank] = before[rank];
      else if (before[rank] != kNone)
        last[rank] = job_.add({.kind = Operation::Kind::Join, .rank = rank, .step = 0},
                              {Need{.operation = last[rank]}, Need{.operation = before[rank]}});
    XR_TRY(collective(part, update_ns, last));
    before = std::move(last);
    return {};
  }

  std::string name_;
  std::string_view text_;
  unsigned line_ = 0;
  uint32_t ranks_ = 0;
  std::map<std::string, Group, std::less<>> groups_;
  std::vector<Layer> layers_;
  Job job_;
  std::vector<uint32_t> now_;                            // by rank: what it did last
  std::map<std::string, std::vector<uint32_t>> weights_; // by group: the last of wg, by rank
};

} // namespace

Result<Job> read_simai(std::string_view text, const std::string &name) {
  return SimAiReader(text, name).read();
}

} // namespace xr::job
