/// \file The strategy `data`: every rank has the whole model and a part of the batch; gradients are summed in buckets,
/// each as soon as its last gradient is ready, while the rest of the backward pass goes on (Li et al., arXiv
/// 2006.15704, section 3).
#include <string>

#include "baleen/closed_forms.hpp"
#include "baleen/strategy_tools.hpp"

BALEEN_DESCRIPTOR("strategy", "data", "1.0.0", "Apache-2.0", "The batch cut over ranks, gradients summed in buckets", 0,
                  "",
                  BALEEN_OPTION("axis", BALEEN_OPTION_STRING, 0, 1, 0, "data", "", "", "the mesh axis to work along"),
                  BALEEN_OPTION("bucket_mb", BALEEN_OPTION_FLOAT, 0, 0, 1e6, "4", "", "",
                                "MiB of gradients summed together; 0: each alone"));

namespace baleen::data_parallel {

using namespace sdk;

namespace {

class Data : public Strategy {
 public:
  static Result<std::unique_ptr<Data>> create(const Host&, const Settings& settings, MeshView mesh) {
    BALEEN_TRY_ASSIGN(const std::uint32_t axis, axis_named(settings.text("axis"), mesh, "data"));
    const double bytes = settings.number("bucket_mb") * 1048576.0;
    return std::make_unique<Data>(axis, static_cast<std::uint64_t>(bytes));
  }

  Data(std::uint32_t axis, std::uint64_t bucket_bytes) : axis_(axis), bucket_bytes_(bucket_bytes) {}

  bool claims(std::uint32_t axis) const override { return axis == axis_; }

  Status place(GraphView graph, Placing placing) override {
    if (placing.mesh().size(axis_) == 1) return {};
    BALEEN_TRY(cut_batch(graph, placing, axis_));
    FormsAlong forms(graph, placing, axis_);
    constexpr std::string_view kWhole = "whole on each rank of the axis";
    forms.states([](baleen_value_t) { return StateShares{}; }, {kWhole, kWhole, kWhole});
    forms.activations([&](const auto& value) { return has_axis(value, "batch") ? 1 / forms.ranks() : 1; },
                      "1/N of what has the batch");
    forms.all_reduced("2 gradients (N - 1)/N: reduced in shards, and sent again (Thakur et al. 2005)");
    return {};
  }

  Status schedule(GraphView graph, Scheduling scheduling) override {
    coalesce_by_size(scheduling, list_collectives(graph, scheduling, "all_reduce", axis_, BALEEN_ROLE_GRADIENT),
                     bucket_bytes_);
    return {};
  }

 private:
  std::uint32_t axis_;
  std::uint64_t bucket_bytes_;
};

}  // namespace
}  // namespace baleen::data_parallel

BALEEN_STRATEGY(baleen::data_parallel::Data);
