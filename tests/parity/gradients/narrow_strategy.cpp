/// \file A strategy that changes gradients before they are summed and back behind the sum: four times as large, and in
/// bf16 where the job is in fp32.
#include "baleen/expression_value.hpp"
#include "baleen/strategy.hpp"

BALEEN_DESCRIPTOR("strategy", "narrow", "1.0.0", "Apache-2.0", "Sums gradients in 16 bits, four times as large", 0, "");

namespace baleen::test {

using namespace sdk;

namespace {

class Narrow : public Strategy {
 public:
  static Result<std::unique_ptr<Narrow>> create(const Host&, const Settings&, MeshView) {
    return std::make_unique<Narrow>();
  }

  bool claims(std::uint32_t) const override { return false; }

  Status gradients(GraphView graph, Gradients gradients) override {
    const std::vector<baleen_gradient_t> all = gradients.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const baleen_value_t large = (Value{graph.table(), all[i].gradient} * 4.0).id();
      const bool is_narrow = gradients.dtype() == BALEEN_F32;
      const baleen_value_t summed = is_narrow ? graph.cast(large, BALEEN_BF16) : large;
      const Value wide{graph.table(), is_narrow ? graph.cast(summed, BALEEN_F32) : summed};
      gradients.replace(i, summed, (wide / 4.0).id());
    }
    return {};
  }
};

}  // namespace
}  // namespace baleen::test

BALEEN_STRATEGY(baleen::test::Narrow);
