/// \file Evaluates ops by the definitions in baleen/expression.h and the lists of ops.
#include "frontend/validate/formula_graph.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "baleen/expression.hpp"
#include "baleen/expression_value.hpp"
#include "baleen/host.hpp"
#include "baleen/sized.hpp"

namespace baleen::validate {
namespace {

/// What this graph does not compute, in contrast to what is wrong.
struct NotKnown : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

template <class T>
std::vector<T> attribute_of(const baleen_op_view_t& op, std::string_view name, std::uint32_t type) {
  for (std::uint64_t i = 0; i < op.attribute_count; ++i) {
    const baleen_attribute_t& found = op.attributes[i];
    if (view(found.name) != name || found.type != type) continue;
    const T* const data = static_cast<const T*>(found.data);
    return {data, data + found.count};
  }
  throw std::invalid_argument(std::string(view(op.kind)) + ": attribute `" + std::string(name) + "` is missing");
}

/// Equal ranks with extents equal or 1, or scalars.
std::vector<std::int64_t> common_shape(const std::vector<const Numbers*>& operands) {
  std::vector<std::int64_t> shape;
  for (const Numbers* one : operands) {
    if (one->shape.empty()) continue;
    if (shape.empty()) shape.assign(one->shape.size(), 1);
    if (shape.size() != one->shape.size()) throw std::invalid_argument("pointwise: ranks differ");
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != one->shape[d] && shape[d] != 1 && one->shape[d] != 1)
        throw std::invalid_argument("pointwise: extents differ");
      if (shape[d] == 1) shape[d] = one->shape[d];
    }
  }
  return shape;
}

/// Where element `index` of `shape` lies in what is broadcast to it.
std::size_t place_in(const Numbers& numbers, const std::vector<std::int64_t>& shape, std::int64_t index) {
  if (numbers.shape.empty()) return 0;
  std::int64_t offset = 0, stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) {
    if (numbers.shape[d] != 1) offset += index % shape[d] * stride;
    stride *= numbers.shape[d];
  }
  return static_cast<std::size_t>(offset);
}

double round_to(double value, std::uint32_t dtype) {
  if (dtype == BALEEN_F64) return value;
  if (dtype == BALEEN_F32) return static_cast<float>(value);
  throw NotKnown("rounding to dtype " + std::to_string(dtype));
}

double evaluate(const baleen_instruction_t& x, double a, double b, double c) {
  if (x.opcode == BALEEN_X_CONSTANT) return x.constant;
  if (x.opcode == BALEEN_X_ROUND) return round_to(a, x.b);
  if (operand_count(x.opcode) > 0) return expression_value(x.opcode, a, b, c);
  throw NotKnown("opcode " + std::to_string(x.opcode) + " of expressions");
}

Numbers pointwise(const baleen_op_view_t& op, const std::vector<const Numbers*>& operands) {
  const auto code = attribute_of<baleen_instruction_t>(op, "expression", BALEEN_ATTRIBUTE_EXPRESSION);
  const auto results = attribute_of<std::int64_t>(op, "results", BALEEN_ATTRIBUTE_INTS);
  if (results.size() != 1) throw NotKnown("pointwise with " + std::to_string(results.size()) + " results");
  Numbers out{common_shape(operands), {}};
  std::vector<double> done(code.size());
  const auto at = [&](std::uint32_t number, std::size_t before) {
    return number < before ? done[number] : 0;  // an operand that the opcode does not have
  };
  for (std::int64_t index = 0, count = out.size(); index < count; ++index) {
    for (std::size_t i = 0; i < code.size(); ++i) {
      const baleen_instruction_t& x = code[i];
      if (x.opcode == BALEEN_X_INPUT) {
        const Numbers& operand = *operands.at(x.a);
        done[i] = operand.data[place_in(operand, out.shape, index)];
      } else {
        done[i] = evaluate(x, at(x.a, i), at(x.b, i), at(x.c, i));
      }
    }
    out.data.push_back(done.at(static_cast<std::size_t>(results[0])));
  }
  return out;
}

/// Sums over dimensions.
Numbers reduced(const baleen_op_view_t& op, const Numbers& x) {
  const auto kind = attribute_of<char>(op, "kind", BALEEN_ATTRIBUTE_STRING);
  const auto dims = attribute_of<std::int64_t>(op, "dims", BALEEN_ATTRIBUTE_INTS);
  const auto keep = attribute_of<std::int64_t>(op, "keep", BALEEN_ATTRIBUTE_INTS);
  const std::string word(kind.begin(), kind.end());
  if (word != "sum" && word != "max") throw NotKnown("reduce of kind `" + word + "`");
  Numbers out{x.shape, {}};
  for (const std::int64_t dim : dims) out.shape.at(static_cast<std::size_t>(dim)) = 1;
  out.data.assign(static_cast<std::size_t>(out.size()), word == "sum" ? 0 : -INFINITY);
  for (std::int64_t index = 0, count = x.size(); index < count; ++index) {
    double& into = out.data[place_in(out, x.shape, index)];
    const double number = x.data[static_cast<std::size_t>(index)];
    into = word == "sum" ? into + number : std::fmax(into, number);
  }
  if (keep.at(0) != 0) return out;
  for (std::size_t d = x.shape.size(); d-- > 0;)
    if (std::ranges::count(dims, static_cast<std::int64_t>(d)) > 0)
      out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(d));
  return out;
}

using Extents = std::map<char, std::int64_t>;

void meet(Extents& extents, const std::string& letters, const Numbers& operand) {
  if (operand.shape.size() != letters.size()) throw std::invalid_argument("matmul: letters `" + letters + "`");
  for (std::size_t d = 0; d < letters.size(); ++d)
    if (extents.try_emplace(letters[d], operand.shape[d]).first->second != operand.shape[d])
      throw std::invalid_argument("matmul: extents of `" + letters + "`");
}

/// A contraction by letters, one product after the other.
Numbers product(const baleen_op_view_t& op, const Numbers& a, const Numbers& b) {
  const auto chars = attribute_of<char>(op, "spec", BALEEN_ATTRIBUTE_STRING);
  const std::string spec(chars.begin(), chars.end());
  const std::size_t comma = spec.find(','), arrow = spec.find("->");
  if (comma == spec.npos || arrow == spec.npos || arrow < comma) throw std::invalid_argument("matmul: spec " + spec);
  const std::string first = spec.substr(0, comma), second = spec.substr(comma + 1, arrow - comma - 1),
                    result = spec.substr(arrow + 2);
  Extents extents;
  meet(extents, first, a);
  meet(extents, second, b);
  Numbers out;
  for (const char letter : result) out.shape.push_back(extents.at(letter));
  out.data.assign(static_cast<std::size_t>(out.size()), 0);
  std::int64_t all = 1;
  for (const auto& [letter, extent] : extents) all *= extent;
  for (std::int64_t number = 0; number < all; ++number) {
    Extents at;
    std::int64_t rest = number;
    for (const auto& [letter, extent] : extents) {
      at[letter] = rest % extent;
      rest /= extent;
    }
    const auto place = [&](const std::string& letters) {
      std::int64_t offset = 0;
      for (const char letter : letters) offset = offset * extents.at(letter) + at.at(letter);
      return static_cast<std::size_t>(offset);
    };
    out.data[place(result)] += a.data[place(first)] * b.data[place(second)];
  }
  return out;
}

}  // namespace

std::int64_t Numbers::size() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

FormulaGraph::FormulaGraph(const baleen_host_t* host, baleen_dtype_t dtype, States& states)
    : host_(host), dtype_(dtype), states_(states) {
  table_ = {sizeof(baleen_graph_t),
            this,
            [](void* self) { return static_cast<std::uint32_t>(of(self).appended_); },
            [](void* self) { return static_cast<std::uint32_t>(of(self).values_.size()); },
            [](void* self, baleen_op_t, baleen_op_view_t*) { return of(self).not_known("reading an op"); },
            &read_value,
            &append,
            [](void* self, baleen_value_t, baleen_value_t, baleen_op_t) { return of(self).not_known("`redirect`"); },
            [](void* self, baleen_value_t, const baleen_placement_t*, std::uint64_t) {
              return of(self).not_known("`set_layout`");
            },
            [](void*, baleen_op_t, baleen_string_t, baleen_string_t) { return baleen_status_t{BALEEN_OK}; },
            &add_state,
            [](void* self, baleen_op_t, baleen_op_info_t*) { return of(self).not_known("reading about an op"); },
            [](void*, baleen_op_t, baleen_string_t) {
              return baleen_string_t{"", 0};
            },
            [](void*, baleen_op_t) { return baleen_status_t{BALEEN_OK}; },
            [](void* self, baleen_op_t, const baleen_op_view_t*) { return of(self).not_known("`amend`"); },
            [](void*, baleen_op_t, baleen_op_t) { return baleen_status_t{BALEEN_OK}; }};
}

baleen_value_t FormulaGraph::add(Numbers numbers) {
  if (dtype_ == BALEEN_F32)
    for (double& number : numbers.data) number = static_cast<float>(number);
  values_.push_back(std::move(numbers));
  return static_cast<baleen_value_t>(values_.size() - 1);
}

baleen_status_t FormulaGraph::fail(baleen_status_t status, const std::string& text) const {
  return host_->fail(host_->self, status, abi(text));
}

baleen_status_t FormulaGraph::not_known(const std::string& what) {
  unknown_ = what;
  return fail(BALEEN_UNSUPPORTED, "baleen validate does not know " + what);
}

baleen_status_t FormulaGraph::read_value(void* self, baleen_value_t value, baleen_value_info_t* out) {
  FormulaGraph& graph = of(self);
  if (!graph.has(value)) return graph.fail(BALEEN_NOT_FOUND, "there is no value " + std::to_string(value));
  const Numbers& numbers = graph.values_[value];
  baleen_value_info_t info{};
  info.size = sizeof info;
  info.dtype = graph.dtype_;
  info.producer = BALEEN_NONE;
  info.rank = static_cast<std::uint32_t>(numbers.shape.size());
  std::ranges::copy(numbers.shape, info.shape);
  copy_out(out, info);
  return BALEEN_OK;
}

baleen_status_t FormulaGraph::append(void* self, const baleen_op_view_t* op, baleen_value_t* outputs,
                                     std::uint64_t capacity) {
  FormulaGraph& graph = of(self);
  if (graph.appended_++ == graph.limit_) return graph.fail(BALEEN_INVALID, kRefusal);
  for (std::uint64_t i = 0; i < op->input_count; ++i)
    if (!graph.has(op->inputs[i]))
      return graph.fail(BALEEN_NOT_FOUND, "there is no value " + std::to_string(op->inputs[i]));
  try {
    if (view(op->kind) == "assign") {
      graph.assign(*op);
      return BALEEN_OK;
    }
    const baleen_value_t made = graph.add(graph.computed(*op));
    if (capacity < 1) return graph.fail(BALEEN_INTERNAL, "no room for the result");
    outputs[0] = made;
  } catch (const NotKnown& what) {
    return graph.not_known(what.what());
  } catch (const std::exception& problem) {
    return graph.fail(BALEEN_INVALID, problem.what());
  }
  return BALEEN_OK;
}

Numbers FormulaGraph::computed(const baleen_op_view_t& op) {
  std::vector<const Numbers*> operands;
  for (std::uint64_t i = 0; i < op.input_count; ++i) operands.push_back(&values_[op.inputs[i]]);
  const std::string kind(view(op.kind));
  if (kind == "pointwise") return pointwise(op, operands);
  if (kind == "reduce") return reduced(op, *operands.at(0));
  if (kind == "matmul") return product(op, *operands.at(0), *operands.at(1));
  throw NotKnown("ops of kind `" + kind + "`");
}

void FormulaGraph::assign(const baleen_op_view_t& op) {
  if (op.input_count != 2) throw std::invalid_argument("assign: two operands are expected");
  const auto state = state_of_.find(op.inputs[0]);
  if (state == state_of_.end()) throw std::invalid_argument("assign: the target is no state");
  Numbers& target = states_.at(state->second);
  if (target.shape != values_[op.inputs[1]].shape) throw std::invalid_argument("assign: shapes differ");
  target = values_[op.inputs[1]];
}

baleen_status_t FormulaGraph::add_state(void* self, baleen_string_t name, baleen_dtype_t, std::uint32_t rank,
                                        const std::int64_t* shape, double initial, baleen_value_t* out) {
  FormulaGraph& graph = of(self);
  Numbers first{{shape, shape + rank}, {}};
  first.data.assign(static_cast<std::size_t>(first.size()), initial);
  const std::string key(view(name));
  const auto state = graph.states_.try_emplace(key, std::move(first)).first;
  *out = graph.add(state->second);
  graph.state_of_[*out] = key;
  return BALEEN_OK;
}

}  // namespace baleen::validate
