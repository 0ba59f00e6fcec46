/// \file Arithmetic on graph values, evaluated by a fake graph.
#include "baleen/graph.hpp"

#include <gtest/gtest.h>

#include "support/fake_graph.hpp"
#include "support/plugin_under_test.hpp"

namespace {

using namespace baleen;
using namespace baleen::sdk;
using test::FakeGraph;
using test::Tensor;

class GraphSugar : public testing::Test {
 protected:
  test::TestHost host;
  FakeGraph graph{host.get()};
  Value x{graph.get(), graph.add(Tensor{{3}, {1, -4, 9}})};
  Value s{graph.get(), graph.add(2.0)};
  const std::vector<double>& of(Value value) { return graph[value.id()].data; }
};

TEST_F(GraphSugar, MixesValuesAndNumbers) {
  EXPECT_EQ(of(x + 1), (std::vector<double>{2, -3, 10}));
  EXPECT_EQ(of(1 - x), (std::vector<double>{0, 5, -8}));
  EXPECT_EQ(of(x * s), (std::vector<double>{2, -8, 18}));
  EXPECT_EQ(of(s / x), (std::vector<double>{2, -0.5, 2.0 / 9}));
  EXPECT_EQ(of(-x), (std::vector<double>{-1, 4, -9}));
}

TEST_F(GraphSugar, RefusesEmptyValues) {
  const Value empty;
  EXPECT_THROW(x - empty, std::invalid_argument);
  EXPECT_THROW(empty * 2.0, std::invalid_argument);
  EXPECT_THROW(sqrt(empty), std::invalid_argument);
  EXPECT_THROW(select(x, empty, 0.0), std::invalid_argument);
  EXPECT_THROW(sum(empty), std::invalid_argument);
  EXPECT_THROW(cast(empty, BALEEN_BF16), std::invalid_argument);
  EXPECT_THROW((x - Value{graph.get(), BALEEN_NONE}), std::invalid_argument);
  EXPECT_EQ(graph.appended(), 0u);
}

TEST_F(GraphSugar, HasFunctions) {
  EXPECT_EQ(of(sqrt(abs(x))), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(of(pow(s, 3)), std::vector<double>{8});
  EXPECT_EQ(of(pow(3, s)), std::vector<double>{9});
  EXPECT_EQ(of(max(x, 0)), (std::vector<double>{1, 0, 9}));
  EXPECT_EQ(of(min(x, s)), (std::vector<double>{1, -4, 2}));
  EXPECT_EQ(of(select(less(x, 0), s, x)), (std::vector<double>{1, 2, 9}));
  EXPECT_EQ(of(equal(x, 9)), (std::vector<double>{0, 0, 1}));
}

TEST_F(GraphSugar, SumsToAScalar) {
  EXPECT_EQ(of(sum(x)), std::vector<double>{6});
  EXPECT_TRUE(graph[sum(x).id()].shape.empty());
  EXPECT_EQ(of(norm(x)), std::vector<double>{std::sqrt(98.0)});
  EXPECT_EQ(sum(s).id(), s.id());
}

TEST_F(GraphSugar, ThrowsTheGraphsStatusAndKeepsItsText) {
  const Value other(graph.get(), graph.add(Tensor{{2}, {1, 2}}));
  try {
    x + other;
    FAIL() << "accepted";
  } catch (const Failed& failed) {
    EXPECT_EQ(failed.status, BALEEN_INVALID);
    EXPECT_EQ(host.failure(), "extents differ");
  }
}

}  // namespace
