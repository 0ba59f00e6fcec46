/// \file SUMMA (van de Geijn and Watts, 1997) in its three forms; which one it is follows from how the operands lie.
#include "summa.hpp"

#include <string>

#include "baleen/dtype.hpp"
#include "product.hpp"

namespace baleen::tensor_parallel {
namespace {

/// An input or the result of a matmul.
struct Operand {
  std::string letters;
  baleen_value_t value;
  baleen_dtype_t dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::string> axes;  ///< logical ones
  std::vector<baleen_placement_t> layout;

  Operand(const GraphView& graph, std::string own_letters, baleen_value_t id)
      : letters(std::move(own_letters)), value(id) {
    const baleen_value_info_t info = graph.value(id);
    dtype = info.dtype;
    shape.assign(info.shape, info.shape + info.rank);
    for (std::uint32_t d = 0; d < info.rank; ++d) axes.emplace_back(view(info.axes[d]));
    layout.assign(info.layout, info.layout + info.layout_count);
  }

  /// In blocks, or in two chunks a rank as the tokens of a causal ring.
  static bool cuts(const baleen_placement_t& placement) {
    return placement.kind == BALEEN_SHARD || placement.kind == BALEEN_SHARD_BALANCED;
  }
  bool holds(char letter) const { return letters.find(letter) != std::string::npos; }
  /// '\0' for none.
  char cut_by(std::uint32_t axis) const {
    return cuts(layout[axis]) ? letters[static_cast<std::size_t>(layout[axis].argument)] : '\0';
  }
};

class Lowering {
 public:
  Lowering(const GraphView& graph, baleen_op_t id, const SummaGrid& grid, SummaCalls& calls)
      : graph_(graph), grid_(grid), calls_(calls) {
    const auto op = graph_.op(id);
    name_ = op->name();
    const std::string spec(op->text("spec"));
    const Letters letters(spec);
    attributes_.text("spec", spec);
    typed_ = op->has("dtype");
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    const baleen_value_t result = op->outputs()[0];
    for (std::size_t i = 0; i < 2; ++i) operands_.emplace_back(graph_, letters.inputs[i], inputs[i]);
    operands_.emplace_back(graph_, letters.result, result);
    for (const Operand& operand : operands_)
      for (std::size_t d = 0; d < operand.axes.size(); ++d)
        if (operand.axes[d] == "batch") batch_ += operand.letters[d];
  }

  Status run() {
    for (const Operand& a : operands_)
      for (const Operand& b : operands_)
        if (a.cut_by(grid_.row) != '\0' && a.cut_by(grid_.row) == b.cut_by(grid_.col)) travels_ = a.cut_by(grid_.row);
    if (travels_ == '\0') return internal(name_ + ": its operands do not lie as they were offered");
    for (std::size_t i = 0; i < 2; ++i) locals_.push_back(open(operands_[i]));
    const baleen_value_t local = add_products();
    const baleen_value_t whole =
        graph_.append("from_local", {local},
                      AttributeList().integers("shape", result().shape).text("layout", layout_text(result().layout)));
    graph_.set_layout(whole, result().layout);
    graph_.redirect(result().value, whole);
    return {};
  }

 private:
  const Operand& result() const { return operands_[2]; }
  std::uint32_t axis_of(const Operand& operand) const {
    return operand.cut_by(grid_.row) == travels_ ? grid_.row : grid_.col;
  }

  /// What a rank has at most of an operand, and in every micro-batch the same.
  std::vector<std::int64_t> local_shape(const Operand& operand) {
    std::vector<std::int64_t> local = operand.shape;
    for (std::size_t d = 0; d < local.size(); ++d) {
      std::int64_t parts = 1;
      for (std::uint32_t axis = 0; axis < operand.layout.size(); ++axis)
        if (Operand::cuts(operand.layout[axis]) && operand.layout[axis].argument == static_cast<int>(d))
          parts *= grid_.mesh.size(axis);
      const std::int64_t times = batch_.find(operand.letters[d]) != batch_.npos ? grid_.micro_batches : 1;
      local[d] = times * ((local[d] / times + parts - 1) / parts);
      if (parts * local[d] != operand.shape[d])
        calls_.paddings.insert({operand.axes[d], operand.shape[d], parts * local[d]});
    }
    return local;
  }

  baleen_value_t open(const Operand& operand) {
    return graph_.append("to_local", {operand.value}, AttributeList().integers("shape", local_shape(operand)));
  }

  /// Of one block of the letter that travels.
  baleen_value_t product(std::int64_t block) {
    std::vector<baleen_value_t> inputs = locals_;
    for (std::size_t i = 0; i < 2; ++i)
      if (operands_[i].holds(travels_)) inputs[i] = collective("broadcast", inputs[i], axis_of(operands_[i]), block);
    const baleen_value_t made = graph_.append("matmul", inputs, attributes_);
    std::vector<baleen_value_t> broadcasts;
    for (std::size_t i = 0; i < 2; ++i)
      if (operands_[i].holds(travels_)) broadcasts.push_back(inputs[i]);
    calls_.steps.push_back({std::move(broadcasts), block == 0 ? made : last_});
    return last_ = made;
  }

  baleen_value_t collective(std::string_view kind, baleen_value_t x, std::uint32_t axis, std::int64_t root) {
    return graph_.append(kind, {x}, AttributeList().integer("axes", axis).integer("root", root));
  }

  /// What is added up on a rank is rounded to 16 bits once, as one product would be; what others add is sent as it is.
  baleen_value_t add_products() {
    const bool placed = result().holds(travels_), rounds = !placed && dtype_size(result().dtype) == 2;
    const baleen_dtype_t dtype = rounds ? BALEEN_F32 : result().dtype;
    if (rounds || typed_) attributes_.integer("dtype", dtype);
    const baleen_value_t all = placed ? placed_sums() : sum();
    return rounds ? graph_.cast(all, result().dtype) : all;
  }

  /// The result stays: products of all blocks add up.
  baleen_value_t sum() {
    baleen_value_t total = product(0);
    for (std::int64_t block = 1; block < grid_.side(); ++block)
      total = graph_.append("accumulate", {total, product(block)});
    return total;
  }

  /// An input stays: the product of each block is a term of what one rank of the row or column has.
  baleen_value_t placed_sums() {
    std::vector<baleen_value_t> sums;
    for (std::int64_t block = 0; block < grid_.side(); ++block)
      sums.push_back(collective("reduce_to", product(block), axis_of(result()), block));
    calls_.sums.insert(calls_.sums.end(), sums.begin(), sums.end());
    return graph_.append("pick", sums, AttributeList().integer("axes", axis_of(result())));
  }

  GraphView graph_;
  SummaGrid grid_;
  SummaCalls& calls_;
  baleen_value_t last_ = BALEEN_NONE;  ///< the product of the block before
  std::string name_;
  AttributeList attributes_;       ///< of each product
  bool typed_ = false;             ///< the result's dtype is not that of its operands
  std::vector<Operand> operands_;  ///< two inputs and the result
  std::string batch_;              ///< letters of the batch's dimension, of which not every operand need know
  std::vector<baleen_value_t> locals_;
  char travels_ = '\0';
};

}  // namespace

double summa_bytes(GraphView graph, baleen_op_t matmul, char travels, std::int64_t side) {
  const auto op = graph.op(matmul);
  const Letters letters(op->text("spec"));
  const std::pair<std::string, baleen_value_t> operands[] = {
      {letters.inputs[0], op->inputs()[0]}, {letters.inputs[1], op->inputs()[1]}, {letters.result, op->outputs()[0]}};
  double bytes = 0;
  for (const auto& [own, value] : operands) {
    if (own.find(travels) == std::string::npos) continue;
    const baleen_value_info_t info = graph.value(value);
    double size = static_cast<double>(dtype_size(info.dtype));
    for (std::uint32_t d = 0; d < info.rank; ++d) size *= static_cast<double>(info.shape[d]);
    bytes += size * static_cast<double>(side - 1) / static_cast<double>(side * side);
  }
  return bytes;
}

Status lower_summa(GraphView graph, baleen_op_t matmul, const SummaGrid& grid, SummaCalls& calls) {
  graph.follow(matmul);
  return Lowering(graph, matmul, grid, calls).run();
}

}  // namespace baleen::tensor_parallel
