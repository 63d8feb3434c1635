// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyzer.h"

#include <algorithm>
#include <cstring>

#include "analysis/captured_packet.h"

namespace xr {

namespace {

NativeDatapath::Options datapath_options(const Analyzer::Options &options, bool alone) {
  constexpr uint32_t kFewStreams = 64;
  NativeDatapath::Options of{.udp_port = options.udp_port,
                             .track = options.track,
                             .follow = options.episodes,
                             .latency = options.passive_latency || options.series,
                             .classes = true,
                             .quantum_ps = options.quantum_ps,
                             .decap = options.decap,
                             .cnp_times = false};
  if (!alone)
    of.first_streams = kFewStreams;
  return of;
}

void set_view(Analyzer::ParsedFrame &parsed, const CapturedFrame &frame) {
  parsed.data = frame.data;
  parsed.captured = frame.captured;
  parsed.length = frame.length;
  parsed.time_ns = frame.time_ns;
  parsed.damaged = false;
  parsed.number = frame.number ? uint64_t{frame.file} << kFileShift | frame.number : 0;
  parsed.source_port = 0;
}

} // namespace

Analyzer::Shard::Shard(const Options &options, bool alone)
    : datapath(datapath_options(options, alone)), hidden_tunnels(options.udp_port) {}

Analyzer::Analyzer(const Options &options, const Division &division)
    : options_(options), division_(division),
      in_order_(options.decap || options.clock != FrameClock::Capture),
      parser_({.udp_port = options.udp_port, .track = false}), shards_(division.shards()),
      latency_(options.latency), stamp_clock_(options.clock, options.user_tick_ns),
      pfc_senders_(options.quantum_ps) {
  if (options.copies_ns)
    copies_.emplace(options.copies_ns);
  if (options.series)
    shard_at(0).datapath.on_time([this](uint64_t at, unsigned kind, bool bound, uint64_t ns) {
      series_.add_time(at, kind, bound, ns);
    });
  shard_at(0);
}

void Analyzer::make_shard(uint32_t shard) {
  shards_[shard] = std::make_unique<Shard>(options_, shards_.size() == 1);
}

std::vector<NativeDatapath *> Analyzer::datapaths() const {
  std::vector<NativeDatapath *> all;
  for (const auto &shard : shards_)
    if (shard)
      all.push_back(&shard->datapath);
  return all;
}

void Analyzer::on_event(std::function<void(const roce_event &)> callback) {
  shard_at(0).datapath.on_event(std::move(callback));
}

// What a mirror left of a packet has no iCRC to check: it is not `whole`.
void Analyzer::inspect(bool whole, ParsedFrame &parsed) const {
  parsed.icrc = Icrc::Absent;
  if (!roce_is_roce(parsed.class_))
    return;
  if (options_.check_icrc && whole)
    parsed.icrc = icrc_check(parsed.data, parsed.captured, parsed.packet);
  parsed.damaged = parsed.icrc == Icrc::Bad;
  if (parsed.class_ == ROCE_CLASS_V2)
    parsed.source_port = roce_be16(parsed.data + parsed.packet.bth - ROCE_UDP_LEN);
}

// What is no RoCE is only counted, but for what is of the port as a whole.
uint8_t Analyzer::shard_of_other(const CapturedFrame &frame, roce_class class_) const {
  constexpr uint32_t kTypeAt = 12;
  if (class_ != ROCE_CLASS_OTHER || division_.shards() == 1)
    return 0;
  if (frame.captured < kTypeAt + 2)
    return 0;
  const uint16_t type = roce_be16(frame.data + kTypeAt);
  if (frame.link == Link::Ethernet && (type == ROCE_ETHERTYPE_MAC_CONTROL ||
                                       type == ROCE_ETHERTYPE_VLAN || type == ROCE_ETHERTYPE_QINQ))
    return 0;
  return division_.shard_of_bytes(frame.time_ns);
}

void Analyzer::brief_of(const CapturedFrame &frame, const ParsedFrame &parsed, Brief &brief) const {
  const bool roce = roce_is_roce(parsed.class_);
  brief.time_ns = parsed.time_ns;
  brief.length = frame.length;
  brief.job.what = 0;
  brief.shard = roce ? division_.shard_of(parsed.packet) : shard_of_other(frame, parsed.class_);
  brief.flags = frame.left_out ? Brief::Away : 0;
  if (!roce)
    return;
  if (parsed.damaged)
    return;
  brief.flags |= Brief::Sound;
  if (packet::read_stamp({parsed.data, parsed.captured}, parsed.packet))
    brief.flags |= Brief::Stamped;
}

// Tunnels belong to sessions, and the mirror's clock to a session: these are followed in order.
void Analyzer::parse(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief) const {
  brief.flags = 0;
  brief.shard = 0;
  brief.aways = 0;
  if (in_order_)
    return;
  set_view(parsed, frame);
  parsed.class_ = frame.link == Link::Ethernet ? parser_.parse(parsed, parsed.packet)
                                               : parse_captured(parser_, frame, parsed.packet);
  inspect(true, parsed);
  brief_of(frame, parsed, brief);
}

void Analyzer::parse_in_order(const CapturedFrame &whole, ParsedFrame &parsed, Brief &brief) {
  NativeDatapath &datapath = shard_at(0).datapath;
  CapturedFrame captured = whole; // without its trailer
  std::optional<FrameStamp> stamp;
  if (options_.clock == FrameClock::Trailer)
    stamp = take_trailer(captured);
  set_view(parsed, captured);
  parsed.class_ = options_.decap ? datapath.unwrap(parsed, layer3_of(captured), parsed.packet)
                                 : parse_captured(datapath, captured, parsed.packet);
  if (options_.decap && options_.clock != FrameClock::Trailer)
    stamp = erspan_stamp(captured, datapath.origin());
  if (stamp || options_.clock != FrameClock::Capture)
    parsed.time_ns = stamp_clock_.time(captured.time_ns, stamp);
  inspect(!(options_.decap && datapath.truncated()), parsed);
  brief_of(captured, parsed, brief);
}

void Analyzer::admit(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief) {
  if (in_order_)
    parse_in_order(frame, parsed, brief);
  if (copies_ && roce_is_roce(parsed.class_) && copies_->is_copy(parsed, parsed.packet)) {
    brief.flags |= Brief::Copy;
    return;
  }
  windows_ += (brief.flags & Brief::Away) != 0;
  brief.aways = windows_;
}

// Timestamps of captures are of CLOCK_REALTIME; 0: the file has none.
void Analyzer::note_stamp(const ParsedFrame &parsed) {
  const auto stamp = packet::read_stamp({parsed.data, parsed.captured}, parsed.packet);
  std::optional<uint64_t> arrived;
  if (parsed.time_ns)
    arrived =
        parsed.time_ns + static_cast<uint64_t>(int64_t{options_.tai_offset_s} * 1'000'000'000);
  latency_.add(parsed.packet, *stamp, arrived);
}

LatencyReport Analyzer::latency() const {
  LatencyReport report = latency_.report();
  report.tai_offset_s = options_.tai_offset_s;
  return report;
}

void Analyzer::look_at_others(const CapturedFrame &captured, const ParsedFrame &parsed,
                              Shard &shard) {
  const bool other = parsed.class_ == ROCE_CLASS_OTHER;
  if (other && !options_.decap)
    shard.hidden_tunnels.look_at(captured);
  if (&shard == shards_[0].get() && captured.link == Link::Ethernet &&
      (other || parsed.class_ == ROCE_CLASS_PFC))
    pfc_senders_.look_at(parsed, !(options_.decap && shard.datapath.truncated()));
}

void Analyzer::account(const CapturedFrame &captured, ParsedFrame &parsed, Brief &brief,
                       uint64_t order) {
  if (brief.flags & Brief::Copy)
    return;
  Shard &shard = shard_at(brief.shard);
  roce_packet &packet = parsed.packet;
  bool track = !parsed.damaged || !options_.drop_bad_icrc;
  if (!parsed.number)
    parsed.number = order;
  parsed.order = order;
  shard.icrc.checked += parsed.icrc != Icrc::Absent;
  shard.icrc.bad += parsed.damaged;
  shard.icrc.zero += parsed.icrc == Icrc::Zero;
  if (options_.outcome) {
    const Options::Outcome outcome = options_.outcome(captured);
    track = track && !outcome.lost;
    if (outcome.marked)
      packet.ecn = ROCE_ECN_CE;
  }
  shard.datapath.away(brief.aways);
  const uint32_t record = shard.datapath.account(parsed, parsed.class_, packet, track);
  if (packet.info & ROCE_OP_CNP && record != NativeDatapath::kNoStream)
    brief.flags |= Brief::Cnp;
  if (options_.traffic)
    shard.traffic.add(parsed, parsed.class_, packet, parsed.source_port, record);
  if (options_.series)
    series_.add(shard.datapath, parsed, parsed.class_, packet, record);
  if (options_.job)
    brief.job = shard.job.add(shard.datapath, parsed, packet, record);
  if (!roce_is_roce(parsed.class_))
    look_at_others(captured, parsed, shard);
}

void Analyzer::finish(const ParsedFrame &parsed, const Brief &brief) {
  if (brief.flags & Brief::Copy)
    return;
  newest_ns_ = brief.time_ns;
  if (!frames_++)
    first_ns_ = brief.time_ns;
  last_ns_ = std::max(last_ns_, brief.time_ns);
  if (brief.job.what)
    job_.add(brief.job, brief.shard, parsed.packet.key, brief.time_ns);
  if (options_.microbursts)
    microbursts_.frame(brief.time_ns, brief.length);
  if (!(brief.flags & (Brief::Stamped | Brief::Cnp)) && !options_.connections)
    return;
  if (brief.flags & Brief::Stamped)
    note_stamp(parsed);
  if (options_.connections && brief.flags & Brief::Sound)
    connections_.packet(brief.time_ns, {parsed.data, parsed.captured}, parsed.packet);
  if (options_.episodes && brief.flags & Brief::Cnp) {
    roce_key key = parsed.packet.key;
    roce_key_fill(&key);
    shards_[0]->datapath.cnp_time(key, brief.time_ns);
  }
}

const roce_key *Analyzer::take(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief,
                               uint64_t order) {
  if (admits() || brief.flags & Brief::Away)
    admit(frame, parsed, brief);
  account(frame, parsed, brief, order);
  finish(parsed, brief);
  if (!roce_is_roce(parsed.class_) || brief.flags & Brief::Copy)
    return nullptr;
  roce_key_fill(&parsed.packet.key);
  return &parsed.packet.key;
}

bool Analyzer::has_room(uint32_t shard) {
  if (shards_.size() == 1 || !shards_[shard])
    return true;
  const NativeDatapath::Used used = shards_[shard]->datapath.used();
  NativeDatapath::Used &reported = shards_[shard]->reported;
  if (used == reported)
    return true;
  const auto add = [this](size_t which, uint64_t now, uint64_t before) {
    return (*used_)[which].fetch_add(now - before) + now - before;
  };
  const NativeDatapath::Used all = {
      .followed = add(0, used.followed, reported.followed),
      .timed = add(1, used.timed, reported.timed),
      .episodes = add(2, used.episodes, reported.episodes),
      .findings = add(3, used.findings, reported.findings),
      .damaged = add(4, used.damaged, reported.damaged),
  };
  reported = used;
  return NativeDatapath::has_room(all);
}

void Analyzer::episodes(Episodes &into) {
  NativeDatapath::episodes(datapaths(), into);
  into.first_ns = first_ns_;
}

CaptureSeries Analyzer::series() { return series_.result(shards_[0]->datapath, last_ns_); }

JobTraffic Analyzer::job() const {
  JobTraffic job = job_.result(last_ns_);
  for (const auto &shard : shards_)
    if (shard)
      shard->job.add_counts(job);
  return job;
}

void Analyzer::snapshot(Snapshot &into) const {
  const std::vector<NativeDatapath *> parts = datapaths();
  NativeDatapath::snapshot(parts, newest_ns_, into);
  into.source = Snapshot::Source::Capture;
  into.hidden_tunnels = {};
  std::vector<const TrafficCollector *> traffic;
  for (const auto &shard : shards_) {
    if (!shard)
      continue;
    traffic.push_back(&shard->traffic);
    into.icrc.checked += shard->icrc.checked;
    into.icrc.bad += shard->icrc.bad;
    into.icrc.zero += shard->icrc.zero;
    shard->hidden_tunnels.add_to(into.hidden_tunnels);
  }
  if (options_.traffic)
    TrafficCollector::result(traffic, NativeDatapath::places(parts), into);
  into.pfc_senders = pfc_senders_.result(first_ns_, last_ns_);
}

} // namespace xr
