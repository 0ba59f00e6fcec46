/// \file A kind of op as a C++ class: derive from OpKind, override the rules that it has, then
/// `BALEEN_OP_KIND(Mine)`; one source of the library has `BALEEN_OPS()`.
/// DRAFT, as op_kind.h.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "baleen/graph_view.hpp"
#include "baleen/op_kernels.hpp"
#include "baleen/op_kind.h"
#include "baleen/op_types.hpp"
#include "baleen/per_thread.hpp"

namespace baleen::sdk {

/// What a shape rule reads. Attributes by name as an op has them: `input.op().integer("k")`.
class InferInput {
 public:
  explicit InferInput(const baleen_infer_t& context) : count_(context.input_count), types_(room()) {
    view_.size = sizeof(view_);
    view_.attributes = context.attributes;
    view_.attribute_count = context.attribute_count;
    if (types_.size() < count_) types_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const auto* bytes = reinterpret_cast<const char*>(context.inputs) + i * context.stride;
      const auto& type = *reinterpret_cast<const baleen_value_type_t*>(bytes);
      types_[i].dtype = type.dtype;
      types_[i].shape.assign(type.shape, type.shape + type.rank);
      types_[i].axes.resize(type.rank);
      for (std::uint32_t d = 0; d < type.rank; ++d) types_[i].axes[d] = view(type.axes[d]);
    }
  }
  InferInput(const InferInput&) = delete;

  std::size_t count() const { return count_; }
  /// Valid as long as this.
  const ValueType& type(std::size_t number) const {
    if (number >= count()) throw std::out_of_range("a shape rule asks for operand " + std::to_string(number));
    return types_[number];
  }
  std::span<const ValueType> types() const { return {types_.data(), count_}; }
  /// The op as far as it is known: its attributes.
  Op op() const { return Op(view_); }
  /// The attribute `dtype` of typed kinds.
  std::optional<std::int64_t> dtype() const {
    return op().has("dtype") ? std::optional(op().integer("dtype")) : std::nullopt;
  }

 private:
  /// The thread keeps it from one rule to the next: shape rules are asked of every op, and none calls another.
  static Types& room() {
    static PerThread<Types> types;
    return types.here();
  }

  std::size_t count_;
  Types& types_;
  baleen_op_view_t view_{};
};

/// An op that stands for two: its results are put in the place of `results`, in order.
struct Join {
  baleen_op_t with = BALEEN_NONE;  ///< the earlier one of the two
  std::string kind;
  std::vector<baleen_value_t> inputs, results;
  AttributeList attributes;
};

/// An op, copied, so that the graph may change while a rule uses it.
struct OpNode {
  std::vector<baleen_value_t> inputs, outputs;
  AttributeList attributes;

  static OpNode of(GraphView& graph, baleen_op_t op) {
    const auto found = graph.op(op);
    if (!found) throw std::out_of_range("there is no op " + std::to_string(op));
    return {{found->inputs().begin(), found->inputs().end()},
            {found->outputs().begin(), found->outputs().end()},
            AttributeList::of(*found)};
  }
};

/// The graph as `fuse` has it.
class FuseView : public GraphView {
 public:
  FuseView(const baleen_graph_t* graph, const baleen_fuse_t& call) : GraphView(graph), call_(call) {}

  /// Whether one op reads the value and the graph does not give it out: then nothing keeps it but that op.
  bool is_read_once(baleen_value_t id) const {
    return value(id).user_count == 1 && call_.is_output(call_.self, id) == 0;
  }

 private:
  const baleen_fuse_t& call_;
};

/// Base of a kind. The constructor says its schema; the rules that are overridden are those that it has. Rules may
/// throw: the text of a std::exception is the failure's. [plan time, one thread]
class OpKind {
 public:
  OpKind(std::string name, std::string help, baleen_kind_traits_t traits = BALEEN_KIND_PURE)
      : name_(std::move(name)), help_(std::move(help)), traits_(traits) {}
  virtual ~OpKind() = default;
  OpKind(const OpKind&) = delete;

  /// The results' types, or what does not fit.
  virtual Result<std::vector<ValueType>> infer(const InferInput& input) = 0;
  /// The operands' cotangents (BALEEN_NONE: none) from the results'.
  virtual Result<std::vector<baleen_value_t>> gradient(GraphView& graph, baleen_op_t op,
                                                       std::span<const baleen_value_t> cotangents,
                                                       std::span<const std::uint8_t> wanted) {
    return unused<std::vector<baleen_value_t>>(graph, op, cotangents.size() + wanted.size());
  }
  virtual Iteration iteration(GraphView& graph, baleen_op_t op) {
    unused<int>(graph, op);
    return {};
  }
  virtual Cost cost(GraphView& graph, baleen_op_t op) {
    unused<int>(graph, op);
    return {};
  }
  /// The same results from other kinds' ops.
  virtual Result<std::vector<baleen_value_t>> expand(GraphView& graph, baleen_op_t op) {
    return unused<std::vector<baleen_value_t>>(graph, op);
  }
  /// A better form, given what made the operands; nothing where there is none.
  virtual Result<std::optional<std::vector<baleen_value_t>>> fuse(FuseView& graph, baleen_op_t op) {
    return unused<std::optional<std::vector<baleen_value_t>>>(graph, op);
  }
  /// The op that computes `op` together with an earlier one whose work it would repeat; nothing where there is none.
  virtual std::optional<Join> join(GraphView& graph, baleen_op_t op) { return unused<std::optional<Join>>(graph, op); }
  /// Computes on the host's processors (op_kind.h). [any thread, at run time]
  virtual Status compute(const CpuCall& call) {
    (void)call;
    return internal("a kernel was called that the kind does not have");
  }
  /// The text of a kernel for CUDA devices (op_kind.h); UNSUPPORTED where there is none for these tensors.
  virtual Result<CudaText> cuda(const CudaRequest& request) {
    (void)request;
    return unsupported("the kind has no kernel for CUDA devices");
  }

 protected:
  /// Operands in order (op_kind.h says where optional ones stand).
  void operand(std::string name, std::string help, baleen_operand_flags_t flags = BALEEN_OPERAND_FLOATING) {
    operands_.push_back({keep(std::move(name)), keep(std::move(help)), flags, 0});
  }
  void result(std::string name, std::string help, baleen_operand_flags_t flags = 0) {
    results_.push_back({keep(std::move(name)), keep(std::move(help)), flags, 0});
  }
  /// Has `default_value` (as a script writes it) where it is not given; with "" it is required.
  void attribute(baleen_rule_type_t type, std::string name, std::string default_value, std::string help,
                 double minimum = 1, double maximum = 0) {
    attributes_.push_back(
        {keep(std::move(name)), keep(std::move(default_value)), {}, keep(std::move(help)), minimum, maximum, type, 0});
  }
  /// May be missing, and then has no value.
  void optional_attribute(baleen_rule_type_t type, std::string name, std::string help, double minimum = 1,
                          double maximum = 0) {
    attribute(type, std::move(name), "", std::move(help), minimum, maximum);
    attributes_.back().optional = 1;
  }
  /// The attribute of typed kinds (BALEEN_KIND_TYPED).
  void typed() { optional_attribute(BALEEN_RULE_DTYPE, "dtype", "of the one result, or the last"); }
  /// One of `choices`, which are separated by '|'.
  void choice(std::string name, std::string default_value, std::string choices, std::string help) {
    attribute(BALEEN_RULE_TEXT, std::move(name), std::move(default_value), std::move(help));
    attributes_.back().choices = keep(std::move(choices));
  }

 private:
  template <class T>
  static T unused(GraphView&, baleen_op_t, std::size_t = 0) {
    throw std::logic_error("a rule was called that the kind does not have");
  }
  baleen_string_t keep(std::string text) { return abi(texts_.emplace_back(std::move(text))); }

  friend baleen_op_kind_t schema_of(OpKind& kind);

  std::string name_, help_;
  baleen_kind_traits_t traits_;
  std::deque<std::string> texts_;
  std::vector<baleen_operand_t> operands_, results_;
  std::vector<baleen_attribute_rule_t> attributes_;
};

}  // namespace baleen::sdk

#include "baleen/op_kind_table.hpp"
