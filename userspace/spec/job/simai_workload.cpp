// SPDX-License-Identifier: Apache-2.0
#include "job/simai_workload.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::job {

namespace {

constexpr std::string_view kPolicy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD", kMicro = "MICRO";
constexpr uint64_t kMostLayers = 1'000'000, kMostSimAiRanks = 100'000,
                   kMostBytes = 1'000'000'000'000;
constexpr uint64_t kMostTime = 1'000'000'000'000; // ns
constexpr size_t kWords = 12;                     // of a layer; the last one may be left out

class WorkloadReader {
public:
  WorkloadReader(std::string_view text, const std::string &name, uint32_t hosts)
      : name_(name), text_(text), hosts_(hosts) {}

  Result<SimAiWorkload> read() {
    XR_TRY(header(next()));
    const auto words = next();
    out_.layers.resize(words.size() == 1 ? XR_TRY(whole("layers", words[0], 1, kMostLayers)) : 0);
    if (out_.layers.empty())
      return wrong("the second line is the number of layers", "like 2");
    for (SimAiLayer &layer : out_.layers)
      XR_TRY(layer_of(next(), layer));
    if (const auto more = next(); !more.empty())
      return wrong(fmt::format("there are more than {} layers", out_.layers.size()),
                   "the number in the second line");
    XR_TRY(mark(checkpoints_, &SimAiLayer::checkpoint));
    XR_TRY(mark(again_, &SimAiLayer::again));
    return std::move(out_);
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

  // AICB's divisions are real: 25165824.0.
  Result<uint64_t> whole(std::string_view what, const std::string &word, uint64_t from,
                         uint64_t to) const {
    const auto value = parse::real(word, static_cast<double>(from), static_cast<double>(to));
    if (!value || value.get() != std::floor(value.get()))
      return wrong(
          fmt::format("{}: '{}' is not a whole number from {} to {}", what, word, from, to),
          fmt::format("like {}", from));
    return static_cast<uint64_t>(value.get());
  }

  Status header(const Words &words) {
    const std::string policy = words.empty() ? "" : words[0];
    if (policy != kPolicy && policy != kMicro)
      return wrong(fmt::format("'{}' is not a policy that is here", policy),
                   fmt::format("{} or {}", kPolicy, kMicro));
    const std::vector<std::string_view> keys = {"model_parallel_NPU_group",
                                                "ep",
                                                "expert_parallel_npu_group",
                                                "pp",
                                                "vpp",
                                                "ga",
                                                "all_gpus",
                                                "checkpoints",
                                                "checkpoint_initiates",
                                                "pp_comm"};
    for (size_t i = 1; i < words.size();) {
      std::string key = words[i++];
      if (key.ends_with(':'))
        key.pop_back();
      if (std::ranges::find(keys, key) == keys.end())
        return wrong(fmt::format("'{}' is not a key of the first line", words[i - 1]),
                     parse::hint_from(key, keys));
      const bool zero = key.starts_with("checkpoint") || key == "pp_comm";
      const uint64_t value = XR_TRY(whole(key, i < words.size() ? words[i] : "", zero ? 0 : 1,
                                          zero ? kMostBytes : kMostSimAiRanks));
      i++;
      if (key.starts_with("checkpoint"))
        for (uint64_t n = 0; n < value; n++)
          (key == "checkpoints" ? checkpoints_ : again_)
              .insert(XR_TRY(whole(key, i < words.size() ? words[i++] : "", 0, kMostLayers)));
      if (!values_.emplace(key == "expert_parallel_npu_group" ? "ep" : key, value).second)
        return wrong(fmt::format("{} is there twice", key), "once");
    }
    return groups(policy == kMicro);
  }

  uint64_t value_or(const char *key, uint64_t otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }

  // TP groups are neighbours; an EP group has ranks of neighbouring TP groups; a stage of the
  // pipeline has neighbouring ranks.
  Status groups(bool micro) {
    const uint64_t tp = value_or("model_parallel_NPU_group", micro ? 1 : 0), ep = value_or("ep", 1),
                   pp = value_or("pp", 1), ranks = value_or("all_gpus", hosts_);
    if (!tp)
      return wrong("model_parallel_NPU_group is missing", "model_parallel_NPU_group: 8");
    if (!ranks)
      return wrong("all_gpus is missing", "all_gpus: 8, or a topology, whose hosts are the GPUs");
    if (ranks < 2 || ranks % (tp * ep * pp))
      return wrong(fmt::format("{} GPUs are not whole groups of {} x {}{}", ranks, tp, ep,
                               pp > 1 ? fmt::format(" x {}", pp) : ""),
                   "all_gpus = model_parallel_NPU_group x ep x pp x a number");
    const auto number = [](uint64_t value) { return static_cast<uint32_t>(value); };
    const uint64_t stage = ranks / pp;
    out_.ranks = number(ranks);
    out_.stages = number(pp);
    out_.chunks = number(value_or("ga", 1) * value_or("vpp", 1));
    out_.transfer_bytes = value_or("pp_comm", 0);
    out_.groups = {{"TP", {number(tp), 1}},
                   {"DP", {number(stage / tp), number(tp)}},
                   {"EP", {number(ep), number(tp)}},
                   {"DP_EP", {number(stage / tp / ep), number(tp * ep)}}};
    return {};
  }

  Status layer_of(const Words &words, SimAiLayer &layer) const {
    if (words.empty())
      return wrong(fmt::format("the file ends: there are {} layers", out_.layers.size()),
                   "the file must be complete");
    if (words.size() != kWords && words.size() != kWords - 1)
      return wrong(fmt::format("a layer has {} words, not {}", kWords, words.size()),
                   "NAME -1 and time, type, bytes of fp, ig and wg, and the update's time");
    constexpr std::array<const char *, 3> kParts = {"fp", "ig", "wg"};
    for (size_t i = 0; i < kParts.size(); i++) {
      SimAiPart &part = layer.parts[i];
      part.compute_ns = XR_TRY(whole(kParts[i], words[2 + 3 * i], 0, kMostTime));
      XR_TRY(type_of(words[3 + 3 * i], i == 2 ? "DP" : "TP", part));
      part.bytes = XR_TRY(whole(kParts[i], words[4 + 3 * i], 0, kMostBytes));
    }
    if (words.size() == kWords)
      layer.update_ns = XR_TRY(whole("update", words[11], 0, kMostTime));
    return {};
  }

  Status type_of(const std::string &word, const char *group, SimAiPart &part) const {
    if (word == "NONE")
      return {};
    const std::map<std::string_view, std::string_view> kinds = {{"ALLREDUCE", "all_reduce"},
                                                                {"ALLGATHER", "all_gather"},
                                                                {"REDUCESCATTER", "reduce_scatter"},
                                                                {"ALLTOALL", "all_to_all"},
                                                                {"BROADCAST", "broadcast"}};
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
                   "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, with _EP or "
                   "_DP_EP");
    part.kind = kind->second;
    return {};
  }

  Status mark(const std::set<uint64_t> &numbers, bool SimAiLayer::*what) {
    for (const uint64_t number : numbers) {
      if (number >= out_.layers.size())
        return Error{fmt::format("{}:1: there is no layer {}", name_, number),
                     "layers are counted from 0"};
      out_.layers[number].*what = true;
      const auto before = out_.layers.begin() + static_cast<std::ptrdiff_t>(number);
      if (what == &SimAiLayer::again &&
          std::none_of(out_.layers.begin(), before + 1, std::mem_fn(&SimAiLayer::checkpoint)))
        return Error{fmt::format("{}:1: checkpoint_initiates: no layer before {} is a checkpoint",
                                 name_, number),
                     "checkpoints: 1 0"};
    }
    return {};
  }

  std::string name_;
  std::string_view text_;
  uint32_t hosts_;
  unsigned line_ = 0;
  std::map<std::string, uint64_t, std::less<>> values_; // of the first line
  std::set<uint64_t> checkpoints_, again_;              // layers
  SimAiWorkload out_;
};

} // namespace

Result<SimAiWorkload> read_simai_workload(std::string_view text, const std::string &name,
                                          uint32_t hosts) {
  return WorkloadReader(text, name, hosts).read();
}

} // namespace xr::job
