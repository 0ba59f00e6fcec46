/// \file A graph that computes: each appended `pointwise`, `reduce` or `matmul` is evaluated at once, in fp64, over the
/// C verbs.
/// Optimizer tests compare what it gives with plain loops.
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "baleen/graph.h"
#include "baleen/plugin.hpp"

namespace baleen::test {

/// A small dense tensor.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> data;

  std::int64_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
};

class FakeGraph {
 public:
  explicit FakeGraph(const baleen_host_t* host) : host_(host) {}
  FakeGraph(const FakeGraph&) = delete;

  const baleen_graph_t* get() const { return &graph_; }
  baleen_value_t add(Tensor tensor) {
    if (static_cast<std::int64_t>(tensor.data.size()) != tensor.size()) throw std::invalid_argument("shape and data");
    values_.push_back(std::move(tensor));
    return static_cast<baleen_value_t>(values_.size() - 1);
  }
  baleen_value_t add(double scalar) { return add(Tensor{{}, {scalar}}); }
  const Tensor& operator[](baleen_value_t value) const { return values_.at(value); }
  std::size_t appended() const { return appended_; }
  /// The append after this many fails with `text`.
  void fail_after(std::size_t count, std::string text) {
    limit_ = count;
    failure_ = std::move(text);
  }

 private:
  static FakeGraph& of(void* self) { return *static_cast<FakeGraph*>(self); }

  static baleen_status_t read_value(void* self, baleen_value_t value, baleen_value_info_t* out) {
    if (value >= of(self).values_.size()) return of(self).fail(BALEEN_NOT_FOUND, "no such value");
    const Tensor& tensor = of(self).values_[value];
    out->dtype = BALEEN_F64;
    out->rank = static_cast<std::uint32_t>(tensor.shape.size());
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) out->shape[i] = tensor.shape[i];
    return BALEEN_OK;
  }

  static baleen_status_t append(void* self, const baleen_op_view_t* op, baleen_value_t* outputs,
                                std::uint64_t capacity) {
    FakeGraph& graph = of(self);
    if (graph.appended_++ == graph.limit_) return graph.fail(BALEEN_INVALID, graph.failure_);
    if (capacity < 1) return graph.fail(BALEEN_INTERNAL, "no room for the result");
    for (std::uint64_t i = 0; i < op->input_count; ++i)
      if (op->inputs[i] >= graph.values_.size()) return graph.fail(BALEEN_NOT_FOUND, "no such input");
    const std::string_view kind = view(op->kind);
    if (kind != "pointwise" && kind != "reduce" && kind != "matmul")
      return graph.fail(BALEEN_UNSUPPORTED, "unknown kind " + std::string(kind));
    try {
      outputs[0] = graph.add(kind == "pointwise" ? graph.pointwise(*op)
                             : kind == "reduce"  ? graph.reduce(*op)
                                                 : graph.matmul(*op));
    } catch (const std::exception& problem) {
      return graph.fail(BALEEN_INVALID, problem.what());
    }
    return BALEEN_OK;
  }

  template <class T>
  static std::vector<T> attribute(const baleen_op_view_t& op, std::string_view name, std::uint32_t type) {
    for (std::uint64_t i = 0; i < op.attribute_count; ++i) {
      const baleen_attribute_t& found = op.attributes[i];
      if (view(found.name) != name || found.type != type) continue;
      const T* data = static_cast<const T*>(found.data);
      return {data, data + found.count};
    }
    throw std::invalid_argument("attribute " + std::string(name) + " is missing");
  }

  /// Equal rank with extents equal or 1, or scalars.
  std::vector<std::int64_t> broadcast(const baleen_op_view_t& op) const {
    std::vector<std::int64_t> shape;
    for (std::uint64_t i = 0; i < op.input_count; ++i) {
      const auto& other = values_[op.inputs[i]].shape;
      if (other.empty()) continue;
      if (shape.empty()) shape.assign(other.size(), 1);
      if (shape.size() != other.size()) throw std::invalid_argument("ranks differ");
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] != other[d] && shape[d] != 1 && other[d] != 1) throw std::invalid_argument("extents differ");
        if (shape[d] == 1) shape[d] = other[d];
      }
    }
    return shape;
  }

  static double element(const Tensor& tensor, const std::vector<std::int64_t>& shape, std::int64_t index) {
    if (tensor.shape.empty()) return tensor.data[0];
    std::int64_t offset = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0; index /= shape[d]) {
      if (tensor.shape[d] != 1) offset += index % shape[d] * stride;
      stride *= tensor.shape[d];
    }
    return tensor.data[static_cast<std::size_t>(offset)];
  }

  Tensor pointwise(const baleen_op_view_t& op) const {
    const auto code = attribute<baleen_instruction_t>(op, "expression", BALEEN_ATTRIBUTE_EXPRESSION);
    const auto results = attribute<std::int64_t>(op, "results", BALEEN_ATTRIBUTE_INTS);
    if (results.size() != 1) throw std::invalid_argument("one result is expected");
    Tensor out{broadcast(op), {}};
    std::vector<double> done(code.size());
    for (std::int64_t index = 0; index < out.size(); ++index) {
      for (std::size_t i = 0; i < code.size(); ++i) {
        const baleen_instruction_t& x = code[i];
        done[i] = x.opcode == BALEEN_X_INPUT ? element(values_.at(op.inputs[x.a]), out.shape, index)
                                             : evaluate(x, done.at(x.a), done.at(x.b), done.at(x.c));
      }
      out.data.push_back(done.at(static_cast<std::size_t>(results[0])));
    }
    return out;
  }

  static double evaluate(const baleen_instruction_t& x, double a, double b, double c) {
    switch (x.opcode) {
      case BALEEN_X_CONSTANT: return x.constant;
      case BALEEN_X_NEG: return -a;
      case BALEEN_X_ABS: return std::abs(a);
      case BALEEN_X_SIGN: return a > 0 ? 1 : a < 0 ? -1 : 0;
      case BALEEN_X_FLOOR: return std::floor(a);
      case BALEEN_X_SQRT: return std::sqrt(a);
      case BALEEN_X_RSQRT: return 1 / std::sqrt(a);
      case BALEEN_X_EXP: return std::exp(a);
      case BALEEN_X_LOG: return std::log(a);
      case BALEEN_X_TANH: return std::tanh(a);
      case BALEEN_X_IS_FINITE: return std::isfinite(a) ? 1 : 0;
      case BALEEN_X_ADD: return a + b;
      case BALEEN_X_SUB: return a - b;
      case BALEEN_X_MUL: return a * b;
      case BALEEN_X_DIV: return a / b;
      case BALEEN_X_MAX: return std::fmax(a, b);
      case BALEEN_X_MIN: return std::fmin(a, b);
      case BALEEN_X_POW: return std::pow(a, b);
      case BALEEN_X_LT: return a < b ? 1 : 0;
      case BALEEN_X_LE: return a <= b ? 1 : 0;
      case BALEEN_X_EQ: return a == b ? 1 : 0;
      case BALEEN_X_NE: return a != b ? 1 : 0;
      case BALEEN_X_SELECT: return a != 0 ? b : c;
      default: throw std::invalid_argument("opcode " + std::to_string(x.opcode) + " is not known here");
    }
  }

  /// Sums over dimensions.
  Tensor reduce(const baleen_op_view_t& op) const {
    const auto kind = attribute<char>(op, "kind", BALEEN_ATTRIBUTE_STRING);
    const auto dims = attribute<std::int64_t>(op, "dims", BALEEN_ATTRIBUTE_INTS);
    const auto keep = attribute<std::int64_t>(op, "keep", BALEEN_ATTRIBUTE_INTS);
    if (std::string(kind.begin(), kind.end()) != "sum") throw std::invalid_argument("only sums");
    const Tensor& x = values_.at(op.inputs[0]);
    Tensor kept{x.shape, {}};
    for (const std::int64_t dim : dims) kept.shape.at(static_cast<std::size_t>(dim)) = 1;
    kept.data.assign(static_cast<std::size_t>(kept.size()), 0);
    for (std::int64_t index = 0; index < x.size(); ++index) {
      std::int64_t rest = index, offset = 0, stride = 1;
      for (std::size_t d = x.shape.size(); d-- > 0; rest /= x.shape[d]) {
        if (kept.shape[d] != 1) offset += rest % x.shape[d] * stride;
        stride *= kept.shape[d];
      }
      kept.data[static_cast<std::size_t>(offset)] += x.data[static_cast<std::size_t>(index)];
    }
    if (keep.at(0) == 0)
      for (std::size_t d = x.shape.size(); d-- > 0;)
        if (std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) != dims.end())
          kept.shape.erase(kept.shape.begin() + static_cast<std::ptrdiff_t>(d));
    return kept;
  }

  /// A contraction by letters, one product after the other.
  Tensor matmul(const baleen_op_view_t& op) const {
    const auto chars = attribute<char>(op, "spec", BALEEN_ATTRIBUTE_STRING);
    const std::string spec(chars.begin(), chars.end());
    const std::size_t comma = spec.find(','), arrow = spec.find("->");
    const std::string parts[] = {spec.substr(0, comma), spec.substr(comma + 1, arrow - comma - 1),
                                 spec.substr(arrow + 2)};
    const Tensor* operands[] = {&values_.at(op.inputs[0]), &values_.at(op.inputs[1])};
    std::map<char, std::int64_t> extents;
    for (std::size_t i = 0; i < 2; ++i) {
      if (operands[i]->shape.size() != parts[i].size()) throw std::invalid_argument("letters of \"" + spec + "\"");
      for (std::size_t d = 0; d < parts[i].size(); ++d)
        if (extents.try_emplace(parts[i][d], operands[i]->shape[d]).first->second != operands[i]->shape[d])
          throw std::invalid_argument("extents of \"" + spec + "\"");
    }
    Tensor out;
    for (const char letter : parts[2]) out.shape.push_back(extents.at(letter));
    out.data.assign(static_cast<std::size_t>(out.size()), 0);
    std::int64_t all = 1;
    for (const auto& [letter, extent] : extents) all *= extent;
    for (std::int64_t number = 0; number < all; ++number) {
      std::map<char, std::int64_t> at;
      std::int64_t rest = number;
      for (const auto& [letter, extent] : extents) {
        at[letter] = rest % extent;
        rest /= extent;
      }
      const auto offset = [&](const std::string& letters) {
        std::int64_t place = 0;
        for (const char letter : letters) place = place * extents.at(letter) + at.at(letter);
        return static_cast<std::size_t>(place);
      };
      out.data[offset(parts[2])] += operands[0]->data[offset(parts[0])] * operands[1]->data[offset(parts[1])];
    }
    return out;
  }

  /// Tags change no number.
  static baleen_status_t set_tag(void*, baleen_op_t, baleen_string_t, baleen_string_t) { return BALEEN_OK; }

  baleen_status_t fail(baleen_status_t status, const std::string& text) {
    return host_->fail(host_->self, status, abi(text));
  }

  const baleen_host_t* host_;
  std::vector<Tensor> values_;
  std::size_t appended_ = 0, limit_ = static_cast<std::size_t>(-1);
  std::string failure_;
  baleen_graph_t graph_ = {sizeof(baleen_graph_t),
                           this,
                           [](void* self) { return static_cast<std::uint32_t>(of(self).appended_); },
                           [](void* self) { return static_cast<std::uint32_t>(of(self).values_.size()); },
                           nullptr,
                           &read_value,
                           &append,
                           nullptr,
                           nullptr,
                           &set_tag,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr};
};

}  // namespace baleen::test
