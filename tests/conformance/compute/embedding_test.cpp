/// \file embedding and its gradient.
#include "conformance/compute/harness.hpp"
#include "conformance/compute/reference.hpp"

namespace baleen::conformance {
namespace {

class Embedding : public ComputeTest {};

TEST_P(Embedding, TakesRows) {
  for (const auto& [table, ids] : {std::pair<Shape, Shape>{{5, 3}, {4}},
                                   {{65, 33}, {2, 7}},
                                   {{7, 2, 5}, {3, 2}},
                                   {{9, 130}, {}},
                                   {{9, 264}, {3, 5}},
                                   {{6, 3, 16}, {7}},
                                   {{4, 8}, {0}}}) {
    const Tensor t = random_tensor(random, table), i = random_ids(random, ids, 0, static_cast<int>(table[0]) - 1);
    expect(OpSpec("embedding"), {t, i}, {reference::embedding(t, i)}, 0);
  }
}
TEST_P(Embedding, GradientAddsRowsInOrder) {
  for (const auto& [table, ids] : {std::pair<Shape, Shape>{{5, 3}, {40}},
                                   {{65, 130}, {2, 7}},
                                   {{7, 2, 5}, {3, 2}},
                                   {{9, 520}, {3, 15}},
                                   {{11, 24}, {90}},
                                   {{4, 8}, {0}}}) {
    const Tensor i = random_ids(random, ids, 0, static_cast<int>(table[0]) - 1);
    Tensor wanted = zeros(table);
    Tensor dy = random_tensor(random, reference::embedding(wanted, i).shape);
    const std::int64_t width = count(table) / table[0];
    for (std::int64_t p = 0; p < i.size(); ++p)
      for (std::int64_t e = 0; e < width; ++e) {
        double& sum = wanted[static_cast<std::int64_t>(i[p]) * width + e];
        sum += dy[p * width + e];
        if (!is_double()) sum = static_cast<double>(static_cast<float>(sum));  // each addition rounds: the order shows
      }
    expect(OpSpec("embedding_grad").integer("rows", table[0]), {i, dy}, {wanted}, 0);
  }
}
/// A rank that has rows 2, 3 and 7 of nine gives zeros for the others, and takes no gradient of theirs.
TEST_P(Embedding, PassesOverIdsOfRowsThatAnotherRankHolds) {
  for (const std::int64_t width : {5, 24}) {
    RunOptions options;
    options.global_shape = {9, width};
    options.runs = {{{0, 2, 2}, {2, 7, 1}}, {{0, 0, width}}};
    const Tensor part = random_tensor(random, {3, width}), ids = random_ids(random, {4, 10}, 0, 8);
    Tensor whole = zeros({9, width});
    const std::int64_t rows[] = {2, 3, 7};
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t e = 0; e < width; ++e) whole[rows[r] * width + e] = part[r * width + e];
    expect(OpSpec("embedding"), {part, ids}, {reference::embedding(whole, ids)}, 0, true, options);

    Tensor wanted = zeros({3, width}), dy = zeros({4, 10, width});
    for (std::int64_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<double>(i % 7);  // sums are exact in every order
    for (std::int64_t p = 0; p < ids.size(); ++p)
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t e = 0; e < width && static_cast<std::int64_t>(ids[p]) == rows[r]; ++e)
          wanted[r * width + e] += dy[p * width + e];
    expect(OpSpec("embedding_grad").integer("rows", 9), {ids, dy}, {wanted}, 0, true, options);
  }
}
TEST_P(Embedding, NamesTheOpAndTheIdThatIsOutside) {
  for (const double bad : {-1.0, 5.0}) {
    Tensor ids = random_ids(random, {6}, 0, 4);
    ids[3] = bad;
    std::vector<Tensor> y{zeros({6, 2})}, dtable{zeros({5, 2})};
    for (Device* device : {&one(), &two()}) {
      EXPECT_EQ(device->run(OpSpec("embedding"), {random_tensor(random, {5, 2}), ids}, y, dtype()), BALEEN_INVALID);
      for (const std::string& part :
           {std::string("suite.op"), std::to_string(static_cast<int>(bad)), std::string("[0, 5)")})
        EXPECT_NE(plugin().last_failure().find(part), std::string::npos) << plugin().last_failure();
      EXPECT_EQ(device->run(OpSpec("embedding_grad").integer("rows", 5), {ids, zeros({6, 2})}, dtable, dtype()),
                BALEEN_INVALID);
    }
  }
}

BALEEN_COMPUTE_SUITE(Embedding);

}  // namespace
}  // namespace baleen::conformance
