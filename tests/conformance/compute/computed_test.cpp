/// \file Each plugin computes exactly what its list says (folder computed): of every kind of op, in every dtype and
/// mixture of dtypes, so that nothing is lost unseen. After a change that was meant, for the plugins of a build:
///   BALEEN_TEST_WRITE=1 build/release/tests/test_conformance.compute --gtest_filter='*ComputedOps*'
/// and the same with test_conformance.compute_emulated.
#include "conformance/compute/computed.hpp"

#include <cstdlib>
#include <fstream>

#include "conformance/compute/mixtures.hpp"

namespace baleen::conformance {
namespace {

class ComputedOps : public ComputeTest {
 protected:
  /// Examples of every kind; what their numbers are does not matter here.
  std::vector<CrossCase> examples() {
    const Compute zero = [](const OpSpec&, const std::vector<Tensor>&, std::vector<Tensor> outputs) {
      for (Tensor& t : outputs) t.values.assign(static_cast<std::size_t>(count(t.shape)), 0.0);
      return outputs;
    };
    return cross_cases(random, zero);
  }
  /// What the device says of them, in this dtype and in the mixtures of it that are in 16 bits.
  Computed computed() {
    std::map<std::string, std::pair<int, int>> counts;
    for (const CrossCase& c : examples())
      for (const Mixture& mixture : kMixtures) {
        const bool whole = &mixture == kMixtures;
        if (!whole && dtype() != BALEEN_BF16 && dtype() != BALEEN_F16) continue;
        const CrossCase cut = mixed(c, mixture, dtype());
        const std::string way = std::string(dtype_name(dtype())) + (whole ? "" : std::string(", ") + mixture.name);
        auto& [taken, of] = counts[way + ": " + c.op.kind()];
        taken += supports(cut.op, cut.inputs, cut.outputs);
        ++of;
      }
    Computed said;
    for (const auto& [what, pair] : counts) said[what] = std::to_string(pair.first) + "/" + std::to_string(pair.second);
    return said;
  }
  /// Of a list, what is about this dtype.
  Computed own(const Computed& list) const {
    const std::string name(dtype_name(dtype()));
    Computed own;
    for (const auto& [what, count] : list)
      if (what.starts_with(name + ":") || what.starts_with(name + ",")) own[what] = count;
    return own;
  }
  void write(const Computed& said) const {
    Computed all = computed_by(plugin_path());
    for (const auto& [what, count] : own(all)) all.erase(what);
    all.insert(said.begin(), said.end());
    std::ofstream file(computed_list(plugin_path()));
    file << "# Of the examples of each kind of op in each dtype, how many this plugin computes (computed_test.cpp).\n";
    for (const auto& [what, count] : all) file << what << ' ' << count << '\n';
  }
  static const std::string& plugin_path() { return std::get<0>(GetParam()); }
};

TEST_P(ComputedOps, AreThoseOfTheList) {
  const Computed said = computed();
  if (std::getenv("BALEEN_TEST_WRITE")) write(said);
  const Computed listed = own(computed_by(plugin_path()));
  for (const auto& [what, count] : said) {
    const auto found = listed.find(what);
    EXPECT_EQ(count, found == listed.end() ? "not listed" : found->second) << what;
  }
  for (const auto& [what, count] : listed) EXPECT_TRUE(said.contains(what)) << what << " has no example any more";
}

INSTANTIATE_TEST_SUITE_P(Plugins, ComputedOps,
                         testing::Combine(testing::ValuesIn(plugin_paths()),
                                          testing::Values(baleen_dtype_t{BALEEN_F32}, baleen_dtype_t{BALEEN_F64},
                                                          baleen_dtype_t{BALEEN_BF16}, baleen_dtype_t{BALEEN_F16})),
                         case_name);

}  // namespace
}  // namespace baleen::conformance
