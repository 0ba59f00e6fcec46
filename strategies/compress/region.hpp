/// \file One collective that adds up a gradient, taken apart: a local region in its place, and the ops in it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "baleen/op_types.hpp"
#include "baleen/strategy.hpp"

namespace baleen::compress {

using namespace sdk;

/// The tag of collectives that carry compressed gradients; its text says which of them may run as one.
inline constexpr const char* kTag = "compressed";

using Layout = std::vector<baleen_placement_t>;
Layout layout_of(const GraphView& graph, baleen_value_t id);

/// A sum of a gradient along one mesh axis, as an op of the graph.
struct Reduction {
  baleen_op_t op = BALEEN_NONE;
  baleen_op_t place = BALEEN_NONE;   ///< whose phase the region belongs to
  baleen_op_t reader = BALEEN_NONE;  ///< whose phase what is made of the sum belongs to
  baleen_value_t input = BALEEN_NONE, output = BALEEN_NONE;
  std::string name;  ///< of the parameter
  std::uint32_t axis = 0;
  std::int64_t ranks = 1;
  Layout before, after;
  std::vector<std::int64_t> whole, local;  ///< shape of the gradient, and of a rank's piece
  bool scatters = false;                   ///< each rank gets a flat part of the sum

  std::int64_t elements() const { return sdk::elements(local); }
  /// Of the part of the sum that a rank makes.
  std::int64_t part() const { return (elements() + ranks - 1) / ranks; }
};

/// Every method throws Failed where the graph refuses.
class Region {
 public:
  Region(GraphView graph, const Reduction& reduction, std::string tag);

  const Reduction& reduction() const { return reduction_; }
  /// This rank's term, as one row of fp32.
  Value open();
  /// A rank's piece of a state, in `shape`.
  Value open_state(baleen_value_t state, const std::vector<std::int64_t>& piece,
                   const std::vector<std::int64_t>& shape);
  /// What is appended from here on, of what the last collective brings, belongs to the update: the backward pass would
  /// wait for it at once.
  void received() { graph_.follow(reduction_.reader); }
  /// The whole sum, or with `scatters` this rank's part of it, in place of the collective's result.
  void close(Value sum);
  /// `local` becomes this rank's piece of the value that `state` is assigned, in place of `assigned`.
  void close_state(Value local, baleen_value_t state, baleen_value_t assigned, const std::vector<std::int64_t>& piece);

  Value reshape(Value x, const std::vector<std::int64_t>& shape);
  /// With zeros behind, or without what is behind, up to `count` elements of the one dimension.
  Value resize(Value x, std::int64_t count);
  Value sum_of_rows(Value x);  ///< over the first dimension
  Value product(std::string_view letters, Value a, Value b);
  Value apply(std::string_view kind, Value x, const AttributeList& attributes = {});
  /// Row i goes to rank i; comes back as the rows of all ranks.
  Value exchange_rows(Value x);
  /// One row of each rank.
  Value gather_rows(Value x);
  Value all_reduce(Value x, std::string_view tag);
  /// This rank's of equal parts of the one dimension.
  Value own_part(Value x);

 private:
  Value append(std::string_view kind, const std::vector<Value>& inputs, const AttributeList& attributes);
  Value collective(std::string_view kind, Value x, const AttributeList& attributes, std::string_view tag);

  GraphView graph_;
  const Reduction& reduction_;
  std::string tag_;
};

/// What of a state that is not a number is left out, so that one step does not spoil all that follow.
Value finite(Value x);

}  // namespace baleen::compress
