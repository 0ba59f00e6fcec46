/// \file Ops in the form in which they cross the ABI, with the memory behind the borrowed pointers.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace baleen {

/// Fills `list` with `baleen_attribute_t`s that point into an Attributes, which must stay put and outlive it.
void list_attributes(const Attributes& attributes, std::vector<baleen_attribute_t>& list);

/// The way back; copies everything. Fails on an unknown attribute type.
Result<Attributes> from_abi(const baleen_attribute_t* attributes, std::uint64_t count);

baleen_traits_t abi_traits(const OpKind& kind);

/// An op view with its arrays. `numbers` maps a value to the number that the other side knows it by.
struct AbiOp {
  std::vector<std::uint32_t> inputs, outputs;
  std::vector<baleen_attribute_t> attributes;
  baleen_op_view_t view{};

  AbiOp() = default;
  AbiOp(const AbiOp&) = delete;
  AbiOp& operator=(const AbiOp&) = delete;

  /// Points at `op`'s own strings and lists: `op` must outlive this and not move.
  void assign(const Op& op, const std::vector<std::uint32_t>& input_numbers,
              const std::vector<std::uint32_t>& output_numbers);
  void swap(AbiOp& other) noexcept;
};

/// A graph in the hands of one call of a plugin (baleen/graph.h). Errors are kept in `error()`, whose text the plugin's
/// status stands for. Borrowed: `graph` outlives it.
class AbiGraph {
 public:
  /// How a state is made: the plan records it as persistent.
  using AddState = std::function<Result<ValueId>(const std::string& name, const ValueType& type, double initial)>;

  AbiGraph(Graph& graph, AddState add_state);
  ~AbiGraph();
  AbiGraph(const AbiGraph&) = delete;
  AbiGraph& operator=(const AbiGraph&) = delete;

  const baleen_graph_t* table() const { return &table_; }
  /// From here on what would change the graph is refused.
  void allow_reading_only() { reads_only_ = true; }
  /// Whether a verb has changed ops, results or layouts.
  bool has_changed() const { return has_changed_; }
  /// The first failure of a verb, if any.
  const Status& status() const { return status_; }

 private:
  void add_context_verbs();
  /// Whether the caller may only read; keeps the failure if so.
  bool refuses();
  baleen_status_t keep(Error error);
  /// Writes `value` into the plugin's struct.
  template <class T>
  baleen_status_t give(T* out, const T& value, const char* verb);
  baleen_status_t read_op(OpId id, baleen_op_view_t* out);
  baleen_status_t read_value(ValueId id, baleen_value_info_t* out);
  baleen_status_t append(const baleen_op_view_t* given, ValueId* outputs, std::uint64_t capacity);
  baleen_status_t amend(OpId id, const baleen_op_view_t* given);
  baleen_status_t set_layout(ValueId value, const baleen_placement_t* placements, std::uint64_t count);
  static AbiGraph& self(void* pointer) { return *static_cast<AbiGraph*>(pointer); }

  Graph& graph_;
  AddState add_state_;
  baleen_graph_t table_{};
  Status status_;
  bool reads_only_ = false, has_changed_ = false;
  AbiOp scratch_;
  std::set<std::string> tag_texts_;  ///< that were asked for
  std::vector<baleen_placement_t> layout_scratch_;
};

}  // namespace baleen
