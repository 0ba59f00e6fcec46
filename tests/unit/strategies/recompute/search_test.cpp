/// \file The search for what runs again under a budget, against all sets of ops: on small graphs it computes at most 5
/// % more than the cheapest set that fits, whether they are chains or not.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compiler/graph/abi.hpp"
#include "compiler/plan/strategy_verbs.hpp"
#include "strategies/recompute/budget_search.hpp"
#include "support/seed.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

using recompute::Blocks;
using recompute::BudgetSearch;
using recompute::Chosen;
using recompute::ForwardPass;

constexpr std::int64_t kRows = 64;

/// A network on [64, n] activations that is trained on the sum of squares of its last value.
class Network : public GraphMaker {
 public:
  Network() : GraphMaker(BALEEN_F32) {}

  ValueId product(ValueId x, std::int64_t width) {
    const std::string name = "w" + std::to_string(job_.parameters.size());
    const Shape shape{GraphMaker::shape(x)[1], width};
    job_.parameters.push_back({name, {floats, shape, {}}, {Initializer::Kind::normal, 0, 0.5}, "test"});
    return matmul("bi,io->bo", x, parameter(name, shape));
  }
  ValueId add(ValueId a, ValueId b) { return binary(BALEEN_X_ADD, a, b); }
  ValueId tanh(ValueId x) { return unary(BALEEN_X_TANH, x); }
  ValueId exp(ValueId x) { return unary(BALEEN_X_EXP, x); }

  Graph trained(ValueId last) {
    output("loss", sum(binary(BALEEN_X_MUL, last, last), {0, 1}));
    output("weight", *graph.constant(kRows, floats));
    job_.train() = std::move(graph);
    job_.optimizer = {"sgd", {{"lr", {0.1, "test"}}}, {}, "test"};
    job_.batch = kRows;
    job_.dtype = floats;
    auto made = train_graph(std::move(job_));
    if (!made) throw std::runtime_error(made.error().text());
    return std::move(made->graph);
  }

 private:
  Job job_;
};

/// The verbs of one graph, as a strategy has them.
class Verbs {
 public:
  explicit Verbs(Graph graph)
      : graph_(std::move(graph)),
        abi_(graph_, [](const std::string&, const ValueType&, double) -> Result<ValueId> { return internal("none"); }),
        verbs_((graph_.remove_dead(), graph_), mesh_, 1, 0, nullptr),
        recomputing_(verbs_.table()),
        pass_(ForwardPass::of(sdk::GraphView(abi_.table()), recomputing_)) {}

  const ForwardPass& pass() const { return pass_; }
  std::uint64_t peak(const Chosen& needed) const { return recomputing_.peak(pass_.ids(needed)); }
  Blocks no_blocks() const { return {{}, std::vector<int>(pass_.size(), -1)}; }

 private:
  Graph graph_;
  baleen_mesh_t mesh_{sizeof(baleen_mesh_t), nullptr, 0};
  AbiGraph abi_;
  RecomputeVerbs verbs_;
  sdk::Recomputing recomputing_;
  ForwardPass pass_;
};

struct Tried {
  std::uint64_t bytes = 0;
  double flops = 0;
};

/// All sets of ops.
std::vector<Tried> all_sets(const Verbs& verbs) {
  std::vector<std::size_t> ops;
  for (std::size_t i = 0; i < verbs.pass().size(); ++i)
    if (verbs.pass()[i].eligible && !verbs.pass()[i].view) ops.push_back(i);
  EXPECT_LE(ops.size(), 13u);
  std::map<Chosen, Tried> sets;
  for (std::size_t mask = 0; mask < std::size_t{1} << ops.size(); ++mask) {
    Chosen wanted(verbs.pass().size(), 0);
    for (std::size_t k = 0; k < ops.size(); ++k) wanted[ops[k]] = (mask >> k & 1) != 0;
    wanted = verbs.pass().needed(std::move(wanted));
    if (!sets.contains(wanted)) sets[wanted] = {verbs.peak(wanted), verbs.pass().flops(wanted)};
  }
  std::vector<Tried> all;
  for (const auto& [set, tried] : sets) all.push_back(tried);
  return all;
}

double cheapest(const std::vector<Tried>& all, std::uint64_t budget) {
  double flops = INFINITY;
  for (const Tried& one : all)
    if (one.bytes <= budget) flops = std::min(flops, one.flops);
  return flops;
}

/// Of a search that tries sets one by one only so far as `exact` says.
void expect_near_the_best(const Verbs& verbs, std::size_t exact, double tolerance) {
  const std::vector<Tried> all = all_sets(verbs);
  std::uint64_t least = UINT64_MAX, most = 0;
  for (const Tried& one : all) {
    least = std::min(least, one.bytes);
    if (one.flops == 0) most = std::max(most, one.bytes);
  }
  const Blocks none = verbs.no_blocks();
  BudgetSearch search(verbs.pass(), none, [&](const Chosen& needed) { return verbs.peak(needed); }, {exact, 2000});
  EXPECT_LE(static_cast<double>(search.least().bytes), (1 + tolerance) * static_cast<double>(least)) << "of " << most;
  EXPECT_FALSE(search.within(search.least().bytes - 1));
  for (int i = 0; i <= 10; ++i) {
    const std::uint64_t from = search.least().bytes, budget = from + (most - from) * static_cast<std::uint64_t>(i) / 10;
    const auto plan = search.within(budget);
    ASSERT_TRUE(plan) << budget;
    EXPECT_LE(plan->bytes, budget);
    EXPECT_EQ(plan->bytes, verbs.peak(plan->needed));
    EXPECT_LE(plan->flops, (1 + tolerance) * cheapest(all, budget))
        << budget << " bytes, of " << least << " to " << most;
  }
}

struct Net {
  const char* name;
  std::function<ValueId(Network&, ValueId)> forward;
};

void PrintTo(const Net& net, std::ostream* out) { *out << net.name; }

class SmallGraphs : public ::testing::TestWithParam<Net> {
 protected:
  Verbs verbs() const {
    Network network;
    const ValueId x = network.batch("x", {kRows, 16});
    const ValueId last = GetParam().forward(network, x);
    return Verbs(network.trained(last));
  }
};

TEST_P(SmallGraphs, AreSearchedToWithinFivePercent) { expect_near_the_best(verbs(), 0, 0.05); }
TEST_P(SmallGraphs, AreTriedOneByOne) { expect_near_the_best(verbs(), 13, 0); }

ValueId chain(Network& n, ValueId x) {
  for (const std::int64_t width : {64, 32, 128, 32}) x = n.tanh(n.product(x, width));
  return n.product(x, 8);
}
ValueId even_chain(Network& n, ValueId x) {
  for (int i = 0; i < 5; ++i) x = n.tanh(n.product(x, 32));
  return x;
}
ValueId residual(Network& n, ValueId x) {
  x = n.product(x, 32);
  for (int i = 0; i < 2; ++i) x = n.add(x, n.product(n.tanh(n.product(x, 64)), 32));
  return x;
}
/// Skips across all that lies between, as in a U-net.
ValueId skips(Network& n, ValueId x) {
  const ValueId a = n.tanh(n.product(x, 96)), b = n.tanh(n.product(a, 48)), c = n.tanh(n.product(b, 16));
  return n.add(n.product(n.add(n.product(c, 48), b), 96), a);
}
ValueId diamond(Network& n, ValueId x) {
  const ValueId stem = n.tanh(n.product(x, 64));
  const ValueId left = n.exp(n.product(stem, 32)), right = n.tanh(n.product(n.tanh(n.product(stem, 128)), 32));
  return n.product(n.add(left, right), 64);
}
ValueId pointwise_chains(Network& n, ValueId x) {
  for (int i = 0; i < 2; ++i) x = n.tanh(n.exp(n.tanh(n.product(x, 64))));
  return n.product(x, 16);
}

INSTANTIATE_TEST_SUITE_P(Recompute, SmallGraphs,
                         ::testing::Values(Net{"Chain", chain}, Net{"EvenChain", even_chain}, Net{"Residual", residual},
                                           Net{"Skips", skips}, Net{"Diamond", diamond},
                                           Net{"PointwiseChains", pointwise_chains}),
                         [](const auto& info) { return std::string(info.param.name); });

/// Any products, functions and sums of earlier values. A local search may miss: of 500 such graphs none was off by 5 %,
/// but the next seed's may be.
TEST(RandomGraphs, AreSearchedToWithinTwentyPercent) {
  std::mt19937_64 random(seed());
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int graph = 0; graph < 6; ++graph) {
    Network n;
    std::vector<ValueId> values{n.product(n.batch("x", {kRows, 16}), 32)};
    for (int i = 0; i < 8; ++i) {
      const ValueId x = values[values.size() - 1 - below(std::min<std::size_t>(3, values.size()))];
      const std::size_t kind = below(3);
      std::vector<ValueId> alike;
      for (const ValueId v : values)
        if (v != x && n.shape(v) == n.shape(x)) alike.push_back(v);
      if (kind == 0 && !alike.empty())
        values.push_back(n.add(x, alike[below(alike.size())]));
      else if (kind == 1)
        values.push_back(n.tanh(x));
      else
        values.push_back(n.product(x, std::int64_t{16} << below(4)));
    }
    const Verbs verbs(n.trained(values.back()));
    SCOPED_TRACE("graph " + std::to_string(graph));
    expect_near_the_best(verbs, 0, 0.2);
  }
}

}  // namespace
}  // namespace baleen::test
