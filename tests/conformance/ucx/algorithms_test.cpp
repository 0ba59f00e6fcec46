/// \file Every algorithm gives what the collective means, and segments of any size do.
#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

struct Choice {
  baleen_collective_t op;
  std::string option;
  bool deterministic = true;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = {
      {BALEEN_ALL_REDUCE, "all_reduce=direct"},
      {BALEEN_ALL_REDUCE, "all_reduce=recursive_doubling"},
      {BALEEN_ALL_REDUCE, "all_reduce=halving_doubling"},
      {BALEEN_ALL_REDUCE, "all_reduce=pairwise"},
      {BALEEN_ALL_REDUCE, "all_reduce=ring", false},
      {BALEEN_REDUCE_SCATTER, "reduce_scatter=pairwise"},
      {BALEEN_REDUCE_SCATTER, "reduce_scatter=ring", false},
      {BALEEN_REDUCE, "reduce=direct"},
      {BALEEN_REDUCE, "reduce=pairwise"},
      {BALEEN_REDUCE, "reduce=subtrees"},
      {BALEEN_ALL_GATHER, "all_gather=pairwise"},
      {BALEEN_ALL_GATHER, "all_gather=ring"},
      {BALEEN_ALL_GATHER, "all_gather=bruck"},
      {BALEEN_BROADCAST, "broadcast=tree"},
      {BALEEN_BROADCAST, "broadcast=scatter"},
      {BALEEN_ALL_TO_ALL, "all_to_all=pairwise"},
      {BALEEN_ALL_TO_ALL, "all_to_all=bruck"},
  };
  return all;
}

class Algorithms : public testing::TestWithParam<Choice> {};

TEST_P(Algorithms, GiveWhatTheCollectiveMeans) {
  const Choice& choice = GetParam();
  // Where the order of sums is the algorithm's own, only numbers that do not round show that the sum is right.
  const std::vector<baleen_dtype_t> dtypes = choice.deterministic
                                                 ? std::vector<baleen_dtype_t>{BALEEN_F32, BALEEN_BF16, BALEEN_I64}
                                                 : std::vector<baleen_dtype_t>{BALEEN_I32, BALEEN_I64, BALEEN_U8};
  for (const std::int32_t ranks : {1, 2, 3, 4, 8}) {
    EXPECT_EQ(run_ucx(ranks, {{"tls", "posix"}, {"algorithm", choice.option}, {"segment", "4096"}},
                      [&](Rank& rank) {
                        std::byte* arena = arena_of(rank, 8 << 20);
                        void* world = rank.world();
                        std::uint64_t seed = 100;
                        for (const baleen_dtype_t dtype : dtypes) {
                          for (const auto& counts :
                               std::vector<std::vector<std::uint64_t>>{{1}, {0, 18, 250}, {3000, 0, 2, 20'002}, {}}) {
                            Case c = case_of(choice.op, dtype, static_cast<std::size_t>(ranks), counts, ++seed);
                            c.deterministic = choice.deterministic;
                            for (const bool in_place : {false, true})
                              run_case(rank, world, static_cast<std::size_t>(rank.rank), c, Memory::kMixed, in_place,
                                       arena);
                          }
                        }
                      }),
              "")
        << ranks << " ranks";
  }
}

std::string name_of_choice(const testing::TestParamInfo<Choice>& info) {
  std::string name = info.param.option;
  std::replace(name.begin(), name.end(), '=', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Choices, Algorithms, testing::ValuesIn(choices()), name_of_choice);

TEST(Segments, OfAnySizeGiveTheSameBits) {
  for (const char* segment : {"1024", "5000", "262144", "1073741824"}) {
    EXPECT_EQ(run_ucx(3, {{"tls", "posix"}, {"segment", segment}},
                      [&](Rank& rank) {
                        std::byte* arena = arena_of(rank, 8 << 20);
                        void* world = rank.world();
                        for (const baleen_collective_t op : kCollectives)
                          run_case(rank, world, static_cast<std::size_t>(rank.rank),
                                   case_of(op, BALEEN_F32, 3, {20'003, 7, 50'001}, 9), Memory::kMixed, true, arena);
                      }),
              "")
        << segment;
  }
}

TEST(Overrides, ThatDoNotFitAreSaidToBeUnused) {
  EXPECT_EQ(
      test::run_bodies(As::kProcesses, 1,
                       [](std::int32_t) {
                         test::SharedRendezvous rendezvous;
                         Rank rank(ucx_plugin(), rendezvous, 0, 1, {{"tls", "tcp"}, {"algorithm", "all_to_all=bruck"}});
                         std::vector<float> in(4), out(4);
                         const std::uint64_t counts[] = {4};
                         const baleen_collective_entry_t entry{in.data(), out.data(), 0, 0, counts, counts};
                         const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_TO_ALL, 0, BALEEN_F32, 0, &entry,
                                                             1,           nullptr,           1, 0,          {}};
                         rank.run(rank.prepare(rank.world(), spec));
                         std::string all;
                         for (const std::string& line : rank.host().logged()) all += line + "\n";
                         expect_contains(all, "bruck is not used for all_to_all of 4 fp32");
                       }),
      "");
}

}  // namespace
}  // namespace baleen::conformance
