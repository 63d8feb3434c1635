// SPDX-License-Identifier: Apache-2.0
#include "job/chakra.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "job/collective.h"
#include "job/order.h"
#include "job/protobuf.h"
#include "parse/yaml.h"

namespace xr::job {

namespace {

// NodeType and CollectiveCommType of et_def.proto.
constexpr std::array<std::string_view, 11> kTypes = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
    "STORAGE_NODE", "BATCH_NODE",     "CHECKPOINT_NODE"};
enum Type : uint8_t { kInvalid = 0, kMetadata = 1, kComp = 4, kSend = 5, kRecv = 6, kColl = 7 };
struct CollectiveType {
  std::string_view name, kind; // "": it is not here
};
constexpr std::array<CollectiveType, 10> kCollectives = {{{"ALL_REDUCE", "all_reduce"},
                                                          {"REDUCE", ""},
                                                          {"ALL_GATHER", "all_gather"},
                                                          {"GATHER", ""},
                                                          {"SCATTER", ""},
                                                          {"BROADCAST", "broadcast"},
                                                          {"ALL_TO_ALL", "all_to_all"},
                                                          {"REDUCE_SCATTER", "reduce_scatter"},
                                                          {"REDUCE_SCATTER_BLOCK", ""},
                                                          {"BARRIER", ""}}};
constexpr uint64_t kMostMicros = uint64_t{INT64_MAX} / 1000;
constexpr const char *kFrom = "a Chakra execution trace of schema 0.0.4";

struct Node {
  uint32_t rank = 0;
  uint64_t id = 0, type = kInvalid, micros = 0;
  std::vector<uint64_t> needs; // ids
  uint32_t item = kNone;
  uint32_t operation = kNone; // complete when the node is
  // attributes
  bool cpu = false;
  bool counts_operations = false;
  bool some_dimensions = false; // involved_dim has a false
  std::optional<uint64_t> kind, size, src, dst;
  uint64_t tag = 0;
  std::string group; // pg_name; "": all ranks
};

class ChakraReader {
public:
  explicit ChakraReader(std::span<const ChakraFile> files) : files_(files) {}

  Result<Job> read(const std::string &name) {
    for (uint32_t rank = 0; rank < files_.size(); rank++)
      XR_TRY(file(rank).in(files_[rank].name));
    XR_TRY(match());
    XR_TRY(collectives());
    return make(name);
  }

private:
  Error of(const Node &node, std::string_view what, std::string hint) const {
    return {fmt::format("{}: node {} ({}) {}", files_[node.rank].name, node.id, kTypes[node.type],
                        what),
            std::move(hint)};
  }

  Status file(uint32_t rank) {
    Fields messages(files_[rank].bytes);
    if (messages.done())
      return Error{"the file is empty", kFrom};
    Fields metadata(XR_TRY(messages.message())); // says nothing that is needed
    while (!metadata.done())
      XR_TRY(metadata.next());
    auto &ids = ids_.emplace_back();
    while (!messages.done()) {
      Node node;
      node.rank = rank;
      XR_TRY(read_node(XR_TRY(messages.message()), node));
      if (!ids.try_emplace(node.id, static_cast<uint32_t>(nodes_.size())).second)
        return Error{fmt::format("there are two nodes {}", node.id), "an id for each node"};
      nodes_.push_back(std::move(node));
    }
    return {};
  }

  static Status read_node(std::string_view bytes, Node &node) {
    Fields fields(bytes);
    while (!fields.done()) {
      const Fields::Field field = XR_TRY(fields.next());
      const bool repeated = field.number == 4 || field.number == 5;
      const bool text = field.number == 2 || (field.number >= 8 && field.number <= 11);
      if (!field.number || field.number > 11 || (!repeated && field.is_bytes != text))
        return Error{fmt::format("field {} of a node is not that of the schema", field.number),
                     kFrom};
      if (field.number == 1)
        node.id = field.value;
      else if (field.number == 3)
        node.type = field.value;
      else if (repeated)
        XR_TRY(read_needs(field, node.needs));
      else if (field.number == 7)
        node.micros = field.value;
      else if (field.number == 10)
        XR_TRY(read_attribute(field.bytes, node));
    }
    return check_type(node);
  }

  static Status check_type(const Node &node) {
    if (node.type >= kTypes.size())
      return Error{
          fmt::format("node {} has type {}, which is not of the schema", node.id, node.type),
          kFrom};
    if (node.type > kColl || node.type == 2 || node.type == 3)
      return Error{fmt::format("node {}: {} is not here", node.id, kTypes[node.type]),
                   "compute, send, receive and collective nodes"};
    if (node.type == kComp && !node.micros && node.counts_operations)
      return Error{fmt::format("node {} has num_ops, but no duration_micros: how long it takes is "
                               "not known",
                               node.id),
                   "a trace with duration_micros"};
    if (node.micros > kMostMicros)
      return Error{fmt::format("node {} takes {} us", node.id, node.micros),
                   fmt::format("at most {}", kMostMicros)};
    return {};
  }

  // One number, or packed ones.
  static Status read_needs(const Fields::Field &field, std::vector<uint64_t> &needs) {
    if (!field.is_bytes)
      needs.push_back(field.value);
    Fields packed(field.bytes);
    while (!packed.done())
      needs.push_back(XR_TRY(packed.varint()));
    return {};
  }

  static Status read_attribute(std::string_view bytes, Node &node) {
    Fields fields(bytes);
    std::string_view name;
    std::optional<Fields::Field> value;
    while (!fields.done()) {
      const Fields::Field field = XR_TRY(fields.next());
      if (field.number == 1)
        name = field.bytes;
      else if (field.number != 2)
        value = field;
    }
    // numbers that are not zigzag: int32 to uint64, fixed32 to sfixed64, bool
    const uint64_t kind = value ? value->number : 27; // a default is not written
    const auto number = [&](auto &into) -> Status {
      if ((value && value->is_bytes) || kind == 3 || kind == 5 || kind == 15 || kind == 17)
        return Error{fmt::format("node {}: {} is not a whole number", node.id, name), kFrom};
      into = value ? value->value : 0;
      return {};
    };
    uint64_t truth = 0;
    if (name == "comm_type")
      return number(node.kind);
    if (name == "comm_size")
      return number(node.size);
    if (name == "comm_src")
      return number(node.src);
    if (name == "comm_dst")
      return number(node.dst);
    if (name == "comm_tag")
      return number(node.tag);
    if (name == "is_cpu_op") {
      XR_TRY(number(truth));
      node.cpu = truth != 0;
    } else if (name == "num_ops") {
      XR_TRY(number(truth));
      node.counts_operations = truth != 0;
    } else if (name == "pg_name" && value) {
      node.group = value->is_bytes ? std::string(value->bytes) : fmt::format("{}", value->value);
    } else if (name == "involved_dim" && value) {
      Fields list(value->bytes);
      while (!list.done()) {
        const Fields::Field truths = XR_TRY(list.next());
        node.some_dimensions |=
            truths.is_bytes ? truths.bytes.find('\0') != std::string_view::npos : !truths.value;
      }
    }
    return {};
  }

  Status check_ends(const Node &node) const {
    const bool send = node.type == kSend;
    const std::optional<uint64_t> &own = send ? node.src : node.dst,
                                  &other = send ? node.dst : node.src;
    if (own.value_or(node.rank) != node.rank)
      return of(node, fmt::format("is of rank {}", *own), "in the file of its rank");
    if (!other || *other >= files_.size())
      return of(node, send ? "has no comm_dst among the ranks" : "has no comm_src among the ranks",
                "a file for each rank");
    if (!node.size || *node.size > INT64_MAX)
      return of(node, "has no comm_size", "the attribute comm_size");
    return {};
  }

  // Gives nodes their items; sends and receives of (source, destination, tag, group) meet in their
  // order.
  Status match() {
    std::map<std::tuple<uint64_t, uint64_t, uint64_t, std::string>, std::deque<uint32_t>> sends;
    for (uint32_t i = 0; i < nodes_.size(); i++) {
      Node &node = nodes_[i];
      if (node.type == kColl)
        continue;
      node.item = new_item({i});
      if (node.type == kSend || node.type == kRecv)
        XR_TRY(check_ends(node));
      if (node.type == kSend)
        sends[{node.rank, *node.dst, node.tag, node.group}].push_back(i);
    }
    for (const Node &node : nodes_) {
      if (node.type != kRecv)
        continue;
      std::deque<uint32_t> &from = sends[{*node.src, node.rank, node.tag, node.group}];
      if (from.empty())
        return of(node,
                  fmt::format("has no send of rank {} with tag {}{}", *node.src, node.tag,
                              in_group(node)),
                  "as many sends as receives of a pair of ranks, a tag and a pg_name");
      const Node &send = nodes_[from.front()];
      if (*send.size != *node.size)
        return of(node,
                  fmt::format("is of {} bytes, its send, node {} of rank {}, of {}", *node.size,
                              send.id, send.rank, *send.size),
                  "sends and receives of a pair of ranks and a tag meet in their order");
      message_of_[node.item] = from.front();
      edges_.push_back({node.item, {send.item}});
      from.pop_front();
    }
    for (const auto &[key, left] : sends)
      if (!left.empty())
        return of(nodes_[left.front()],
                  fmt::format("has no receive at rank {} with tag {}{}", std::get<1>(key),
                              std::get<2>(key), in_group(nodes_[left.front()])),
                  "as many receives as sends of a pair of ranks, a tag and a pg_name");
    return {};
  }

  static std::string in_group(const Node &node) {
    return node.group.empty() ? "" : fmt::format(" in group {}", node.group);
  }

  uint32_t new_item(std::vector<uint32_t> nodes) {
    items_.push_back(std::move(nodes));
    return static_cast<uint32_t>(items_.size() - 1);
  }

  // The n-th collective of a group is the n-th one of each of its ranks.
  Status collectives() {
    std::map<std::string, std::vector<std::vector<uint32_t>>> groups; // by rank of the job
    for (uint32_t i = 0; i < nodes_.size(); i++)
      if (const Node &node = nodes_[i]; node.type == kColl) {
        XR_TRY(check_collective(node));
        auto &group = groups[node.group];
        group.resize(files_.size());
        group[node.rank].push_back(i);
      }
    for (auto &[name, ranks] : groups) {
      if (!name.empty())
        std::erase_if(ranks, [](const auto &of_rank) { return of_rank.empty(); });
      const size_t count = std::ranges::max(ranks, {}, &std::vector<uint32_t>::size).size();
      for (size_t n = 0; n < count; n++)
        XR_TRY(collective(ranks, n));
    }
    return {};
  }

  Status check_collective(const Node &node) const {
    if (!node.kind || *node.kind >= kCollectives.size())
      return of(node, "has no comm_type of the schema", "the attribute comm_type");
    if (kCollectives[*node.kind].kind.empty())
      return of(node, fmt::format("is a {}, which is not here", kCollectives[*node.kind].name),
                "ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL or BROADCAST");
    if (node.size.value_or(0) == 0 || *node.size > INT64_MAX)
      return of(node, "has no comm_size", "the attribute comm_size");
    if (node.some_dimensions)
      return of(node, "is of some dimensions (involved_dim), which are not here",
                "pg_name, with a node in the file of each rank of the group");
    return {};
  }

  Status collective(const std::vector<std::vector<uint32_t>> &ranks, size_t n) {
    const auto longest = std::ranges::max_element(ranks, {}, &std::vector<uint32_t>::size);
    const uint32_t like = (*longest)[n];
    const Node &first = nodes_[like];
    std::vector<uint32_t> members;
    for (uint32_t rank = 0; rank < ranks.size(); rank++) {
      if (ranks[rank].size() <= n)
        return of(first, "is a collective that not all ranks of its group have",
                  "a node in the file of each rank of the group, or the attribute pg_name");
      const Node &node = nodes_[ranks[rank][n]];
      if (node.kind != first.kind || node.size != first.size)
        return of(node,
                  fmt::format("is {} of {} bytes, that of rank {} (node {}) {} of {}",
                              kCollectives[*node.kind].name, *node.size, first.rank, first.id,
                              kCollectives[*first.kind].name, *first.size),
                  "the same collectives of a group in the same order");
      members.push_back(ranks[rank][n]);
    }
    if (members.size() < 2)
      return of(first, "is a collective of one rank", "a file for each rank of the group");
    const uint32_t item = new_item(members);
    for (const uint32_t member : members)
      nodes_[member].item = item;
    return {};
  }

  Result<Job> make(const std::string &name) {
    for (const Node &node : nodes_)
      for (const uint64_t id : node.needs) {
        const auto found = ids_[node.rank].find(id);
        if (found == ids_[node.rank].end())
          return of(node, fmt::format("waits for node {}, which is not there", id),
                    "the whole trace");
        edges_.push_back({node.item, {nodes_[found->second].item}});
      }
    const Order order(static_cast<uint32_t>(items_.size()), edges_);
    if (const auto circle = order.circle())
      return of(nodes_[items_[*circle][0]], "waits for itself, by way of others",
                "no circle of dependencies, sends and receives");
    Job job;
    job.name = name;
    job.kind = "chakra";
    job.hosts.resize(files_.size());
    job.steps.push_back({.name = name});
    for (const uint32_t item : order.items())
      XR_TRY(add(job, item));
    if (items_.size() > 1) // the bandwidth of one collective is not that of the job
      job.steps[0] = {.name = name};
    return job;
  }

  std::vector<Need> needs_of(const Node &node) const {
    std::vector<Need> needs;
    for (const uint64_t id : node.needs) {
      const Node &other = nodes_[ids_[node.rank].at(id)];
      needs.push_back(
          {other.operation, other.type == kSend ? Need::When::Sent : Need::When::Complete});
    }
    return needs;
  }

  Status add(Job &job, uint32_t item) {
    Node &node = nodes_[items_[item][0]];
    if (node.type == kColl)
      return add_collective_of(job, items_[item]);
    std::vector<Need> needs = needs_of(node);
    Operation operation{.rank = node.rank, .step = 0};
    if (node.type == kComp) {
      operation.kind = Operation::Kind::Compute;
      operation.channel = node.cpu ? 1 : 0;
      operation.amount = node.micros * 1000;
    } else if (node.type == kSend) {
      operation.kind = Operation::Kind::Message;
      operation.peer = static_cast<uint32_t>(*node.dst);
      operation.amount = *node.size;
    } else if (node.type == kRecv) {
      needs.push_back({nodes_[message_of_.at(item)].operation});
    }
    node.operation = job.add(operation, needs);
    return {};
  }

  Status add_collective_of(Job &job, const std::vector<uint32_t> &members) {
    const Node &first = nodes_[members[0]];
    Collective collective;
    collective.kind = kCollectives[*first.kind].kind;
    collective.size = *first.size;
    if (collective.kind == "all_gather") { // there: what each rank has in the beginning
      if (collective.size > INT64_MAX / members.size())
        return of(first, "is of too many bytes", "a smaller comm_size");
      collective.size *= members.size();
    }
    std::vector<uint32_t> after(files_.size(), kNone), ends(files_.size(), kNone);
    if (collective.kind == "broadcast" && first.src) {
      const auto root = std::ranges::find_if(
          members, [&](uint32_t member) { return nodes_[member].rank == *first.src; });
      if (root == members.end())
        return of(first, fmt::format("is from rank {}, which is not of its group", *first.src),
                  "comm_src, a rank of the group; without it, the first of them");
      collective.root = static_cast<uint32_t>(root - members.begin());
    }
    for (const uint32_t member : members) {
      const Node &node = nodes_[member];
      collective.ranks.push_back(node.rank);
      if (const std::vector<Need> needs = needs_of(node); !needs.empty())
        after[node.rank] = job.add({.rank = node.rank, .step = 0}, needs);
    }
    XR_TRY(add_collective(job, collective, after, 0, ends).in(files_[first.rank].name));
    for (const uint32_t member : members)
      nodes_[member].operation = ends[nodes_[member].rank];
    return {};
  }

  std::span<const ChakraFile> files_;
  std::vector<std::unordered_map<uint64_t, uint32_t>> ids_; // by rank
  std::vector<Node> nodes_;
  std::vector<std::vector<uint32_t>> items_;          // their nodes: more than one of a collective
  std::unordered_map<uint32_t, uint32_t> message_of_; // by item of a receive: the node of its send
  std::vector<Edge> edges_;
};

} // namespace

Result<Job> read_chakra(std::span<const ChakraFile> files, const std::string &name) {
  if (files.empty())
    return Error{"there is no file", "NAME.0.et, NAME.1.et, ... one for each rank"};
  return ChakraReader(files).read(name);
}

Result<Job> read_chakra(const std::string &directory, const std::string &name) {
  std::map<uint64_t, std::filesystem::path> paths; // by rank
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".et")
      continue;
    const std::string stem = entry.path().stem().string();
    const std::string digits = stem.substr(stem.rfind('.') + 1);
    uint64_t rank = 0;
    const char *end = digits.data() + digits.size();
    if (const auto parsed = std::from_chars(digits.data(), end, rank);
        parsed.ec != std::errc() || parsed.ptr != end || digits.size() == stem.size())
      return Error{fmt::format("{}: its name has no rank", entry.path().string()),
                   "NAME.0.et, NAME.1.et, ..."};
    if (!paths.try_emplace(rank, entry.path()).second)
      return Error{fmt::format("{}: there are two files of rank {}", directory, rank),
                   "a directory with the files of one trace"};
  }
  if (error)
    return errno_error(error.value(), fmt::format("cannot read the directory {}", directory),
                       "the directory with NAME.0.et, NAME.1.et, ...");
  std::vector<ChakraFile> files;
  for (const auto &[rank, path] : paths) {
    if (rank != files.size())
      return Error{fmt::format("{}: there is no file of rank {}", directory, files.size()),
                   "NAME.0.et, NAME.1.et, ... without a gap"};
    files.push_back({path.filename().string(), XR_TRY(parse::read_file(path.string()))});
  }
  return read_chakra(files, name).in(directory);
}

} // namespace xr::job
