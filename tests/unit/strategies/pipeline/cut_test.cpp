/// \file Cuts into stages against all cuts there are.
#include "cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "support/seed.hpp"

namespace baleen::pipeline {
namespace {

struct Stage {
  double work = 0, bytes = 0;
};

std::vector<Stage> stages_of(const CutRequest& request, const std::vector<std::uint32_t>& counts) {
  std::vector<Stage> stages;
  std::size_t layer = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    Stage stage;
    for (std::uint32_t i = 0; i < counts[s]; ++i, ++layer) {
      const LayerCost& cost = request.layers[layer];
      stage.work += cost.work;
      stage.bytes += cost.held_bytes + request.in_flight[s] * cost.kept_bytes;
    }
    stages.push_back(stage);
  }
  return stages;
}

double most(const std::vector<Stage>& stages, double Stage::*what) {
  double most = 0;
  for (const Stage& stage : stages) most = std::max(most, stage.*what);
  return most;
}

/// Every way to give each stage one layer or more.
void each_cut(std::size_t layers, std::size_t stages, std::vector<std::uint32_t>& counts,
              const std::function<void()>& visit) {
  if (counts.size() + 1 == stages) {
    counts.push_back(static_cast<std::uint32_t>(layers));
    visit();
    counts.pop_back();
    return;
  }
  for (std::size_t own = 1; own + (stages - counts.size() - 1) <= layers; ++own) {
    counts.push_back(static_cast<std::uint32_t>(own));
    each_cut(layers - own, stages, counts, visit);
    counts.pop_back();
  }
}

TEST(Cut, IsTheBestOfAll) {
  std::mt19937_64 random(test::seed());
  const auto number = [&](int most) { return static_cast<double>(1 + random() % static_cast<std::uint64_t>(most)); };
  for (int round = 0; round < 200; ++round) {
    CutRequest request;
    const std::size_t stages = 1 + random() % 5, layers = stages + random() % 7;
    for (std::size_t i = 0; i < layers; ++i) request.layers.push_back({number(50), number(20), number(9)});
    for (std::size_t s = 0; s < stages; ++s) request.in_flight.push_back(static_cast<std::uint32_t>(stages - s));
    if (round % 2 == 1) request.most_bytes = number(200);
    const auto fits = [&](const std::vector<Stage>& all) {
      return request.most_bytes == 0 || most(all, &Stage::bytes) <= request.most_bytes;
    };
    double least = 1e300, fullest = 1e300;
    std::vector<std::uint32_t> counts;
    each_cut(layers, stages, counts, [&] {
      const auto all = stages_of(request, counts);
      if (fits(all)) least = std::min(least, most(all, &Stage::work));
    });
    each_cut(layers, stages, counts, [&] {
      const auto all = stages_of(request, counts);
      if (fits(all) && most(all, &Stage::work) <= least * (1 + kSlack))
        fullest = std::min(fullest, most(all, &Stage::bytes));
    });
    const auto cut = cut_layers(request);
    ASSERT_EQ(static_cast<bool>(cut), least < 1e300);
    if (!cut) continue;
    EXPECT_EQ(std::accumulate(cut->begin(), cut->end(), 0u), layers);
    const auto own = stages_of(request, *cut);
    EXPECT_TRUE(fits(own));
    EXPECT_LE(most(own, &Stage::work), least * (1 + kSlack));
    EXPECT_EQ(most(own, &Stage::bytes), fullest);
  }
}

/// Seven blocks on four ranks, an embedding that computes nothing and a head as heavy as two blocks.
TEST(Cut, BalancesWhatDoesNotDivide) {
  CutRequest request{{{0, 10, 1}}, {4, 3, 2, 1}};
  for (int i = 0; i < 7; ++i) request.layers.push_back({10, 10, 1});
  request.layers.push_back({20, 10, 1});
  const auto cut = cut_layers(request);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_EQ(most(stages_of(request, *cut), &Stage::work), 30);
  EXPECT_EQ(std::accumulate(cut->begin(), cut->end(), 0u), 9u);
}

/// Earlier stages hold more micro-batches, so among cuts of equal work they get fewer layers that keep much.
TEST(Cut, CountsWhatIsInFlight) {
  CutRequest request{std::vector<LayerCost>(5, {10, 1, 10}), {4, 1}};
  EXPECT_EQ(*cut_layers(request), (std::vector<std::uint32_t>{2, 3}));
  request.in_flight = {1, 4};
  EXPECT_EQ(*cut_layers(request), (std::vector<std::uint32_t>{3, 2}));
}

TEST(Cut, RefusesWhatCannotBe) {
  CutRequest request{std::vector<LayerCost>(3, {1, 2e6, 0}), {1, 1, 1, 1}};
  EXPECT_NE(cut_layers(request).error().message.find("there are 4 stages, and the model has 3 layers"),
            std::string::npos);
  request.in_flight = {1, 1};
  request.most_bytes = 3e6;
  EXPECT_NE(cut_layers(request).error().message.find("at most 3 MiB on every rank; the least that one needs is 4"),
            std::string::npos);
}

}  // namespace
}  // namespace baleen::pipeline
