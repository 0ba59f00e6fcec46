/// \file The stable hash of a graph: XXH3 over a walk of its live ops, values numbered in the order of the walk.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

#include "compiler/graph/graph.hpp"

namespace baleen {
namespace {

/// Collects bytes, little-endian on every machine, each text and list with its length.
class Bytes {
 public:
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((value >> shift) & 0xff);
  }
  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void number(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void text(const std::string& text) {
    number(std::uint64_t{text.size()});
    bytes_ += text;
  }
  template <class T>
  void list(const std::vector<T>& items) {
    number(std::uint64_t{items.size()});
    for (const T& item : items) number(item);
  }
  std::uint64_t hash() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  std::string bytes_;
};

class Walk {
 public:
  explicit Walk(const Graph& graph)
      : graph_(graph), values_(graph.value_count(), kNone), ops_(graph.op_count(), kNone) {}

  std::uint64_t run() {
    bytes_.number(std::uint64_t{graph_.mesh().axes.size()});
    for (const MeshAxis& axis : graph_.mesh().axes) {
      bytes_.text(axis.name);
      bytes_.number(axis.size);
    }
    for (OpId id : graph_.ops()) op(graph_.op(id));
    for (const GraphOutput& output : graph_.outputs()) {
      bytes_.text(output.name);
      bytes_.number(std::uint64_t{values_[output.value]});
    }
    return bytes_.hash();
  }

 private:
  void op(const Op& op) {
    ops_[op.id] = op_count_++;
    bytes_.text(op.kind->name);
    bytes_.text(op.name);
    bytes_.number(static_cast<std::uint64_t>(op.phase));
    bytes_.number(std::uint64_t{op.forward_op == kNone ? kNone : ops_[op.forward_op]});
    bytes_.number(std::uint64_t{op.inputs.size()});
    for (ValueId input : op.inputs) bytes_.number(std::uint64_t{values_[input]});
    for (const auto& [name, attribute] : op.attributes) {
      bytes_.text(name);
      bytes_.number(std::uint64_t{attribute.index()});
      std::visit([this](const auto& value) { this->attribute(value); }, attribute);
    }
    for (const auto& [key, tag] : shown_tags(op)) {
      bytes_.text(key);
      bytes_.text(tag);
    }
    bytes_.number(std::uint64_t{op.outputs.size()});
    for (ValueId output : op.outputs) value(graph_.value(output));
  }

  void value(const Value& value) {
    values_[value.id] = value_count_++;
    bytes_.number(std::int64_t{value.dtype});
    bytes_.list(value.shape);
    for (const std::string& axis : *value.axes) bytes_.text(axis);
    bytes_.number(static_cast<std::uint64_t>(value.role));
    bytes_.number(std::uint64_t{value.layout.size()});
    for (const Placement& p : value.layout) {
      bytes_.number(static_cast<std::uint64_t>(p.kind));
      bytes_.number(std::int64_t{p.argument});
      bytes_.number(std::int64_t{p.depth});
    }
  }

  void attribute(const std::string& text) { bytes_.text(text); }
  void attribute(const Expression& expression) {
    bytes_.number(std::uint64_t{expression.code.size()});
    for (const auto& i : expression.code) {
      for (std::uint32_t field : {i.opcode, i.a, i.b, i.c}) bytes_.number(std::uint64_t{field});
      bytes_.number(i.constant);
    }
  }
  template <class T>
  void attribute(const std::vector<T>& items) {
    bytes_.list(items);
  }

  const Graph& graph_;
  Bytes bytes_;
  std::vector<std::uint32_t> values_, ops_;  ///< number in the walk, by id
  std::uint32_t value_count_ = 0, op_count_ = 0;
};

}  // namespace

std::uint64_t hash(const Graph& graph) { return Walk(graph).run(); }

}  // namespace baleen
