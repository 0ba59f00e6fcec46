/// \file The calls of all members fit each other: every send has its receive, in the same group, of the same length.
#include "program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "support/seed.hpp"

namespace baleen::nccl {
namespace {

constexpr std::uint64_t kIn = 1 << 20, kOut = 2 << 20, kStep = 1 << 16;

/// As the compiler of a rank would hand it over; buffers at made-up addresses.
Collective collective_of(baleen_collective_t op, std::size_t place, std::size_t members,
                         const std::vector<std::uint64_t>& counts) {
  Collective c;
  c.op = op;
  c.dtype = BALEEN_F32;
  c.place = place;
  c.members = members;
  if (is_reducing(op)) c.reduction = BALEEN_SUM;
  if (op == BALEEN_PERMUTE)
    for (std::size_t m = 0; m < members; ++m) c.destinations.push_back(static_cast<std::int32_t>((m + 1) % members));
  for (const std::uint64_t count : counts) {
    CollectiveEntry e;
    e.count = count;
    if (op == BALEEN_REDUCE_SCATTER || op == BALEEN_ALL_GATHER) e.block = (count + members - 1) / members;
    if (op == BALEEN_ALL_TO_ALL) {
      e.count = 0;
      for (std::size_t m = 0; m < members; ++m) {
        e.sends.push_back((place * 3 + m * 5 + count) % 4);
        e.receives.push_back((m * 3 + place * 5 + count) % 4);
      }
    }
    c.entries.push_back(std::move(e));
  }
  return c;
}

std::vector<EntryPlaces> places_of(const Collective& c, bool in_place = false) {
  std::vector<EntryPlaces> places;
  for (std::size_t e = 0; e < c.entries.size(); ++e)
    places.push_back(
        {{Place::In::kDevice, kIn + e * kStep}, {Place::In::kDevice, (in_place ? kIn : kOut) + e * kStep}});
  return places;
}

/// What NCCL would wait for in vain, or ""; programs of all members.
std::string mismatch(const std::vector<Program>& all) {
  std::vector<std::vector<const Step*>> groups(all.size());
  for (std::size_t m = 0; m < all.size(); ++m)
    for (const Step& step : all[m].steps)
      if (step.kind == Step::Kind::kCalls) groups[m].push_back(&step);
  // Messages by sender and receiver, in order.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint64_t>> sent, received;
  for (std::size_t m = 0; m < all.size(); ++m)
    for (const Step* step : groups[m]) {
      if (step->calls.size() > 2 * kMostCalls) return "a group of " + std::to_string(step->calls.size());
      for (const Call& call : step->calls) {
        const auto peer = static_cast<std::size_t>(call.peer);
        if (call.kind == Call::Kind::kSend) sent[{m, peer}].push_back(call.count);
        if (call.kind == Call::Kind::kReceive) received[{peer, m}].push_back(call.count);
      }
    }
  if (sent != received) return "messages that do not fit";
  const auto collectives = [&](std::size_t m) {
    std::vector<std::tuple<Call::Kind, std::uint64_t, int>> list;
    for (const Step* step : groups[m])
      for (const Call& call : step->calls)
        if (call.kind != Call::Kind::kSend && call.kind != Call::Kind::kReceive)
          list.emplace_back(call.kind, call.count, call.peer);
    return list;
  };
  for (std::size_t m = 1; m < all.size(); ++m)
    if (collectives(m) != collectives(0)) return "other collectives on member " + std::to_string(m);
  return {};
}

constexpr baleen_collective_t kAll[] = {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER, BALEEN_BROADCAST,
                                        BALEEN_REDUCE,     BALEEN_ALL_TO_ALL,     BALEEN_PERMUTE};

TEST(NcclProgram, FitsThoseOfTheOtherMembers) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const baleen_collective_t op = kAll[random() % std::size(kAll)];
    const std::size_t members = 1 + random() % 7;
    std::vector<std::uint64_t> counts;
    for (std::uint64_t i = random() % 5; i-- > 0;) counts.push_back(random() % 5000);
    const std::uint64_t scratch = 1 << (10 + random() % 8);
    std::vector<Program> plain, ordered;
    for (std::size_t m = 0; m < members; ++m) {
      const Collective c = collective_of(op, m, members, counts);
      plain.push_back(plain_program(c, places_of(c, random() % 2 == 0 && op == BALEEN_PERMUTE), scratch));
      if (is_reducing(op)) ordered.push_back(ordered_program(c, places_of(c), scratch));
    }
    EXPECT_EQ(mismatch(plain), "") << collective_name(op) << ", seed " << seed << ", round " << round;
    EXPECT_EQ(mismatch(ordered), "") << collective_name(op) << ", seed " << seed << ", round " << round;
  }
}

TEST(NcclProgram, TakesNcclsOwnCallsWhereBlocksAreEqual) {
  const Collective c = collective_of(BALEEN_REDUCE_SCATTER, 1, 4, {400, 401});
  const Program program = plain_program(c, places_of(c), 1 << 20);
  ASSERT_EQ(program.steps.size(), 1u);
  const std::vector<Call>& calls = program.steps[0].calls;
  ASSERT_EQ(calls.size(), 5u) << "one, and a reduction to each member";
  EXPECT_EQ(calls[0].kind, Call::Kind::kReduceScatter);
  EXPECT_EQ(calls[0].count, 100u) << "NCCL counts what each receives";
  for (std::size_t root = 0; root < 4; ++root) {
    EXPECT_EQ(calls[1 + root].kind, Call::Kind::kReduce);
    EXPECT_EQ(calls[1 + root].count, root == 3 ? 98u : 101u);
    EXPECT_EQ(static_cast<bool>(calls[1 + root].to), root == 1) << "only the root has a place for it";
  }
}

/// They know it as one call; uneven pieces are messages all the same.
TEST(NcclProgram, HandsAnEvenAllToAllToTheCopyEngines) {
  Collective c = collective_of(BALEEN_ALL_TO_ALL, 1, 4, {0, 3});
  c.entries[0].sends.clear();
  c.entries[0].receives.clear();
  c.entries[0].block = 100;
  c.entries[0].count = 400;
  const Program without = plain_program(c, places_of(c), 1 << 20), with = plain_program(c, places_of(c), 1 << 20, true);
  const auto whole = [](const Program& program) {
    return std::ranges::count(program.steps.at(0).calls, Call::Kind::kAllToAll, &Call::kind);
  };
  EXPECT_EQ(whole(without), 0);
  EXPECT_EQ(whole(with), 1);
  EXPECT_EQ(with.steps[0].calls[0].count, 100u) << "NCCL counts what goes to each";
  EXPECT_EQ(without.steps[0].calls.size() - with.steps[0].calls.size(), 7u) << "in the place of 4 sends and receives";
}

TEST(NcclProgram, NeverSendsFromWhereItReceives) {
  const Collective c = collective_of(BALEEN_PERMUTE, 0, 3, {1000, 20});
  const Program in_place = plain_program(c, places_of(c, true), 1 << 20),
                apart = plain_program(c, places_of(c), 1 << 20);
  ASSERT_EQ(in_place.steps.size(), 3u) << "two copies, one group";
  EXPECT_EQ(in_place.steps[0].kind, Step::Kind::kCopy);
  for (const Call& call : in_place.steps[2].calls) {
    if (call.kind == Call::Kind::kSend) {
      EXPECT_EQ(call.from.in, Place::In::kScratch);
    }
  }
  EXPECT_EQ(in_place.scratch, 4 * 1020u);
  EXPECT_EQ(apart.steps.size(), 1u);
  EXPECT_EQ(apart.scratch, 0u);
}

TEST(NcclProgram, KeepsWithinItsScratch) {
  for (const std::uint64_t limit : {std::uint64_t{1} << 16, std::uint64_t{1} << 20}) {
    const Collective c = collective_of(BALEEN_ALL_REDUCE, 2, 3, {2'000'000, 5});
    const Program program = ordered_program(c, places_of(c), limit);
    EXPECT_LE(program.scratch, limit);
    EXPECT_GT(program.scratch, limit / 2) << "and uses it";
    for (const Step& step : program.steps) {
      if (step.kind == Step::Kind::kReduce) {
        EXPECT_EQ(step.elements % kTile, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace baleen::nccl
