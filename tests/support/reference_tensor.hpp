/// \file A tensor of doubles for tests: row-major, no strides, nothing clever.
#pragma once
#include <functional>
#include <stdexcept>
#include <vector>

#include "compiler/layout/layout.hpp"

namespace baleen::test {

using Coordinate = std::vector<std::int64_t>;

/// Calls `visit` with every coordinate of `shape`, in row-major order.
inline void for_each(const Shape& shape, const std::function<void(const Coordinate&)>& visit) {
  const std::int64_t count = element_count(shape);
  Coordinate at(shape.size(), 0);
  for (std::int64_t n = 0; n < count; ++n) {
    visit(at);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

struct Tensor {
  Shape shape;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(Shape s) : shape(std::move(s)), data(static_cast<std::size_t>(element_count(shape)), 0.0) {}
  Tensor(Shape s, std::vector<double> d) : shape(std::move(s)), data(std::move(d)) {
    if (static_cast<std::int64_t>(data.size()) != element_count(shape))
      throw std::logic_error("a tensor of wrong size");
  }

  double& at(const Coordinate& c) { return data[offset(c)]; }
  double at(const Coordinate& c) const { return data[offset(c)]; }
  double& operator[](std::size_t i) { return data[i]; }
  double operator[](std::size_t i) const { return data[i]; }
  std::size_t size() const { return data.size(); }

 private:
  std::size_t offset(const Coordinate& c) const {
    if (c.size() != shape.size()) throw std::logic_error("a coordinate of wrong rank");
    std::int64_t n = 0;
    for (std::size_t d = 0; d < c.size(); ++d) {
      if (c[d] < 0 || c[d] >= shape[d]) throw std::logic_error("a coordinate outside " + to_string(shape));
      n = n * shape[d] + c[d];
    }
    return static_cast<std::size_t>(n);
  }
};

}  // namespace baleen::test
