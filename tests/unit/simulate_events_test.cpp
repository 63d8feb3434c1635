// SPDX-License-Identifier: Apache-2.0
// The event queue against a sorted set.
#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "simulate/event_queue.h"

namespace xr::simulate::simulate_events_test {
namespace {

class Pair {
public:
  explicit Pair(uint32_t entities) : queue_(entities), known_(entities) {}

  void set(uint32_t entity, uint64_t time) {
    queue_.set(entity, time);
    Event &event = known_[entity];
    if (event.time == time)
      return;
    if (event.time != kNever)
      sorted_.erase({event.time, event.order, entity});
    event = {time, order_++};
    if (time != kNever)
      sorted_.insert({event.time, event.order, entity});
  }
  bool same() const {
    if (sorted_.empty())
      return queue_.time() == kNever;
    const auto &[time, order, entity] = *sorted_.begin();
    return queue_.time() == time && queue_.entity() == entity;
  }
  uint64_t time() const { return queue_.time(); }
  uint32_t entity() const { return queue_.entity(); }

private:
  struct Event {
    uint64_t time = kNever, order = 0;
  };
  EventQueue queue_;
  std::vector<Event> known_;
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> sorted_;
  uint64_t order_ = 0;
};

// Each event moves its own entity, and now and then another one, or none any more.
void run(uint32_t entities, uint64_t span, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << entities << " entities, span " << span << ", seed " << seed);
  std::mt19937_64 rng(seed);
  Pair pair(entities);
  uint64_t now = 0;
  const auto later = [&] {
    const uint64_t any = rng();
    switch (any % 16) {
    case 0:
      return now; // at once
    case 1:
      return now + rng() % (span * 1000);
    case 2:
      return kNever;
    default:
      return now + rng() % span;
    }
  };
  for (uint32_t i = 0; i < entities; i++)
    pair.set(i, later());
  for (int i = 0; i < 20'000; i++) {
    ASSERT_TRUE(pair.same()) << "event " << i;
    if (pair.time() != kNever) {
      ASSERT_GE(pair.time(), now);
      now = pair.time();
      pair.set(pair.entity(), later());
    }
    if (rng() % 2)
      pair.set(static_cast<uint32_t>(rng() % entities), later());
  }
}

TEST(SimulateEvents, AreInOrder) {
  for (uint64_t seed = 1; seed <= 3; seed++)
    for (const uint32_t entities : {1U, 2U, 51U, 1000U})
      for (const uint64_t span : {2ULL, 100ULL, 5000ULL, 3'000'000ULL, 1ULL << 40})
        run(entities, span, seed);
}

TEST(SimulateEvents, OfEqualTimesTheFirstThatWasSetIsFirst) {
  EventQueue queue(4);
  queue.set(2, 1000);
  queue.set(0, 1000);
  queue.set(3, 1000);
  queue.set(2, 1000); // unchanged: keeps its place
  queue.set(0, 999);
  queue.set(0, 1000); // changed, and back: the last one
  for (const uint32_t entity : {2U, 3U, 0U}) {
    EXPECT_EQ(queue.time(), 1000U);
    EXPECT_EQ(queue.entity(), entity);
    queue.set(entity, kNever);
  }
  EXPECT_EQ(queue.time(), kNever);
}

} // namespace
} // namespace xr::simulate::simulate_events_test
