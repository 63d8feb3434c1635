// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>
#include <deque>

namespace xr::test {

namespace {

class Traffic {
public:
  Traffic(std::mt19937_64 &rng, const Profile &profile) : rng_(rng), profile_(profile) {}

  std::vector<Sent> make() {
    psn_ = profile_.first_psn;
    while (static_cast<int>(perfect_.size()) < profile_.packets)
      profile_.responses ? answer() : ask();
    impair();
    return std::move(out_);
  }

private:
  bool chance(double p) { return std::uniform_real_distribution<>()(rng_) < p; }
  int upto(int n) { return std::uniform_int_distribution<>(0, n)(rng_); }

  void add(int operation, uint32_t payload, uint32_t dma_len = 0, uint32_t psns = 1) {
    perfect_.push_back({.opcode = static_cast<uint8_t>(profile_.transport | operation),
                        .psn = psn_ & 0xffffff,
                        .dma_len = dma_len,
                        .payload = payload});
    psn_ += psns;
  }

  // FIRST, MIDDLEs and LAST of a SEND or WRITE, or its ONLY.
  void message(int first, int only) {
    const int packets = 1 + upto(upto(3) ? 3 : 20);
    if (packets == 1)
      return add(only, static_cast<uint32_t>(upto(static_cast<int>(profile_.pmtu))));
    for (int i = 0; i < packets; i++)
      add(i == 0            ? first
          : i + 1 < packets ? first + 1
                            : first + 2,
          i + 1 < packets ? profile_.pmtu : 1 + static_cast<uint32_t>(upto(200)));
  }

  uint32_t random_read() {
    switch (upto(4)) {
    case 0:
      return static_cast<uint32_t>(upto(256));
    case 1:
      return profile_.pmtu * static_cast<uint32_t>(upto(16));
    default:
      return static_cast<uint32_t>(upto(40000));
    }
  }
  uint32_t psns_of(uint32_t bytes) const {
    return std::max(1u, (bytes + profile_.pmtu - 1) / profile_.pmtu);
  }

  void ask() {
    const bool uc = profile_.transport == ROCE_UC;
    switch (upto(uc ? 1 : 3)) {
    case 0:
      return message(0x00, 0x04);
    case 1:
      return message(0x06, 0x0a);
    case 2:
      return add(0x13 + upto(1), 0);
    default:
      const uint32_t bytes = random_read();
      return add(0x0c, 0, bytes, psns_of(bytes));
    }
  }

  void answer() {
    switch (upto(4)) {
    case 0: // SENDs and WRITEs, answered by one ACK or not at all
      psn_ += static_cast<uint32_t>(1 + upto(6));
      if (chance(0.7)) {
        psn_--;
        add(0x11, 0);
      }
      return;
    case 1:
      return add(0x12, 0);
    case 2:
      perfect_.push_back({.opcode = ROCE_OPCODE_CNP, .psn = 0, .payload = 16});
      return;
    default:
      const uint32_t n = psns_of(random_read());
      if (n == 1)
        return add(0x10, 8);
      for (uint32_t i = 0; i < n; i++)
        add(i == 0 ? 0x0d : i + 1 < n ? 0x0e : 0x0f, i + 1 < n ? profile_.pmtu : 5);
    }
  }

  void emit(Step step) {
    step.psn = (step.psn + life_) & 0xffffff;
    out_.push_back({step, static_cast<uint8_t>(chance(profile_.marked) ? 3 : 2)});
  }

  void release(size_t until) {
    while (!late_.empty() && late_.front().first <= until) {
      emit(late_.front().second);
      late_.pop_front();
    }
  }

  // A READ of several PSNs may be asked again from its middle.
  Step from_the_middle(Step read) {
    const uint32_t n = psns_of(read.dma_len);
    const uint32_t skip = n > 1 ? static_cast<uint32_t>(upto(static_cast<int>(n) - 1)) : 0;
    read.psn = (read.psn + skip) & 0xffffff;
    read.dma_len -= skip * profile_.pmtu;
    return read;
  }

  void impair() {
    size_t at = 0, budget = perfect_.size() * 4; // rounds must end
    while (at < perfect_.size() && budget--) {
      release(out_.size());
      if (chance(profile_.go_back)) {
        at -= static_cast<size_t>(
            upto(static_cast<int>(std::min<size_t>(at, static_cast<size_t>(profile_.go_back_by)))));
        if ((perfect_[at].opcode & 0x1f) == 0x0c)
          emit(from_the_middle(perfect_[at++]));
        continue;
      }
      if (chance(profile_.new_life)) // some too near to be taken for one
        life_ += static_cast<uint32_t>(upto(7) ? upto(0xffffff) : 60000 + upto(11000));
      const Step &step = perfect_[at++];
      if (chance(profile_.loss))
        continue;
      if (chance(profile_.reorder)) {
        late_.emplace_back(out_.size() + 1 + static_cast<size_t>(upto(profile_.reorder_by)), step);
        std::stable_sort(late_.begin(), late_.end(),
                         [](const auto &a, const auto &b) { return a.first < b.first; });
        continue;
      }
      emit(step);
      if (chance(profile_.duplicate))
        late_.emplace_front(out_.size() + static_cast<size_t>(upto(3)), step);
    }
  }

  std::mt19937_64 &rng_;
  Profile profile_;
  uint32_t psn_ = 0, life_ = 0;
  std::vector<Step> perfect_;
  std::deque<std::pair<size_t, Step>> late_;
  std::vector<Sent> out_;
};

} // namespace

Profile random_profile(std::mt19937_64 &rng) {
  const auto pick = [&rng](std::initializer_list<double> values) {
    return values.begin()[rng() % values.size()];
  };
  Profile p;
  p.responses = rng() % 3 == 0;
  p.transport = rng() % 4 == 0 ? ROCE_XRC : !p.responses && rng() % 4 == 0 ? ROCE_UC : ROCE_RC;
  p.pmtu = 256u << rng() % 5;
  // a third of the streams pass the wrap of the PSN, a third that of its sign
  const uint32_t near = static_cast<uint32_t>(rng() % 3000);
  p.first_psn = (rng() % 3 == 0   ? 0x1000000 - near
                 : rng() % 2 == 0 ? 0x800000 - near
                                  : static_cast<uint32_t>(rng())) &
                0xffffff;
  p.loss = pick({0, 0, 0.003, 0.03, 0.2});
  p.duplicate = pick({0, 0, 0.01, 0.1});
  p.reorder = pick({0, 0, 0.003, 0.03, 0.3});
  p.reorder_by = static_cast<int>(pick({2, 8, 100}));
  p.go_back = pick({0, 0, 0.002, 0.02});
  p.go_back_by = static_cast<int>(pick({4, 64, 500}));
  p.new_life = pick({0, 0, 0, 0.002});
  p.marked = pick({0, 0, 0.05, 0.5});
  return p;
}

std::vector<Sent> random_traffic(std::mt19937_64 &rng, const Profile &profile) {
  return Traffic(rng, profile).make();
}

} // namespace xr::test
