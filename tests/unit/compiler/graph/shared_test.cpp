/// \file What copies share: values, attributes and letters of ops that are alike.
#include <gtest/gtest.h>

#include <thread>

#include "compiler/graph/shared.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

TEST(Shared, IsOneValueUntilItIsEdited) {
  Shared<std::string> a = std::string("layer"), b = a;
  EXPECT_TRUE(a.is_same(b));
  b.edit() += " 2";
  EXPECT_EQ(*a, "layer");
  EXPECT_EQ(*b, "layer 2");
  const std::string* const own = &*b;
  b.edit() += "3";  // nobody shares it
  EXPECT_EQ(own, &*b);
  EXPECT_EQ(*Shared<std::string>(), "");
  Shared<std::string> empty;
  empty.edit() = "x";
  EXPECT_EQ(*empty, "x");
  const Shared<std::string>& itself = a;
  a = itself;
  b = std::move(a);
  EXPECT_EQ(*b, "layer");
}

TEST(Shared, MayBeCopiedOnSeveralThreads) {
  const Shared<std::string> first = std::string("weight");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        Shared<std::string> copy = first;
        if (i % 3 == 0) copy.edit() += "s";
        ASSERT_EQ(copy->substr(0, 6), "weight");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*first, "weight");
}

const void* items_of(const Op& op) { return &*op.attributes.begin(); }

TEST(Shared, AttributesAndLettersOfOpsThatAreAlikeAreOne) {
  Graph graph(&test::builtin_ops());
  const ValueType square{BALEEN_F32, {4, 4}, {"rows", "columns"}}, wide{BALEEN_F32, {4, 8}, {"rows", "wide"}};
  std::vector<const Op*> ops;
  const auto add = [&](const std::string& name, const ValueType& type) {
    return *graph.unary(BALEEN_X_SIN, *graph.input(name, type));
  };
  const ValueId a = add("a", square), b = add("b", square), c = add("c", wide);
  const Op &first = *graph.producer(a), &second = *graph.producer(b), &third = *graph.producer(c);
  EXPECT_EQ(items_of(first), items_of(second));
  EXPECT_EQ(&iteration_of(graph, first), &iteration_of(graph, second));
  EXPECT_NE(&iteration_of(graph, first), &iteration_of(graph, third)) << "another type";
  const ValueId d = *graph.unary(BALEEN_X_COS, *graph.input("a", square));
  EXPECT_NE(items_of(first), items_of(*graph.producer(d)));
}

}  // namespace
}  // namespace baleen
