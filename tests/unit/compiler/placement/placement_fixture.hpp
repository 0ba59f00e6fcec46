/// \file Small graphs to place, and short words for what came out.
#pragma once
#include <gtest/gtest.h>

#include "compiler/placement/passes.hpp"
#include "placed_traffic.hpp"
#include "support/op_cases.hpp"

namespace baleen::test {

class PlacementFixture : public testing::Test {
 protected:
  void mesh(std::vector<MeshAxis> axes) {
    graph_.set_mesh({std::move(axes)});
    request_.cuts.resize(graph_.mesh().axes.size());
  }
  ValueId input(const Shape& shape, std::vector<std::string> axes) {
    return *graph_.input("x" + std::to_string(count_++), {BALEEN_F32, shape, std::move(axes)});
  }
  ValueId parameter(const std::string& name, const Shape& shape, std::vector<std::string> axes = {}) {
    return *graph_.parameter(name, {BALEEN_F32, shape, std::move(axes)});
  }
  ValueId matmul(const std::string& spec, ValueId a, ValueId b, const std::string& name = "layer") {
    return *graph_.append1("matmul", {a, b}, {{"spec", spec}}, name);
  }
  ValueId add(ValueId a, ValueId b) { return *graph_.binary(BALEEN_X_ADD, a, b); }
  ValueId gelu(ValueId a) { return *graph_.unary(BALEEN_X_GELU, a); }

  void use(ValueId parameter, const char* layout) { request_.used[parameter] = *parse_layout(layout); }
  void pin(ValueId value, const char* layout) { request_.pins[value] = pin_to(*parse_layout(layout)); }

  PlacedGraph place() {
    auto placed = propagate(graph_, request_);
    EXPECT_TRUE(placed) << placed.error().text();
    return placed ? *placed : PlacedGraph{};
  }
  std::string refusal() {
    const auto placed = propagate(graph_, request_);
    return placed ? "accepted" : placed.error().message;
  }
  std::string layout(const PlacedGraph& placed, ValueId v) { return to_string(placed.layouts.at(v)); }
  std::string traffic_of(const PlacedGraph& placed) {
    return table_text(test::traffic(test::transfers(graph_, request_, placed)));
  }
  /// "all_gather" of each conversion, in order; free ones too.
  std::string conversions(const PlacedGraph& placed) {
    std::string text;
    for (const Conversion& conversion : placed.conversions)
      for (const Step& step : conversion.steps)
        text += (text.empty() ? "" : ", ") + std::string(to_string(step.collective));
    return text;
  }

  Graph graph_{&test::builtin_ops()};
  PlacementRequest request_;
  int count_ = 0;
};

}  // namespace baleen::test
